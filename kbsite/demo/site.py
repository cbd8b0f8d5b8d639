"""The demo's site: its servers, tables, static files and administrator, and its programs."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from common import UserError
from ingestion.embedding.config import usable_cores
from kbsite.demo.stop import SupervisorError
from kbsite.demo.supervisor import Program
from kbsite.embedded import Server, ensure_servers
from kbsite.layout import BASE_DIR, IS_WHEEL
from kbsite.operations.probes.database import unknown_migrations

ADMINISTRATOR = "admin"
PASSWORD_BYTES = 12  # 16 letters
OWN_PACKAGES = frozenset({"common", "ingestion", "kbsite", "search"})
PORTS_TRIED = 50
# Searches stay fast while documents are embedded on the same cores.
WORKER_NICENESS = 5
# Uploads that a person waits for come before imports, and after searches.
UPLOADS_NICENESS = 2
UPLOADS_ONLY = (
    *("--queues", "interactive,maintenance"),
    *("--concurrency", "1"),
    *("--hostname", "uploads@%h"),
)
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class IncompatibleDatabase(UserError):
    """The database belongs to another version; the message says what to do with its data."""


@contextmanager
def servers_running() -> Iterator[None]:
    """Run a block with the embedded servers up; stop them after it unless they ran before."""
    status = settings.EMBEDDED.status()
    in_use = (settings.EMBEDDED_POSTGRES, settings.EMBEDDED_REDIS)
    ran_before = any(server.up and use for server, use in zip(status, in_use, strict=True))
    try:
        ensure_servers()
        yield
    finally:
        for each in connections.all(initialized_only=True):
            each.close()
            if close_pool := getattr(each, "close_pool", None):
                close_pool()
        if any(in_use) and not ran_before:
            settings.EMBEDDED.stop()


def embedded_servers() -> dict[str, Server]:
    """The embedded servers in use, by the name that their lines in the log have."""
    servers: dict[str, Server] = {}
    if settings.EMBEDDED_POSTGRES:
        servers["postgres"] = settings.EMBEDDED.postgres
    if settings.EMBEDDED_REDIS:
        servers["valkey"] = settings.EMBEDDED.valkey
    return servers


def migrate(say: Callable[[str], None]) -> None:
    """Apply the migrations that are missing. Raises IncompatibleDatabase."""
    executor = MigrationExecutor(connection)
    own = {each.label for each in apps.get_app_configs() if each.name.split(".")[0] in OWN_PACKAGES}
    applied = sorted(key for key in executor.loader.applied_migrations if key[0] in own)
    if unknown := unknown_migrations(applied):
        raise IncompatibleDatabase(
            "The database holds data of a checkout before 0.1.0, or of a newer version (its "
            f"migration {unknown[0]} is not known here), and cannot be upgraded: export what you "
            "want to keep with `manage.py export-collection` from that checkout, then run "
            "`make clean-data` and start again."
        )
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        say("Creating the tables")
        call_command("migrate", verbosity=0, interactive=False)


def collect_static(say: Callable[[str], None]) -> None:
    """Collect the static files, unless they have not changed since the last time."""
    stamp = Path(settings.STATIC_ROOT) / ".collected"
    fingerprint = _static_fingerprint()
    if stamp.exists() and stamp.read_text() == fingerprint:
        return
    say("Collecting the static files")
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(fingerprint)


def _static_fingerprint() -> str:
    """A digest that changes with any static file and with the storage backend."""
    digest = hashlib.sha256(str(settings.STORAGES["staticfiles"]["BACKEND"]).encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def make_administrator() -> str:
    """Create a superuser and return the password, which is stored nowhere; "" if one exists."""
    users = get_user_model().objects
    if users.filter(is_superuser=True).exists():
        return ""
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    users.create_superuser(ADMINISTRATOR, password=password)
    return password


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
        f"None of the ports from {port} can be used on {host}: {refusal}. Choose others with "
        "--port and --host."
    )


def site_programs(listener: socket.socket, host: str) -> tuple[Program, ...]:
    """The web server on a listening socket, one worker process per core, one for uploads, beat."""
    python = (sys.executable, "-m")
    own = [] if IS_WHEEL else [str(BASE_DIR)]
    paths = [*own, *filter(None, [os.environ.get("PYTHONPATH")])]
    common = {"PYTHONPATH": os.pathsep.join(paths)}
    web = common | {
        # Production values in .env would redirect every request away from this machine.
        "HTTPS": "0",
        "ACCESS_LOG": os.environ.get("ACCESS_LOG", ""),
        "ALLOWED_HOSTS": ",".join({*settings.ALLOWED_HOSTS, *LOCAL_HOSTS, host}),
    }
    work = common | {
        "EMBEDDER_THREADS": os.environ.get("EMBEDDER_THREADS", "1"),  # one process fills a core
        # On SIGTERM a worker returns its work at once; queued tasks continue at the next start.
        "REMAP_SIGTERM": "SIGQUIT",
        # Celery warns root of pickled messages; ours are JSON, on a socket that only we can open.
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
