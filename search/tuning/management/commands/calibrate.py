"""`manage.py calibrate`: fit and measure the confidence of search results."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from search.tuning.evaluation.calibration import calibrate
from search.tuning.management.judged import JudgedCommand, positive, progress


class Command(JudgedCommand):
    help = (
        "Calibrate the confidence of the active embedding space on judged collections (an "
        "unanswerable.jsonl beside a corpus is used, too), measured on a held-out half of the "
        "questions. Run it again when the embedding model changes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        self.add_collections(
            parser,
            ". Give at least two: the questions of one collection are unanswerable in the others.",
            required=True,
        )
        parser.add_argument(
            "--limit",
            type=positive,
            help="Maximum number of answerable questions per collection (default: all).",
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of the sample and the split.")
        parser.add_argument(
            "--profile",
            default="",
            metavar="NAME",
            help="The profile to rank with (default: active).",
        )

    def carry_out(self, options: dict[str, Any]) -> None:
        judged = self.collections(options["collection"])
        loaded = [(each, self.corpus(each, options)) for each in judged]
        with progress("questions") as update:
            row = calibrate(
                loaded,
                limit=options["limit"],
                seed=options["seed"],
                profile=options["profile"],
                progress=update,
            )
        lines = [f"{row.space}: {row.trained_on}", *_figures(row.measures)]
        self.stdout.write("\n".join(lines))


def _figures(measures: dict[str, Any]) -> list[str]:
    """The measures, a paragraph for each combination of signals."""
    lines = []
    for ran, figures in measures.items():
        of_kinds = {k: v for k, v in figures.items() if k.startswith("AUROC")}
        lines += [
            "",
            f"With {'both signals' if ran == 'both' else 'keywords alone'}, "
            f"{sum(figures['questions'].values())} held-out questions:",
            "  " + _values(of_kinds),
            f"  ECE {figures['ECE']:.3f} (15 bins of equal size)",
            *(f"  below {limit}: {_values(shares)}" for limit, shares in figures["below"].items()),
        ]
    return lines


def _values(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
