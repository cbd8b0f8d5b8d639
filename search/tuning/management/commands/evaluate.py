"""`manage.py evaluate`: how well profiles rank judged collections."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from search.engine import configuration
from search.presentation import measure_label
from search.presets import BASELINES, DEFAULT
from search.tuning.evaluation.collections import EvaluationError
from search.tuning.evaluation.measures import LEADING, NAMES
from search.tuning.evaluation.runner import MeasuredCollection, code_version, evaluate, record
from search.tuning.evaluation.sections import source_of
from search.tuning.management.judged import JudgedCommand, positive, progress

ALL = "all"


class Command(JudgedCommand):
    help = (
        "Measure profiles on judged collections (corpus.jsonl, queries.jsonl, qrels.tsv). A "
        "corpus is loaded once, like any upload, and stays hidden from readers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        self.add_collections(
            parser, " (default: all of RELEVANCE_DIR, or demo if that folder is missing)."
        )
        parser.add_argument(
            "--profile",
            nargs="+",
            action="extend",
            metavar="NAME",
            help="NAME or NAME@VERSION; repeatable; `all` for every published profile. The first "
            "is the baseline of the others (default: the active profile).",
        )
        parser.add_argument(
            "--limit", type=positive, metavar="N", help="Use at most N queries, evenly spread."
        )
        parser.add_argument(
            "--json", type=Path, metavar="FILE", help="Also write the figures to this file."
        )
        parser.add_argument(
            "--questions",
            nargs="*",
            metavar="ID",
            help="Also print a table of these queries (default: all) under the first profile: the "
            "first result, its grade, and the rank of the right document.",
        )

    def carry_out(self, options: dict[str, Any]) -> None:
        self.outcomes: list[MeasuredCollection] = []
        # The same profile twice would only measure noise.
        profiles = list(dict.fromkeys(_profiles(options["profile"] or [""])))
        for judged in self.collections(options["collection"]):
            corpus = self.corpus(judged, options)
            with progress(judged.name) as update:
                evaluation = evaluate(
                    judged, corpus, profiles, limit=options["limit"], progress=update
                )
            for outcome in evaluation:
                record(outcome)
            self.stdout.write(as_text(evaluation) + "\n")
            if options["questions"] is not None:
                self.stdout.write(by_question(evaluation[0], options["questions"]) + "\n")
            self.outcomes += evaluation
        if options["json"]:
            text = json.dumps(as_json(self.outcomes), indent=1)
            options["json"].write_text(text + "\n", encoding="utf-8")


def _profiles(names: list[str]) -> Iterator[str]:
    """The names as given; `all` stands for the version in force of each, the baselines first."""
    for name in names:
        if name != ALL:
            yield name
            continue
        published = {profile for profile, _ in configuration.current().published}
        first = [each.name for each in (DEFAULT, *BASELINES) if each.name in published]
        yield from first
        yield from sorted(published - set(first))


def as_json(outcomes: Sequence[MeasuredCollection]) -> dict[str, Any]:
    """`{"runs": [...]}`, one for each profile on each collection."""
    return {
        "runs": [
            {
                "collection": outcome.judged.name,
                "profile": outcome.profile.name,
                "queries": len(outcome.values),
                "measures": {name: round(value, 4) for name, value in outcome.means.items()},
                "latency_ms": outcome.latency,
            }
            for outcome in outcomes
        ]
    }


def as_text(outcomes: Sequence[MeasuredCollection]) -> str:
    """One collection's outcomes as tables for a terminal: overall, then by query class."""
    first = outcomes[0]
    width = max(len(outcome.profile.name) for outcome in outcomes) + 2
    head = "".join(f"{name:>12}" for name in (*map(measure_label, NAMES), "p50 ms", "p95 ms"))
    lines = [f"{first.judged.name}: {len(first.values)} queries", " " * width + head]
    for outcome in outcomes:
        times = "".join(f"{value:>12.1f}" for value in outcome.latency.values())
        lines.append(f"{outcome.profile.name:<{width}}{_figures(outcome.means)}{times}")
    lines += [
        f"  {outcome.profile.name} against {first.profile.name}: {difference(outcome)}"
        for outcome in outcomes[1:]
    ]
    lines += _class_lines(outcomes, width)
    if first.refused:
        lines.append(f"  {first.refused} queries were refused by search; they count as 0.")
    return "\n".join(lines)


def _class_lines(outcomes: Sequence[MeasuredCollection], width: int) -> list[str]:
    by_class = [(outcome, outcome.by_class()) for outcome in outcomes]
    lines = []
    for query_class, (count, _) in by_class[0][1].items():
        lines.append(f" {query_class}: {count} queries")
        for outcome, classes in by_class:
            means = classes[query_class][1]
            lines.append(f"  {outcome.profile.name:<{width - 2}}{_figures(means)}")
    return lines


def by_question(outcome: MeasuredCollection, ids: Sequence[str] = ()) -> str:
    """A Markdown table of one profile's first result for each query, or for those of `ids`.

    A passage is right if no other has a higher grade, a document if it has such a passage. Raises
    EvaluationError for an unknown id.
    """
    if unknown := [each for each in ids if each not in outcome.rankings]:
        raise EvaluationError(
            f"{outcome.judged.name} has no measured query {', '.join(unknown)}. Its ids are the "
            "_id of queries.jsonl."
        )
    head = ("question", "first result", "grade", "right passage first", "rank of right document")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    first, top3 = 0, 0
    for query in ids or outcome.rankings:
        grades, ranking = outcome.qrels[query], outcome.rankings[query]
        best = max(grades.values())
        documents = {source_of(name) for name, grade in grades.items() if grade == best}
        ordered = list(dict.fromkeys(map(source_of, ranking)))
        rank = next((n for n, each in enumerate(ordered, 1) if each in documents), 0)
        grade = grades.get(ranking[0], 0) if ranking else 0
        first, top3 = first + (grade == best), top3 + (0 < rank <= 3)
        cells = (
            outcome.judged.queries[query],
            ranking[0].replace("|", "\\|") if ranking else "none",
            f"{grade} of {best}",
            "yes" if grade == best else "no",
            str(rank or "-"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    count = len(lines) - 2
    lines.append(
        f"\nRight passage first in {first} of {count}, right document among the first three in "
        f"{top3} of {count} ({outcome.profile.name} v{outcome.profile.version}, commit "
        f"{code_version()}, {timezone.now():%Y-%m-%d})."
    )
    return "\n".join(lines)


def _figures(means: dict[str, float]) -> str:
    return "".join(f"{means[name]:>12.4f}" for name in NAMES)


def difference(outcome: MeasuredCollection) -> str:
    """The change of the leading measure to the first profile, with its interval."""
    interval = outcome.differences[LEADING]
    shown = f"{interval.mean:+.4f} ({interval.low:+.4f} to {interval.high:+.4f})"
    return shown if interval.is_clear else f"{shown}, not clear"
