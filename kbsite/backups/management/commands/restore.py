"""`manage.py restore`: bring a site back from a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from ingestion.management.base import PlainCommand
from kbsite.backups import database as db
from kbsite.backups import is_configured, reading
from kbsite.backups.errors import BackupError
from kbsite.backups.keys import Key
from kbsite.backups.listing import Listing
from kbsite.backups.models import BackupRun
from kbsite.backups.store import Store


class Command(PlainCommand):
    help = "Restore the database and the originals from a backup, then migrate."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name", nargs="?", default="", help="A name of `backup --list`; default: the newest."
        )
        parser.add_argument(
            "--from", dest="place", metavar="URL", default="", help="Instead of BACKUP_URL."
        )
        parser.add_argument("--key", metavar="FILE", help="Instead of BACKUP_KEY_FILE.")
        parser.add_argument(
            "--overwrite", action="store_true", help="Replace the data that the site holds now."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        place = options["place"] or (settings.BACKUP_URL if is_configured() else "")
        if not place:
            raise CommandError("Say where from: set BACKUP_URL, or add --from.")
        try:
            key = Key.read(Path(options["key"] or settings.BACKUP_KEY_FILE))
            store = Store(place)
            listing = reading.find(store, key, options["name"])
            _require_known(listing)
            database = db.parameters()
            with db.alone(database):
                if not options["overwrite"]:
                    db.require_empty(database)
                count = reading.verify(store, key, listing)
                self.stdout.write(f"Backup {listing.name} is whole ({count} objects). Restoring.")
                written = reading.restore(
                    store, key, listing, database=database, storage=default_storage
                )
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{written} of {len(listing.files)} originals written, database restored."
        )
        connections.close_all()
        call_command("migrate", verbosity=0, interactive=False)
        # The backup that is restored was running when its rows were read.
        BackupRun.objects.filter(state=BackupRun.State.RUNNING).delete()
        for name in listing.missing:
            self.stderr.write(f"The site had lost the original {name} before this backup.")
        self.stdout.write(
            f"Restored as of {listing.made:%Y-%m-%d %H:%M} UTC and migrated. Put SECRET_KEY back "
            "as well, unless everybody may sign in anew; then start the site."
        )


def _require_known(listing: Listing) -> None:
    """Raise BackupError if the backup was made by a newer version than this code."""
    disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    ours = {app for app, _ in disk}
    unknown = [step for step in listing.migrations if step[0] in ours and step not in disk]
    if unknown:
        steps = ", ".join(f"{app}.{name}" for app, name in unknown)
        raise BackupError(
            f"Backup {listing.name} was made by a newer version of Steelyard: this one lacks "
            f"{steps}. Install that version, then restore again."
        )
