"""`manage.py watch PATH --collection NAME`: mirrors a folder of the server into a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ingestion.errors import IngestionError
from ingestion.intake.watching.scanning import scan
from ingestion.intake.watching.services import checked_path, line_of
from ingestion.management.intake import language_code
from ingestion.management.plain import PlainCommand
from ingestion.models import Collection, WatchedFolder


class Command(PlainCommand):
    help = (
        "Watches a folder: files that appear, change, move or go are mirrored into the "
        "collection by beat and the workers. Given again, it changes how the folder is watched."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="PATH")
        parser.add_argument("--collection", required=True, help="Its name; made if it is missing.")
        parser.add_argument("--include", action="append", default=[], metavar="PATTERN")
        parser.add_argument("--exclude", action="append", default=[], metavar="PATTERN")
        parser.add_argument("--poll", type=int, metavar="SECONDS", help="Default: 60.")
        parser.add_argument("--flat", action="store_true", help="Without the folders below it.")
        parser.add_argument(
            "--keep", action="store_true", help="Keep the documents of files that are deleted."
        )
        parser.add_argument("--language", type=language_code)
        parser.add_argument("--off", action="store_true", help="Stop watching; documents stay.")

    def handle(self, *args: Any, **options: Any) -> None:
        path, name = str(Path(options["path"]).resolve()), options["collection"]
        if options["off"]:
            self._stop(name, path, options["path"])
            return
        try:
            path = checked_path(path, acting_user=None)
        except IngestionError as error:
            raise CommandError(str(error)) from None
        collection, _ = Collection.objects.kept().get_or_create(name=name)
        keep = WatchedFolder.Deletion.KEEP if options["keep"] else WatchedFolder.Deletion.BIN
        folder, _ = WatchedFolder.objects.update_or_create(
            collection=collection,
            path=path,
            defaults={
                "include": "\n".join(options["include"]),
                "exclude": "\n".join(options["exclude"]),
                "recursive": not options["flat"],
                "poll_seconds": max(options["poll"] or 60, 5),
                "deletion": keep,
                "language": options["language"] or "",
                "enabled": True,
            },
        )
        scan(folder.pk)
        folder.refresh_from_db()
        self.stdout.write(line_of(folder))
        self.stdout.write(
            f"Beat has it looked through every {folder.poll_seconds} seconds; a file is taken "
            "once it stood still between two looks. At once: manage.py scan-folders"
        )

    def _stop(self, name: str, path: str, given: str) -> None:
        # As given, too: since it was watched, a link may have taken the folder's place.
        collections = Collection.objects.kept().filter(name=name)
        watching = WatchedFolder.objects.filter(collection__in=collections, path__in=(path, given))
        if not watching.update(enabled=False):
            raise CommandError(f"“{name}” does not watch {path}.")
        self.stdout.write(f"{path} is watched no longer; its documents stay.")
