"""`manage.py reprocess`: parse and chunk the files of documents again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from ingestion import services
from ingestion.management import WaitingCommand
from ingestion.models import Document


class Command(WaitingCommand):
    help = (
        "Make the passages of documents anew, from their files, with hand edits. Search uses the "
        "current passages until the new ones are ready."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--collection", metavar="SLUG", help="Only documents of this one.")
        parser.add_argument(
            "--outdated",
            action="store_true",
            help="Only documents whose passages were made by an earlier release, in another way.",
        )
        parser.add_argument(
            "--words",
            action="store_true",
            help="Only index the words of the passages anew: no file is parsed, nothing embedded.",
        )
        self.add_no_wait(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        documents = services.outdated() if options["outdated"] else Document.objects.undeleted()
        if slug := options["collection"]:
            documents = documents.filter(collection__slug=slug)
        if options["words"]:
            count = services.read_words(documents.order_by("pk").iterator())
            self.stdout.write(f"Read the words of {count:,} document{'' if count == 1 else 's'}.")
            return
        count = services.reprocess(documents.order_by("pk").iterator(), acting_user=None)
        self.stdout.write(f"Queued {count:,} document{'' if count == 1 else 's'}.")
        if options["wait"] and count:
            waiting = documents.filter(latest__isnull=False).values_list("latest", flat=True)
            if failed := self.wait_for(waiting):
                raise CommandError(f"{failed} failed; their current passages stay searchable.")
