"""Outcomes as text for a terminal, as JSON, and as tables for the documentation.

The tables name the release and the commit that they were measured with; `outdated` compares those
with the code as it is.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from search.presentation.labels import measure_label
from search.tuning.evaluation.collections import EvaluationError
from search.tuning.evaluation.measures import LEADING, NAMES
from search.tuning.evaluation.runner import MeasuredCollection, code_version
from search.tuning.evaluation.sections import source_of

BEGIN, END = "<!-- relevance tables: begin -->", "<!-- relevance tables: end -->"
# The code that decides a ranking.
RANKING = ("search/query", "search/retrieval", "search/ranking", "search/engine", "search/presets")
_MEASURED = re.compile(
    r"^Measured with Steelyard (\S+), commit (\w*)\+?, on [\d-]+\.$", re.MULTILINE
)
_RELEASE = re.compile(r"^## (\d+\.\d+\.\d+)\b", re.MULTILINE)


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
        f"  {outcome.profile.name} against {first.profile.name}: {_difference(outcome)}"
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


def as_markdown(outcomes: Sequence[MeasuredCollection]) -> str:
    """A table for each collection, and an overview by the leading measure."""
    tables = []
    for name, of_collection in groupby(outcomes, key=lambda outcome: outcome.judged.name):
        tables.append(_markdown_table(name, list(of_collection)))
    return "\n\n".join([_overview(outcomes), *tables])


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


def rewrite(path: Path, outcomes: Sequence[MeasuredCollection]) -> None:
    """Replace the text between the markers in the file. Raises EvaluationError without markers."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise EvaluationError(
            f"{path} has no place for the tables: put {BEGIN} and {END} on lines of their own."
        )
    measured = (
        f"Measured with Steelyard {releases()[0]}, commit {code_version()}, "
        f"on {timezone.now():%Y-%m-%d}."
    )
    tables = f"{measured}\n\n{as_markdown(outcomes)}"
    path.write_text(f"{before}{begin}\n\n{tables}\n\n{end}{after}", encoding="utf-8")


def outdated(path: Path) -> str:
    """Why the tables in the file must be measured again, as a sentence; empty if they need not.

    They may be one release behind. Beyond that they hold only while the ranking code is the same.
    """
    match = _MEASURED.search(path.read_text(encoding="utf-8"))
    if match is None:
        text = "does not say what its tables were measured with: run `make relevance ARGS=--write`."
        return f"{path} {text}"
    release, commit = match.groups()
    tags = releases()
    if release in tags[:2] or not _differs_from(commit):
        return ""
    return (
        f"{path} was measured with Steelyard {release}; {tags[0]} is more than one release later "
        "and ranks by other code. Run `make relevance ARGS=--write`."
    )


def releases() -> list[str]:
    """The releases in CHANGELOG.md, the newest first."""
    text = (settings.BASE_DIR / "CHANGELOG.md").read_text(encoding="utf-8")
    return _RELEASE.findall(text)


def _differs_from(commit: str) -> bool:
    """True if the ranking code has changed since the commit, or git does not know it."""
    command = ["git", "diff", "--quiet", commit, "--", *RANKING]
    return subprocess.run(command, cwd=settings.BASE_DIR, check=False).returncode != 0


def _overview(outcomes: Sequence[MeasuredCollection]) -> str:
    """The leading measure: a row per profile, a column per collection, and the mean."""
    by_collection: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        column = by_collection.setdefault(outcome.judged.name, {})
        column[outcome.profile.name] = outcome.means[LEADING]
    lines = [
        f"| {LEADING} | {' | '.join(by_collection)} | mean |",
        "|---" * (len(by_collection) + 2) + "|",
    ]
    for profile in dict.fromkeys(outcome.profile.name for outcome in outcomes):
        figures = [column[profile] for column in by_collection.values()]
        cells = [f"{figure:.3f}" for figure in (*figures, sum(figures) / len(figures))]
        lines.append(f"| {profile} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _markdown_table(name: str, outcomes: Sequence[MeasuredCollection]) -> str:
    first = outcomes[0]
    title = (
        f"**{name}**, {len(first.values)} queries; differences in {LEADING} to {first.profile.name}"
    )
    bases = {outcome.profile.name: outcome for outcome in outcomes}
    columns = (
        "profile",
        *map(measure_label, NAMES),
        "p50 ms",
        "p95 ms",
        "difference (95%)",
        "other top 10",
    )
    lines = [title, "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for outcome in outcomes:
        cells = [f"{value:.3f}" for value in outcome.means.values()]
        cells += [f"{value:.0f}" for value in outcome.latency.values()]
        cells.append("" if outcome is first else _difference(outcome))
        cells.append(_changed(outcome, bases))
        lines.append(f"| {outcome.profile.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _changed(outcome: MeasuredCollection, bases: Mapping[str, MeasuredCollection]) -> str:
    """The number of queries whose first ten differ from those of the preset it is a variant of.

    Equal figures of a variant say nothing about it if it changed next to nothing.
    """
    base = bases.get(outcome.profile.name.partition(":")[0])
    if base is None or base is outcome:
        return ""
    changed = sum(
        ranking[:10] != base.rankings.get(query, [])[:10]
        for query, ranking in outcome.rankings.items()
    )
    return f"{changed} of {len(outcome.rankings)}"


def _figures(means: dict[str, float]) -> str:
    return "".join(f"{means[name]:>12.4f}" for name in NAMES)


def _difference(outcome: MeasuredCollection) -> str:
    interval = outcome.differences[LEADING]
    shown = f"{interval.mean:+.4f} ({interval.low:+.4f} to {interval.high:+.4f})"
    return shown if interval.is_clear else f"{shown}, not clear"
