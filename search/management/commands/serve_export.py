"""`manage.py serve_export DATA`: build what an exported server lacks, then serve it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from ingestion.lexical import bm25_weights
from ingestion.models import Collection, Visibility
from search.read_only_server import ARCHIVE, PROFILE, restore_profile


class Command(BaseCommand):
    help = "Serve an exported collection, read-only; the first start builds its index."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("data", type=Path, help="the folder with collection.zip")

    def handle(self, *args: Any, **options: Any) -> None:
        data: Path = options["data"].resolve()
        if not settings.READ_ONLY:
            raise CommandError("This command is for exported servers. Set READ_ONLY=1.")
        if not (data / ARCHIVE).is_file():
            raise CommandError(f"There is no {ARCHIVE} in {data}.")
        # `docker stop`, a service manager and a closed terminal end it as Ctrl-C does.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        try:
            self._serve(data)
        except KeyboardInterrupt:
            self.stdout.write("Stopped. The data is kept.")
        finally:
            settings.EMBEDDED.stop()

    def _serve(self, data: Path) -> None:
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        done = settings.VAR_DIR / "restored"
        if not done.exists():
            self._build(data)
            done.touch()
        connections.close_all()
        command = [sys.executable, "-m", "gunicorn", "--config", "python:kbsite.gunicorn"]
        server = subprocess.Popen(command, cwd=settings.SITE_DIR)
        try:
            if code := server.wait():
                raise CommandError(f"The web server ended with exit code {code}.")
        finally:
            server.terminate()
            server.wait()

    def _build(self, data: Path) -> None:
        """Restore documents and profile. An interrupted build goes on at the next start."""
        call_command("import_collection", str(data / ARCHIVE))
        bm25_weights.fold()
        # There are no users: text without public access could not be searched.
        Collection.objects.update(visibility=Visibility.PUBLIC)
        restore_profile(data / PROFILE)
