"""`manage.py watch_folder PATH --collection NAME`: mirror a folder of the server.

With `--once` it scans the watched folders in this process, as a scheduled job would.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q, QuerySet

from ingestion.errors import IngestionError
from ingestion.intake.watched import checked_path, confirm_deletion, line_of
from ingestion.intake.watched_scan import scan
from ingestion.management import PlainCommand, language_code
from ingestion.models import Collection, WatchedFile, WatchedFolder

# Between two scans of a file that may still be being written.
SETTLE_SECONDS = 2.0
IN_STEP = (WatchedFolder.State.OK, WatchedFolder.State.NEW)


class Command(PlainCommand):
    help = (
        "Mirror a folder into a collection: beat and the workers add, update, move and delete "
        "documents as the files change. Run again, it changes the folder's options. With --once, "
        "scan the watched folders here and now; the exit code is 1 if one is not in step."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "folders",
            nargs="*",
            metavar="PATH|ID",
            help="The folder to watch; with --once, --list and --confirm-deletions any number of "
            "watched folders (default: all).",
        )
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--once", action="store_true", help="Scan watched folders now.")
        action.add_argument("--list", action="store_true", help="Only print their states.")
        action.add_argument(
            "--confirm-deletions",
            action="store_true",
            help="Scan the named folders now and delete the documents of missing files.",
        )
        action.add_argument(
            "--off", action="store_true", help="Stop watching the folder; its documents stay."
        )
        options = parser.add_argument_group("options of the folder to watch")
        options.add_argument("--collection", help="Name of the collection; created if missing.")
        options.add_argument("--include", action="append", default=[], metavar="PATTERN")
        options.add_argument("--exclude", action="append", default=[], metavar="PATTERN")
        options.add_argument(
            "--poll", type=int, default=60, metavar="SECONDS", help="Default: 60; at least 5."
        )
        options.add_argument("--flat", action="store_true", help="Without its subfolders.")
        options.add_argument(
            "--keep", action="store_true", help="Keep the documents of deleted files."
        )
        options.add_argument("--language", type=language_code)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["once"] or options["list"] or options["confirm_deletions"]:
            self._scan_and_report(options)
            return
        if len(options["folders"]) != 1 or not options["collection"]:
            raise CommandError(
                "Name one folder, and the --collection to mirror it into; or give --once or --list."
            )
        if options["off"]:
            self._stop(options["folders"][0], options["collection"])
        else:
            self._watch(options["folders"][0], options)

    def _watch(self, folder_path: str, options: dict[str, Any]) -> None:
        try:
            path = checked_path(str(Path(folder_path).resolve()), acting_user=None)
        except IngestionError as error:
            raise CommandError(str(error)) from None
        collection, _ = Collection.objects.kept().get_or_create(name=options["collection"])
        deletion = WatchedFolder.Deletion
        folder, _ = WatchedFolder.objects.update_or_create(
            collection=collection,
            path=path,
            defaults={
                "include": "\n".join(options["include"]),
                "exclude": "\n".join(options["exclude"]),
                "recursive": not options["flat"],
                "poll_seconds": max(options["poll"], 5),
                "deletion": deletion.KEEP if options["keep"] else deletion.BIN,
                "language": options["language"] or "",
                "enabled": True,
            },
        )
        scan(folder.pk)
        folder.refresh_from_db()
        self.stdout.write(line_of(folder))
        self.stdout.write(
            f"It is scanned every {folder.poll_seconds} seconds; a file is imported once two "
            "scans found it unchanged. To scan it now: manage.py watch_folder --once"
        )

    def _stop(self, path: str, name: str) -> None:
        # The path as given, too: a link may have replaced the folder since.
        paths = (str(Path(path).resolve()), path)
        collections = Collection.objects.kept().filter(name=name)
        watching = WatchedFolder.objects.filter(collection__in=collections, path__in=paths)
        if not watching.update(enabled=False):
            raise CommandError(f"“{name}” does not watch {paths[0]}.")
        self.stdout.write(f"{paths[0]} is no longer watched; its documents stay.")

    def _scan_and_report(self, options: dict[str, Any]) -> None:
        if options["confirm_deletions"] and not options["folders"]:
            raise CommandError("Name the folders whose deletions you confirm: see --list.")
        folders = _watched(options["folders"])
        if not folders:
            self.stdout.write("No folder is watched. See: watch_folder --help")
        if options["confirm_deletions"]:
            for folder in folders:
                confirm_deletion(folder, acting_user=None)
        if not options["list"]:
            _scan_settled([folder.pk for folder in folders])
        troubled = 0
        for folder in folders.all():
            self.stdout.write(line_of(folder))
            troubled += folder.state not in IN_STEP
        if troubled:
            raise CommandError(f"{troubled} folder(s) are not in step.")


def _watched(names: list[str]) -> QuerySet[WatchedFolder]:
    """The watched folders with these IDs or paths (default: all). Raises CommandError."""
    folders = WatchedFolder.objects.filter(enabled=True)
    condition = Q()
    for name in names:
        one = Q(pk=int(name)) if name.isdecimal() else Q(path__in=(name, str(Path(name).resolve())))
        if not folders.filter(one).exists():
            raise CommandError(f"No folder {name} is watched. See: watch_folder --list")
        condition |= one
    return folders.filter(condition)


def _scan_settled(pks: list[int]) -> None:
    """Scan these folders, and once more those with files that may still be being written."""
    for pk in pks:
        scan(pk, seconds=float("inf"))
    settling = WatchedFile.objects.filter(
        folder__in=pks, state=WatchedFile.State.SETTLING, missing_since=None
    )
    if unsettled := set(settling.values_list("folder", flat=True)):
        time.sleep(SETTLE_SECONDS)
        for pk in unsettled:
            scan(pk, seconds=float("inf"))
