"""What the demo runs: the web server at a free port, workers, beat, and the embedded servers."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connections

from ingestion.embedding.config import usable_cores
from kbsite.servers import ensure_servers
from kbsite.supervisor import Program, SupervisorError

PORTS_TRIED = 50
# The site stays quick while documents are embedded on the same cores.
WORKER_NICENESS = 5
# What a person waits for comes before imports, and after searches.
UPLOADS_NICENESS = 2
UPLOADS_ONLY = (
    *("--queues", "interactive,maintenance"),
    *("--concurrency", "1"),
    *("--hostname", "uploads@%h"),
)
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@contextmanager
def servers_running() -> Iterator[None]:
    """A block with the embedded servers up; stopped after it, unless they were up before."""
    status = settings.EMBEDDED.status()
    wanted = (settings.EMBEDDED_POSTGRES, settings.EMBEDDED_REDIS)
    found_up = any(server.up and use for server, use in zip(status, wanted, strict=True))
    ensure_servers()
    try:
        yield
    finally:
        for connection in connections.all(initialized_only=True):
            connection.close()
            if close_pool := getattr(connection, "close_pool", None):
                close_pool()
        if any(wanted) and not found_up:
            settings.EMBEDDED.stop()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket at the port, or at the next free one. Raises SupervisorError."""
    refusal: OSError | None = None
    for candidate in range(port, min(port + PORTS_TRIED, 65_536)):
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return socket.create_server((host, candidate), family=family, backlog=512)
        except OSError as error:
            refusal = error
    raise SupervisorError(
        f"No port from {port} on can be used at {host}: {refusal}. Name another: --port, --host"
    )


def site_programs(listener: socket.socket, host: str) -> tuple[Program, ...]:
    """The web server at a listening socket, a worker process a core, one for uploads, and beat."""
    python = (sys.executable, "-m")
    paths = [str(settings.BASE_DIR), *filter(None, [os.environ.get("PYTHONPATH")])]
    common = {"PYTHONPATH": os.pathsep.join(paths)}
    web = common | {
        # What production asks for in .env would send every request away from this machine.
        "HTTPS": "0",
        "ALLOWED_HOSTS": ",".join({*settings.ALLOWED_HOSTS, *LOCAL_HOSTS, host}),
    }
    work = common | {
        "EMBEDDER_THREADS": os.environ.get("EMBEDDER_THREADS", "1"),  # a process fills a core
        # Asked to end, a worker gives its work back at once; what is queued goes on next time.
        "REMAP_SIGTERM": "SIGQUIT",
        # As root Celery fears pickled messages; ours are JSON, on a socket that only we can open.
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
    }
    celery = (*python, "celery", "--app", "kbsite", "--quiet")
    concurrency = os.environ.get("WORKER_CONCURRENCY", str(usable_cores()))
    fast = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    worker = (*celery, "worker", "--loglevel", "WARNING", *fast)
    all_lanes = (*worker, "--concurrency", concurrency)
    uploads = (*worker, *UPLOADS_ONLY)
    beat = (*celery, "beat", "--loglevel", "WARNING", "--pidfile=")
    bind = ("--bind", f"fd://{listener.fileno()}", "--log-level", "warning")
    gunicorn = (*python, "gunicorn", "--config", "python:kbsite.gunicorn", *bind)
    return (
        Program("web", gunicorn, web, inherits=(listener.fileno(),)),
        Program("worker", all_lanes, work, niceness=WORKER_NICENESS),
        Program("uploads", uploads, work, niceness=UPLOADS_NICENESS),
        Program("beat", beat, common, niceness=WORKER_NICENESS),
    )
