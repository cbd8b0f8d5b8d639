"""`manage.py concepts`: extract the concepts of documents that have none yet, or of all again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.template.defaultfilters import pluralize
from tqdm import tqdm

from ingestion.lexical import concepts
from ingestion.management import PlainCommand


class Command(PlainCommand):
    help = (
        "Extract the concepts of documents that were added before concepts existed. Each document "
        "is one transaction: stopped, it continues where it was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all",
            action="store_true",
            help="Extract those of all documents again, with today's statistics of their "
            "collections.",
        )
        parser.add_argument(
            "--after",
            type=int,
            default=0,
            metavar="ID",
            help="Only documents with greater ids: continues a stopped --all.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        done, last = 0, options["after"]
        try:
            waiting = concepts.waiting(after=last, everything=options["all"])
            for document_id in tqdm(waiting, unit=" documents", leave=False, disable=None):
                done += concepts.refresh(document_id)
                last = document_id
        except KeyboardInterrupt:
            everything = "--all " if options["all"] else ""
            self.stdout.write(f"Stopped. To continue: concepts {everything}--after {last}")
        self.stdout.write(f"Extracted the concepts of {done} document{pluralize(done)}.")
