"""`manage.py purge`: delete expired items of the bin permanently; with `--now`, all of them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.template.defaultfilters import pluralize

from ingestion import services
from ingestion.management import PlainCommand


class Command(PlainCommand):
    help = "Permanently delete what has been in the bin for longer than DELETION_GRACE_DAYS."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--now", action="store_true", help="Empty the whole bin, whatever its age."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        documents, collections = services.purge_bin(now=options["now"])
        gone = f"{documents} document{pluralize(documents)}"
        if collections:
            gone += f" and {collections} collection{pluralize(collections)}"
        grace = "" if options["now"] else f" (in the bin for {settings.DELETION_GRACE_DAYS} days)"
        self.stdout.write(f"Permanently deleted: {gone}{grace}.")
