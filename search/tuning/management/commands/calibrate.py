"""`manage.py calibrate`: fit and measure the confidence of search results."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from search.tuning.evaluation.calibration import calibrate
from search.tuning.evaluation.own_calibration import FEWEST, fit_golden
from search.tuning.management.judged import JudgedCommand, positive, progress


class Command(JudgedCommand):
    help = (
        "Calibrate the confidence of the active embedding space: on the site's own golden queries, "
        "cross-validated, or on judged collections (an unanswerable.jsonl beside a corpus is used, "
        "too), measured on a held-out half of the questions. Run it again when the embedding model "
        "changes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        self.add_collections(
            parser,
            ". Give at least two: the questions of one collection are unanswerable in the others. "
            f"Without: the golden queries, of which {FEWEST} must have an answer.",
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

        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Of the golden queries: print the figures, and keep the present calibration.",
        )

    def carry_out(self, options: dict[str, Any]) -> None:
        if options["dry_run"] and options["collection"]:
            raise CommandError("--dry-run goes with the golden queries, without --collection.")
        if not options["collection"]:
            self._of_golden_queries(options)
            return
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
        lines = [f"{row.space}: {row.trained_on}", *_figures(row.measures, "held-out")]
        self.stdout.write("\n".join(lines))

    def _of_golden_queries(self, options: dict[str, Any]) -> None:
        if options["limit"]:
            raise CommandError("--limit goes with --collection; all golden queries are used.")
        with progress("questions") as update:
            done = fit_golden(seed=options["seed"], profile=options["profile"], progress=update)
        lines = [done.trained_on, *_figures(done.measures, "cross-validated")]
        if done.before:
            lines += ["", "The calibration until now, on the same questions:"]
            lines += _figures(done.before, "")
        if options["dry_run"]:
            lines += ["", "Nothing was stored."]
        else:
            lines += ["", f"Searches in {done.store().space} use it from now on."]
        self.stdout.write("\n".join(lines))


def _figures(measures: dict[str, Any], measured: str) -> list[str]:
    """The measures, a paragraph for each combination of signals."""
    lines = []
    for ran, figures in measures.items():
        of_kinds = {k: v for k, v in figures.items() if k.startswith("AUROC")}
        lines += [
            "",
            f"With {'both signals' if ran == 'both' else 'keywords alone'}, "
            f"{sum(figures['questions'].values())} {measured} questions:".replace("  ", " "),
            "  " + _values(of_kinds),
            f"  ECE {figures['ECE']:.3f} (15 bins of equal size), "
            f"{figures['ECE_equal_width']:.3f} (of equal width)",
            *(f"  below {limit}: {_values(shares)}" for limit, shares in figures["below"].items()),
        ]
    return lines


def _values(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
