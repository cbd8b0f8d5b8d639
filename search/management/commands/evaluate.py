"""`manage.py evaluate`: how well profiles rank judged collections."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from ingestion.errors import IngestionError
from search import configuration
from search.errors import SearchError
from search.evaluation import report
from search.evaluation.collections import JudgedCollection, find, find_all
from search.evaluation.loading import load
from search.evaluation.runner import Outcome, evaluate, record
from search.presets import BASELINES, DEFAULT

ALL = "all"


class Command(BaseCommand):
    help = (
        "Measures profiles on judged collections (corpus.jsonl, queries.jsonl, qrels.tsv). A "
        "corpus is loaded once, through the way every upload takes; readers never see it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--collection",
            nargs="+",
            action="extend",
            metavar="PATH",
            help="A folder, or its name under RELEVANCE_DIR; repeatable (default: all there).",
        )
        parser.add_argument(
            "--profile",
            nargs="+",
            action="extend",
            metavar="NAME",
            help="name or name@version; repeatable; `all` for every published one. The others "
            "are compared with the first (default: the active profile).",
        )
        parser.add_argument("--limit", type=_positive, help="So many queries, evenly spread.")
        parser.add_argument(
            "--json", type=Path, metavar="FILE", help="Also write the figures there."
        )
        parser.add_argument(
            "--tables",
            type=Path,
            metavar="FILE",
            help="Also rewrite the tables of a Markdown file.",
        )
        parser.add_argument(
            "--processes",
            type=_positive,
            default=os.cpu_count() or 1,
            help="To load a corpus with where no worker runs (default: one for each processor).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verbosity"] < 2:
            logging.getLogger("ingestion").setLevel(logging.WARNING)
        try:
            outcomes = self._outcomes(options)
            if options["tables"]:
                report.rewrite(options["tables"], outcomes)
        except (SearchError, IngestionError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            text = json.dumps(report.as_json(outcomes), indent=1)
            options["json"].write_text(text + "\n", encoding="utf-8")

    def _outcomes(self, options: dict[str, Any]) -> list[Outcome]:
        outcomes = []
        # Twice the same profile would only measure noise.
        profiles = list(dict.fromkeys(_profiles(options["profile"] or [""])))
        for judged in _collections(options["collection"]):
            collection = load(judged, write=self.stdout.write, processes=options["processes"])
            with tqdm(desc=judged.name, leave=False, disable=None) as bar:

                def look(done: int, total: int, bar: Any = bar) -> None:
                    bar.total = total
                    bar.update(done - bar.n)

                found = evaluate(judged, collection, profiles, limit=options["limit"], look=look)
            for outcome in found:
                record(outcome)
            self.stdout.write(report.as_text(found) + "\n")
            outcomes += found
        return outcomes


def _profiles(names: list[str]) -> Iterator[str]:
    """The names as given; `all` stands for the newest version of each, the baselines first."""
    for name in names:
        if name != ALL:
            yield name
            continue
        published = {held for held, _ in configuration.current().published}
        first = [each.name for each in (DEFAULT, *BASELINES) if each.name in published]
        yield from first
        yield from sorted(published - set(first))


def _collections(names: list[str] | None) -> list[JudgedCollection]:
    given = os.environ.get("RELEVANCE_DIR")
    root = Path(given) if given else settings.BASE_DIR.parent / "shared" / "relevance"
    return [find(name, root) for name in names] if names else find_all(root)


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError
    return number
