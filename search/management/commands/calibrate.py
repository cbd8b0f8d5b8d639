"""`manage.py calibrate`: what the confidence of an answer is worth, fitted and measured."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from ingestion.errors import IngestionError
from search.errors import SearchError
from search.evaluation.calibration import calibrate
from search.evaluation.collections import find
from search.evaluation.loading import load
from search.models import Calibration


class Command(BaseCommand):
    help = (
        "Fits the confidence of the active embedding space to judged collections, with an "
        "unanswerable.jsonl beside their corpus or without, and measures it on the half of the "
        "questions that it sets aside. To be run again when the embedding model changes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--collection",
            nargs="+",
            action="extend",
            required=True,
            metavar="PATH",
            help="A folder, or its name under RELEVANCE_DIR; repeatable. Give at least two: the "
            "questions of the others are those that a collection cannot answer.",
        )
        parser.add_argument(
            "--limit",
            type=_positive,
            help="So many answerable questions of each collection (default: all).",
        )
        parser.add_argument("--seed", type=int, default=0, help="Draws and sets aside by it.")
        parser.add_argument(
            "--profile", default="", metavar="NAME", help="Ranks by it (default: the active one)."
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
            row = self._calibrate(options)
        except (SearchError, IngestionError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write("\n".join(_report(row)))

    def _calibrate(self, options: dict[str, Any]) -> Calibration:
        given = os.environ.get("RELEVANCE_DIR")
        root = Path(given) if given else settings.BASE_DIR.parent / "shared" / "relevance"
        judged = [find(name, root) for name in dict.fromkeys(options["collection"])]
        loaded = [
            (each, load(each, write=self.stdout.write, processes=options["processes"]))
            for each in judged
        ]
        with tqdm(desc="questions", leave=False, disable=None) as bar:

            def look(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return calibrate(
                loaded,
                limit=options["limit"],
                seed=options["seed"],
                profile=options["profile"],
                look=look,
            )


def _report(row: Calibration) -> list[str]:
    """What was fitted, and what it reached on the questions set aside."""
    lines = [f"{row.space}: {row.trained_on}"]
    for ran, figures in row.measures.items():
        of_kinds = {k: v for k, v in figures.items() if k.startswith("AUROC")}
        lines += [
            "",
            f"With {'both signals' if ran == 'both' else 'keywords alone'}, "
            f"{sum(figures['questions'].values())} questions set aside:",
            "  " + _values(of_kinds),
            f"  ECE {figures['ECE']:.3f} (15 bins of equal size), "
            f"{figures['ECE_equal_width']:.3f} (of equal width)",
            *(f"  below {limit}: {_values(shares)}" for limit, shares in figures["below"].items()),
        ]
    return lines


def _values(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in figures.items())


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError
    return number
