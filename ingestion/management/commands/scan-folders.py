"""`manage.py scan-folders`: looks through the watched folders now, and says how each stands."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import QuerySet

from ingestion.intake.watching.scanning import scan
from ingestion.intake.watching.services import confirm_deletion, line_of
from ingestion.management.plain import PlainCommand
from ingestion.models import WatchedFile, WatchedFolder

# Between two looks at a file that may still be being written.
SETTLE_SECONDS = 2.0


class Command(PlainCommand):
    help = "Looks through the watched folders here and now. Fails when one is not in step."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folders", nargs="*", type=int, metavar="ID", help="Default: all.")
        parser.add_argument("--list", action="store_true", help="Only tell how they stand.")
        parser.add_argument(
            "--confirm-deletions",
            action="store_true",
            help="The files that are gone were deleted on purpose. Name the folders.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folders = WatchedFolder.objects.filter(enabled=True)
        if wanted := set(options["folders"]):
            folders = folders.filter(pk__in=wanted)
            if missing := sorted(wanted - set(folders.values_list("pk", flat=True))):
                named = ", ".join(map(str, missing))
                raise CommandError(f"No folder {named} is watched. See: scan-folders --list")
        elif not folders.exists():
            self.stdout.write("No folder is watched. To watch one: manage.py watch")
            return
        elif options["confirm_deletions"]:
            raise CommandError("Name the folders whose deletions you confirm: see --list.")
        if options["confirm_deletions"]:
            for folder in folders:
                confirm_deletion(folder, acting_user=None)
        if not options["list"]:
            self._scan(folders)
        troubled = 0
        for folder in folders.all():
            self.stdout.write(line_of(folder))
            troubled += folder.state not in (WatchedFolder.State.OK, WatchedFolder.State.NEW)
        if troubled:
            raise CommandError(f"{troubled} folder(s) are not in step.")

    def _scan(self, folders: QuerySet[WatchedFolder]) -> None:
        pks = list(folders.values_list("pk", flat=True))
        for pk in pks:
            scan(pk, seconds=float("inf"))
        settling = WatchedFile.objects.filter(
            folder__in=pks, state=WatchedFile.State.SETTLING, missing_since=None
        )
        if unsettled := set(settling.values_list("folder", flat=True)):
            time.sleep(SETTLE_SECONDS)
            for pk in unsettled:
                scan(pk, seconds=float("inf"))
