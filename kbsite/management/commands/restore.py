"""`manage.py restore [FOLDER]`: bring a site back from a snapshot."""

from __future__ import annotations

from typing import Any

from django.core.files.storage import default_storage
from django.core.management import call_command
from django.core.management.base import CommandParser
from django.db import connections

from ingestion.management import PlainCommand
from kbsite.management.commands.backup import add_folder, required_folder
from kbsite.operations import backups, dumps
from kbsite.operations.probes.database import unknown_migrations


class Command(PlainCommand):
    help = "Restore the database and the originals from a folder that `backup` wrote, then migrate."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        add_folder(parser)
        parser.add_argument(
            "--overwrite", action="store_true", help="Replace the data that the site holds now."
        )
        parser.add_argument(
            "--verify", action="store_true", help="Compare all files with their hashes, and end."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder, database = required_folder(options), dumps.parameters()
        snapshot = backups.Snapshot.read(folder)
        if options["verify"]:
            backups.verify(folder, snapshot)
            self.stdout.write(f"The snapshot of {snapshot.moment:%Y-%m-%d %H:%M} UTC is whole.")
            return
        _require_known_migrations(snapshot)
        with dumps.alone(database):
            if not options["overwrite"]:
                dumps.require_empty(database)
            backups.verify(folder, snapshot)
            self.stdout.write("The snapshot is complete. Restoring it.")
            count = backups.restore(folder, snapshot, database=database, storage=default_storage)
        self.stdout.write(
            f"{count} of {len(snapshot.originals)} originals written, database restored."
        )
        connections.close_all()
        call_command("migrate", verbosity=0, interactive=False)
        for name in snapshot.missing:
            self.stderr.write(f"The site had lost the original {name} before this backup.")
        self.stdout.write(
            f"Restored as of {snapshot.moment:%Y-%m-%d %H:%M} UTC and migrated. Put SECRET_KEY "
            "back as well, or everybody has to sign in again; then start the site."
        )


def _require_known_migrations(snapshot: backups.Snapshot) -> None:
    """Raise BackupError if the snapshot was made by a newer version than this code."""
    if unknown := unknown_migrations(snapshot.migrations):
        raise dumps.BackupError(
            f"The snapshot was made by a newer version of Steelyard: this one lacks "
            f"{', '.join(unknown)}. Install that version, then restore again."
        )
