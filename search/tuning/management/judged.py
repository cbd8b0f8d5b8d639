"""Base of the commands over judged collections: arguments, progress bar, error messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from ingestion.errors import IngestionError
from ingestion.management.base import PlainCommand
from ingestion.models import Collection
from search.errors import SearchError
from search.tuning.evaluation.collections import (
    Corpus,
    DocumentCorpus,
    JudgedCollection,
    find,
    find_all,
)
from search.tuning.evaluation.loading import load
from search.tuning.evaluation.sections import SectionCollection, resolve, shipped

SHIPPED = "demo"
ELSEWHERE = (
    "Others are read in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv), from RELEVANCE_DIR "
    "or the path of --collection: for instance Cranfield, MED, NFCorpus, SciFact, SQuAD 2.0 and "
    "XQuAD. Each has a licence of its own, some for research only: read it before you download one."
)


class JudgedCommand(PlainCommand):
    """A command that loads judged collections and searches them. Subclasses define `carry_out`."""

    def add_collections(self, parser: CommandParser, said: str, *, required: bool = False) -> None:
        """Add `--collection`, and how its corpora are loaded."""
        parser.add_argument(
            "--collection",
            nargs="+",
            action="extend",
            required=required,
            metavar="PATH",
            help="A folder, its name under RELEVANCE_DIR, or demo, the one that ships; "
            f"repeatable{said}",
        )
        parser.add_argument(
            "--processes",
            type=positive,
            default=os.cpu_count() or 1,
            help="Processes that load a corpus if no worker runs (default: one per processor).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.carry_out(options)
        except (SearchError, IngestionError) as error:
            raise CommandError(str(error)) from error

    def carry_out(self, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def load(self, judged: JudgedCollection, options: dict[str, Any]) -> Collection:
        """The collection that holds the corpus, loaded if it is not yet."""
        return load(judged, write=self.stdout.write, processes=options["processes"])

    def collections(self, names: list[str] | None) -> list[JudgedCollection]:
        """The named judged collections; else all of RELEVANCE_DIR, or the one that ships."""
        folder = relevance_folder()
        if names:
            return [shipped(name) or find(name, folder) for name in dict.fromkeys(names)]
        own = shipped(SHIPPED)
        if folder.is_dir() or own is None:
            return find_all(folder)
        self.stdout.write(f"{folder} is missing, so the judged collection that ships is used.")
        self.stdout.write(ELSEWHERE)
        return [own]

    def corpus(self, judged: JudgedCollection, options: dict[str, Any]) -> Corpus:
        """The documents of a judged collection, loaded if they are not yet."""
        if not isinstance(judged, SectionCollection):
            return DocumentCorpus.of(judged, self.load(judged, options))
        found = resolve(judged, *judged.load(self.stdout.write, options["processes"]))
        if found.missing:
            self.stdout.write(
                f"{judged.name}: {len(found.missing)} judged sections are not in the documents, "
                f"which have changed since, and are left out: {', '.join(found.missing[:5])}"
                + (", ..." if len(found.missing) > 5 else "")
            )
        return found


def relevance_folder() -> Path:
    """The folder of judged collections that are given by name."""
    given = os.environ.get("RELEVANCE_DIR")
    return Path(given) if given else settings.BASE_DIR.parent / "shared" / "relevance"


def positive(value: str) -> int:
    """A number from 1, as an argument's type."""
    number = int(value)
    if number < 1:
        raise ValueError
    return number


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on the terminal; yields its progress callback, called with done and total."""
    with tqdm(desc=name, leave=False, disable=None) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
