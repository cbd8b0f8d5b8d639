"""`manage.py import_collection FILE.zip`: restore an exported collection under the same ids."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from ingestion.exporting.restoring import restore
from ingestion.management import WaitingCommand
from ingestion.models import DocumentVersion
from ingestion.models.versions import UNFINISHED


class Command(WaitingCommand):
    help = (
        "Restore a collection from its export. Run again, it continues an interrupted restore and "
        "leaves everything that exists unchanged."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.zip")
        parser.add_argument("--name", default="", help="Restore under another name.")
        self.add_no_wait(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["file"].is_file():
            raise CommandError(f"There is no file {options['file']}.")
        bar = tqdm(disable=not sys.stderr.isatty(), leave=False, unit=" rows")
        with bar:
            outcome = restore(
                options["file"], name=options["name"], check=lambda kind: bar.update(1)
            )
        created = ", ".join(f"{count:,} {kind}" for kind, count in outcome.created.items())
        existing = ", ".join(f"{count:,} {kind}" for kind, count in outcome.existing.items())
        self.stdout.write(
            f"{outcome.collection}: restored {created or 'nothing'}"
            + (f"; existing: {existing}" if existing else "")
        )
        versions = DocumentVersion.objects.filter(
            document__collection=outcome.collection, state__in=UNFINISHED
        )
        if options["wait"] and self.wait_for(versions.values_list("pk", flat=True)):
            raise CommandError("Some documents cannot be searched.")
