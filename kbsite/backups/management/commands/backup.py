"""`manage.py backup`: make a backup now, list them, or verify one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.template.defaultfilters import filesizeformat

from ingestion.management.base import PlainCommand
from kbsite.backups import is_configured, reading, services
from kbsite.backups.errors import BackupDamaged, BackupError
from kbsite.backups.keys import Key
from kbsite.backups.listing import Listing, backups
from kbsite.backups.store import Store

ADVICE = """\
A key was created: {path} (mode 0600).
Without it no backup can be restored: keep a copy on another machine or on paper, apart from the
backups. Keep SECRET_KEY beside it ({secret}, or where you set it): backups do not hold it. A site
restored without it works, but everybody signs in anew, and links in mails stop working."""


class Command(PlainCommand):
    help = "Back up the database and the originals to BACKUP_URL, encrypted; or list or verify."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", metavar="URL", default="", help="Instead of BACKUP_URL.")
        parser.add_argument("--key", metavar="FILE", help="Instead of BACKUP_KEY_FILE.")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--list", action="store_true", help="List the backups, oldest first.")
        what.add_argument(
            "--verify",
            nargs="?",
            const="newest",
            metavar="NAME",
            help="Read all of a backup (default: the newest) and compare it with its list.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        place = options["to"] or (settings.BACKUP_URL if is_configured() else "")
        if not place:
            raise CommandError(
                "Say where to: set BACKUP_URL to a folder or to s3://BUCKET/PREFIX, or add --to."
            )
        path = Path(options["key"] or settings.BACKUP_KEY_FILE)
        try:
            if options["list"]:
                self._list(Store(place), Key.read(path))
            elif options["verify"]:
                name = options["verify"].removeprefix("newest")
                self._verify(Store(place), Key.read(path), name)
            else:
                self._back_up(place, path)
        except BackupError as error:
            raise CommandError(str(error)) from error

    def _back_up(self, place: str, path: Path) -> None:
        if path.exists():
            key = Key.read(path)
        else:
            key = Key.create(path)
            secret = settings.VAR_DIR / "secret_key"
            self.stdout.write(self.style.WARNING(ADVICE.format(path=path, secret=secret)))
        row = services.back_up(key, place=place, say=self.stdout.write)
        self.stdout.write(
            f"Backup {row.name}: {row.files} originals and the database, "
            f"{filesizeformat(row.size)} in {row.place}, of which {filesizeformat(row.added)} are "
            "new. Verified."
        )
        if row.missing:
            listing = Listing.read(row.name, Store(place), key)
            for name in listing.missing:
                self.stderr.write(f"The site has lost the original {name}: it is in no backup.")
            for name in listing.damaged:
                self.stderr.write(f"The original {name} is damaged: its content is another one.")

    def _list(self, store: Store, key: Key) -> None:
        names = backups(store, key)
        if not names:
            self.stdout.write(f"There is no backup in {store.address}.")
        for name in names:
            try:
                held = Listing.read(name, store, key)
            except BackupDamaged as error:
                self.stdout.write(f"{name}  {error}")
                continue
            size = sum(piece.stored for piece in held.objects(key).values())
            self.stdout.write(
                f"{name}  {held.made:%Y-%m-%d %H:%M} UTC  {filesizeformat(size):>10}  "
                f"{len(held.files)} originals"
            )

    def _verify(self, store: Store, key: Key, name: str) -> None:
        listing = reading.find(store, key, name)
        count = reading.verify(store, key, listing)
        self.stdout.write(f"Backup {listing.name} is whole: all {count} objects were read.")
