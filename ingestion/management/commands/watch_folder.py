"""`manage.py watch_folder PATH --collection NAME`: mirror a folder of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ingestion.errors import IngestionError
from ingestion.intake.watched import checked_path, counts_line
from ingestion.intake.watched_scan import scan
from ingestion.management import PlainCommand, language_code
from ingestion.models import Collection, WatchedFolder


class Command(PlainCommand):
    help = (
        "Mirror a folder into a collection: beat and the workers add, update, move and delete "
        "documents as the files change. Run again, it changes the folder's options and scans it. "
        "In the admin, watched folders are scanned, confirmed and switched off."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="PATH")
        parser.add_argument(
            "--collection", required=True, help="Name of the collection; created if missing."
        )
        parser.add_argument("--include", action="append", default=[], metavar="PATTERN")
        parser.add_argument("--exclude", action="append", default=[], metavar="PATTERN")
        parser.add_argument(
            "--poll", type=int, default=60, metavar="SECONDS", help="Default: 60; at least 5."
        )
        parser.add_argument("--flat", action="store_true", help="Without its subfolders.")
        parser.add_argument(
            "--keep", action="store_true", help="Keep the documents of deleted files."
        )
        parser.add_argument("--language", type=language_code)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            path = checked_path(str(Path(options["folder"]).resolve()), acting_user=None)
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
        state = [folder.get_state_display(), folder.message, counts_line(folder)]
        self.stdout.write(f"{folder.path}: {'; '.join(filter(None, state))}")
        self.stdout.write(
            f"It is scanned every {folder.poll_seconds} seconds; a file is imported once two "
            "scans found it unchanged."
        )
