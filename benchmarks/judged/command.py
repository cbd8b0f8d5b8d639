"""`python -m benchmarks.judged`, once Django is set up: its arguments, and its tables."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.judged import demo
from benchmarks.judged.collections import (
    Corpus,
    DocumentCorpus,
    JudgedCollection,
    find,
    find_all,
)
from benchmarks.judged.loading import load, relevance_folder
from benchmarks.judged.profile_runs import MeasuredCollection, evaluate
from benchmarks.judged.sections import SectionCollection, resolve
from search.engine import configuration
from search.management import progress
from search.presentation.labels import measure_label
from search.presets.default import BASELINES, DEFAULT
from search.tuning.evaluation.measures import LEADING, NAMES

ALL = "all"
# Judged collections by name, which load their documents themselves.
SHIPPED: dict[str, Callable[[], SectionCollection]] = {demo.NAME: demo.collection}
ELSEWHERE = (
    "Others are read in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv), from RELEVANCE_DIR "
    "or the path of --collection: for instance Cranfield, MED, NFCorpus, SciFact, SQuAD 2.0 and "
    "XQuAD. Each has a licence of its own, some for research only: read it before you download one."
)


def run(arguments: Sequence[str]) -> list[MeasuredCollection]:
    """Measure and print; return the outcomes. Raises EvaluationError."""
    options = parser().parse_args(arguments)
    outcomes: list[MeasuredCollection] = []
    # The same profile twice would only measure noise.
    profiles = list(dict.fromkeys(_profiles(options.profile or [""])))
    for judged in _collections(options.collection):
        corpus = _corpus(judged, options.processes)
        with progress(judged.name) as update:
            evaluation = evaluate(judged, corpus, profiles, limit=options.limit, progress=update)
        _write(as_text(evaluation))
        outcomes += evaluation
    if options.json:
        options.json.write_text(json.dumps(as_json(outcomes), indent=1) + "\n", encoding="utf-8")
    return outcomes


def positive(value: str) -> int:
    """A number from 1, as an argument's type."""
    number = int(value)
    if number < 1:
        raise ValueError
    return number


def parser() -> argparse.ArgumentParser:
    """The arguments of `python -m benchmarks.judged`."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.judged")
    arguments.add_argument(
        "--collection",
        nargs="+",
        action="extend",
        metavar="PATH",
        help="A folder, its name under RELEVANCE_DIR, or demo, the one that ships; repeatable "
        "(default: all of RELEVANCE_DIR, or demo if that folder is missing).",
    )
    arguments.add_argument(
        "--processes",
        type=positive,
        default=os.cpu_count() or 1,
        help="Processes that load a corpus if no worker runs (default: one per processor).",
    )
    arguments.add_argument(
        "--profile",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="NAME or NAME@VERSION; repeatable; `all` for every published profile. The first "
        "is the baseline of the others (default: the active profile).",
    )
    arguments.add_argument(
        "--limit", type=positive, metavar="N", help="Use at most N queries, evenly spread."
    )
    arguments.add_argument(
        "--json", type=Path, metavar="FILE", help="Also write the figures to this file."
    )
    return arguments


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")


def _collections(names: list[str] | None) -> list[JudgedCollection]:
    """The named judged collections; else all of RELEVANCE_DIR, or the one that ships."""
    folder = relevance_folder()
    if names:
        return [
            SHIPPED[name]() if name in SHIPPED else find(name, folder)
            for name in dict.fromkeys(names)
        ]
    if folder.is_dir():
        return find_all(folder)
    _write(f"{folder} is missing, so the judged collection that ships is used.")
    _write(ELSEWHERE)
    return [SHIPPED[demo.NAME]()]


def _corpus(judged: JudgedCollection, processes: int) -> Corpus:
    """The documents of a judged collection, loaded if they are not yet."""
    if not isinstance(judged, SectionCollection):
        return DocumentCorpus.of(judged, load(judged, write=_write, processes=processes))
    sections = resolve(judged, *judged.load(_write, processes))
    if sections.missing:
        _write(
            f"{judged.name}: {len(sections.missing)} judged sections are not in the documents, "
            f"which have changed since, and are left out: {', '.join(sections.missing[:5])}"
            + (", ..." if len(sections.missing) > 5 else "")
        )
    return sections


def _profiles(names: list[str]) -> Iterator[str]:
    """The given names; `all` is replaced by the version in force of each, the baselines first."""
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


def _figures(means: dict[str, float]) -> str:
    return "".join(f"{means[name]:>12.4f}" for name in NAMES)


def difference(outcome: MeasuredCollection) -> str:
    """The change of the leading measure to the first profile, with its interval."""
    interval = outcome.differences[LEADING]
    text = f"{interval.mean:+.4f} ({interval.low:+.4f} to {interval.high:+.4f})"
    return text if interval.is_clear else f"{text}, not clear"
