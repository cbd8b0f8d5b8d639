"""Empties the bin: `manage.py purge` of what is past its grace period, `--now` of everything."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.template.defaultfilters import pluralize

from ingestion import services
from ingestion.management.plain import PlainCommand


class Command(PlainCommand):
    help = "Removes for good what has been in the bin for longer than DELETION_GRACE_DAYS."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--now", action="store_true", help="Everything in the bin, however short it has been."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        documents, collections = services.purge_bin(now=options["now"])
        gone = f"{documents} document{pluralize(documents)}"
        if collections:
            gone += f" and {collections} collection{pluralize(collections)}"
        left = "" if options["now"] else f" (in the bin for {settings.DELETION_GRACE_DAYS} days)"
        self.stdout.write(f"Removed for good: {gone}{left}.")
