"""Gunicorn's configuration: `gunicorn --config python:kbsite.gunicorn`.

Gunicorn's own variables and flags take precedence; .env.example lists ours.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import threading
from typing import Any

from environ import Env
from gunicorn.glogging import Logger

from ingestion.embedding.config import usable_cores
from ingestion.parsing.child.system_calls import hide_process
from kbsite.layout import ENV_FILE

# The master process does not load Django, but has the same secrets as its workers.
hide_process()

# The settings read .env too, but only later, in each worker process.
Env.read_env(ENV_FILE)

wsgi_app = "kbsite.asgi:application"
bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ.get('PORT', '8000')}"

# Each process loads the embedding model (about 220 MB) and serves several searches at once, in
# threads (kbsite/serving/dispatch.py): the model and the database both release the GIL. The event
# loop has open streams, and connections whose requests have not arrived.
worker_class = "asgi"
# Each idle connection takes a file; the usual limit of 1,024 would shut readers out.
_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (_files, _files))
# The application of the agents' server (MCP) cannot work without it.
asgi_lifespan = "on"
workers = int(os.environ.get("WEB_CONCURRENCY", min(usable_cores(), 4)))
# Else gunicorn believes any client on this machine that it came by https.
if not Env().bool("BEHIND_PROXY", default=False):
    secure_scheme_headers: dict[str, str] = {}
# glibc would raise both to the largest block that was ever freed: then the arena of each thread
# keeps up to 64 MB of free memory, and a process grows for as long as threads meet large requests
# (benchmarks/notes/serving.md). Forked processes inherit them. Other C libraries lack the function.
if _mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
    _mallopt(-3, 1024**2)  # M_MMAP_THRESHOLD of malloc.h
    _mallopt(-1, 4 * 1024**2)  # M_TRIM_THRESHOLD
# Not preloaded: the model's threads and the connection pool do not survive a fork.
preload_app = False

# The most that gunicorn permits. A question of 4,000 characters takes up to 36,000 in a URL: the
# page posts those that do not fit (LONGEST_ADDRESS in search.pages.search_form), and the API
# accepts it.
limit_request_line = 8190
timeout = 60
# Seconds in which a process loads before it takes requests; it is killed after the time above.
WARMING = 20
graceful_timeout = 10
# A new process frees memory that a library leaks. A guess: some hours of a busy site.
max_requests, max_requests_jitter = 50_000, 10_000
keepalive = 5
# A line for each request on standard output; ACCESS_LOG is another file, or empty for none.
accesslog = os.environ.get("ACCESS_LOG", "-") or None
access_log_format = "%(m)s %(U)s %(s)s %(M)s ms"  # no query string: questions are private


# Addresses whose last part is a secret: feeds, and the way out of mails of 0.3.
_SECRET = re.compile(r"(/me/(?:reviews|unsubscribe|searches/[^/]+/feed)/)[^/]+")


class logger_class(Logger):  # type: ignore[misc]  # noqa: N801  # the setting's name
    """Gunicorn's, with the status 499, as nginx has it, of a client that left without a response.

    Gunicorn sends the application's response nowhere then, and would log an error 500.
    """

    _has_failed = False

    def exception(self, *args: Any, **kwargs: Any) -> None:
        self._has_failed = True  # and logs the access of the same request next
        super().exception(*args, **kwargs)

    def atoms(self, *args: Any) -> dict[str, Any]:
        atoms: dict[str, Any] = super().atoms(*args)
        return atoms | {"U": _SECRET.sub(r"\1…", atoms["U"] or "")}

    def access(self, resp: Any, *args: Any) -> None:
        if resp.status == 500 and not resp.headers and not self._has_failed:
            resp.status = 499
        self._has_failed = False
        super().access(resp, *args)


if os.environ.get("LOG_FORMAT") == "json":
    from kbsite.operations.logs import gunicorn_logging

    logconfig_dict = gunicorn_logging()
# It would be created in the home directory, which a service account may lack.
control_socket_disable = True


def post_worker_init(worker: Any) -> None:
    """Load the views and the model before the first request, which would wait longer for them.

    Where a database or a model elsewhere does not answer, the process serves what it can.
    """
    loading = threading.Thread(target=_warm_up, name="warm-up", daemon=True)
    loading.start()
    loading.join(WARMING)


def _warm_up() -> None:
    from django.db import connection
    from django.urls import get_resolver

    from kbsite.apps import spare_collections
    from search.answers import answering
    from search.engine.embed import warm_up

    get_resolver().url_patterns  # noqa: B018  # imports every view there is
    try:
        warm_up()
        answering.warm_up()
        spare_collections()
    finally:
        connection.close()
