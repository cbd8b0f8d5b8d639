"""What has to be there before the first visitor: tables, static files, an administrator."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from common.accounts.models import User

ADMINISTRATOR = "admin"
PASSWORD_BYTES = 12  # 16 letters


def migrate(say: Callable[[str], None]) -> None:
    """Brings the tables up to date. Where they are, nothing is asked of the database twice."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        say("Making the tables")
        call_command("migrate", verbosity=0, interactive=False)


def collect_static(say: Callable[[str], None]) -> None:
    """Collects the static files, unless they are as they were the last time."""
    stamp = Path(settings.STATIC_ROOT) / ".collected"
    fingerprint = _static_fingerprint()
    if stamp.exists() and stamp.read_text() == fingerprint:
        return
    say("Collecting the static files")
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(fingerprint)


def _static_fingerprint() -> str:
    """Changes when a static file does, or the way they are stored."""
    digest = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            found = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def make_administrator() -> str:
    """The new administrator's password, told only now; empty where there is a superuser."""
    if User.objects.filter(is_superuser=True).exists():
        return ""
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    User.objects.create_superuser(ADMINISTRATOR, password=password)
    return password
