"""The site under uvicorn on a port of this machine: for clients that speak HTTP themselves, and for
streams, which the WSGI of Django's own live server would hold back until a thread is free.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from django.conf import settings
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application
from django.test import override_settings

from kbsite.serving.dispatch import Site
from search.mcp import Gate, is_for_agents


@contextmanager
def live_site(*, with_agents: bool = False) -> Iterator[str]:
    """Serve the site until the block ends, on request with its MCP server; yields its address.

    Its requests use connections of their own: rows must be committed (`transaction=True`).
    """
    application = ASGIStaticFilesHandler(get_asgi_application())  # type: ignore[no-untyped-call]
    if with_agents:
        application = Site(
            application, Gate(), is_for_agents=is_for_agents, threads=settings.WEB_THREADS
        )
    config = uvicorn.Config(
        application,
        lifespan="on" if with_agents else "off",
        log_level="warning",
        timeout_graceful_shutdown=5,
        ws="none",
    )
    server = uvicorn.Server(config)
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        override_settings(ALLOWED_HOSTS=["127.0.0.1"]),
    ):
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
