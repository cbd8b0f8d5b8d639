"""`manage.py import-collection FILE.zip`: a collection as it was exported, under the same ids."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from ingestion.errors import IngestionError
from ingestion.exporting.restoring import restore
from ingestion.management.intake import IntakeCommand
from ingestion.models import DocumentVersion
from ingestion.models.library import UNFINISHED


class Command(IntakeCommand):
    help = (
        "Restores a collection from its export. Given again it goes on where it was stopped, and "
        "changes nothing where all is there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.zip")
        parser.add_argument("--name", default="", help="Another name for the collection.")
        self.add_no_wait(parser, leave="all is queued")

    def handle(self, *args: Any, **options: Any) -> None:
        bar = tqdm(disable=not sys.stderr.isatty(), leave=False, unit=" rows")
        try:
            with bar:
                done = restore(
                    options["file"], name=options["name"], check=lambda kind: bar.update(1)
                )
        except FileNotFoundError:
            raise CommandError(f"There is no file {options['file']}.") from None
        except IngestionError as error:
            raise CommandError(str(error)) from None
        for warning in done.warnings:
            self.stderr.write(warning)
        made = ", ".join(f"{count:,} {kind}" for kind, count in done.made.items())
        there = ", ".join(f"{count:,} {kind}" for kind, count in done.there.items())
        self.stdout.write(
            f"{done.collection}: restored {made or 'nothing'}"
            + (f"; there already: {there}" if there else "")
        )
        versions = DocumentVersion.objects.filter(
            document__collection=done.collection, state__in=UNFINISHED
        )
        if options["wait"] and self.wait_for(list(versions.values_list("pk", flat=True))):
            raise CommandError("Some documents cannot be searched.")
