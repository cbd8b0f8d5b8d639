"""`manage.py backup [FOLDER]`: write a snapshot of the site into a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management.base import CommandError, CommandParser

from ingestion.management import PlainCommand
from kbsite.operations import backups, dumps


def add_folder(parser: CommandParser) -> None:
    """Add the argument FOLDER, by default BACKUP_FOLDER."""
    default = settings.BACKUP_FOLDER if backups.is_configured() else None
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="or BACKUP_FOLDER")


def required_folder(options: dict[str, Any]) -> Path:
    if options["folder"] is None:
        raise CommandError("Give a folder, or set BACKUP_FOLDER.")
    return Path(options["folder"]).absolute()


class Command(PlainCommand):
    help = (
        "Write the database and the originals as of one moment into a folder, in the place of the "
        "snapshot that is there. restic then encrypts it and takes it elsewhere: docs/backup.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_folder(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        folder, database = required_folder(options), dumps.parameters()
        previous = os.umask(0o077)  # it holds every document, and the tokens' hashes
        try:
            with dumps.alone(database):
                snapshot = backups.write(folder, database=database, storage=default_storage)
        finally:
            os.umask(previous)
        for name in snapshot.missing:
            self.stderr.write(f"The site has lost the original {name}: it is not in the snapshot.")
        for name in snapshot.damaged:
            self.stderr.write(f"The original {name} is damaged: its content is another one.")
        secret = settings.VAR_DIR / "secret_key"
        self.stdout.write(
            f"Snapshot of {snapshot.moment:%Y-%m-%d %H:%M} UTC in {folder}: the database and "
            f"{len(snapshot.originals)} originals. Keep SECRET_KEY ({secret}, or where you set "
            "it) as well: no backup holds it."
        )
