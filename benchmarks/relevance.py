"""The table of docs/relevance.md, and those of benchmarks/results: profiles on judged collections.

    python -m benchmarks.relevance [--write] [arguments of benchmarks.judged]
    python -m benchmarks.relevance --check

A collection `irds:NAME` is a dataset of ir_datasets, written to var/judged by `benchmarks.irds`.
Without --collection those of README's table are measured, as far as they are in RELEVANCE_DIR or
can be fetched (`benchmarks.judged_sources`), and it says where the others are.
Measures, and with --write replaces the overview in the page and all tables in the results; both
name the release and the commit that they were measured with. --check measures nothing: it fails if
either is older than one release and the ranking code has changed since.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from django.utils import timezone

from benchmarks import irds, judged_sources
from benchmarks.judged.__main__ import set_up
from benchmarks.temporary_site import ROOT

if TYPE_CHECKING:
    from benchmarks.judged.profile_runs import MeasuredCollection
    from search.tuning.evaluation.measures import Interval

PAGE = ROOT / "docs" / "relevance.md"
TABLES = ROOT / "benchmarks" / "results" / "relevance.md"
# The rows of the overview; the page says what each stands for.
PROFILES = (
    "default", "keyword-only", "vector-only", "rrf", "textbook:50/50", "textbook", "indexfoundry",
    "concept-rag", "mind", "physical-ai",
)  # fmt: skip
# Their language is not the one that the packaged model knows.
FOREIGN = {"xquad_de", "xquad_es", "xquad_ru", "xquad_zh"}
BEGIN, END = "<!-- relevance tables: begin -->", "<!-- relevance tables: end -->"
# The code that decides a ranking.
RANKING = (
    "ingestion/lexical", "search/query", "search/retrieval", "search/signals", "search/ranking",
    "search/engine", "search/presets/default.py", "search/presets/seeds.py",
)  # fmt: skip
_MEASURED = re.compile(
    r"^Measured with Steelyard (\S+), commit (\w*)\+?, on [\d-]+\.$", re.MULTILINE
)
_RELEASE = re.compile(r"^## (\d+\.\d+\.\d+)\b", re.MULTILINE)


def main() -> None:
    """Check the tables, or measure and, with --write, replace them."""
    if "--check" in sys.argv:
        sys.exit("\n".join(filter(None, map(outdated, (PAGE, TABLES)))) or None)
    set_up()
    from benchmarks.judged.command import run

    if "--collection" not in sys.argv and (present := judged_sources.folders()):
        sys.argv += ["--collection", *map(str, present.values())]
    arguments = [
        str(irds.write(each.removeprefix(irds.PREFIX))) if each.startswith(irds.PREFIX) else each
        for each in sys.argv[1:]
        if each != "--write"
    ]
    outcomes = run(arguments)
    if "--write" in sys.argv:
        rewrite(PAGE, summary(outcomes))
        rewrite(TABLES, as_markdown(outcomes))


def as_markdown(outcomes: Sequence[MeasuredCollection]) -> str:
    """A table for each collection, and an overview by the leading measure."""
    tables = []
    for name, of_collection in groupby(outcomes, key=lambda outcome: outcome.judged.name):
        tables.append(_markdown_table(name, list(of_collection)))
    return "\n\n".join([_overview(outcomes), *tables])


def summary(outcomes: Sequence[MeasuredCollection]) -> str:
    """A row for each of PROFILES: means over the collections, and differences to the first one."""
    from search.tuning.evaluation.measures import LEADING

    names = list(dict.fromkeys(outcome.judged.name for outcome in outcomes))
    english = [name for name in names if name not in FOREIGN]
    lines = [
        f"| {LEADING} | all {len(names)} | difference (95%) | {len(english)} in English "
        "| difference (95%) | clearly above, below |",
        "|---" * 6 + "|",
    ]
    for name in PROFILES:
        measured = [outcome for outcome in outcomes if outcome.profile.name == name]
        if len(measured) < len(names):
            continue
        chosen = [outcome for outcome in measured if outcome.judged.name in english]
        cells = [name, *_mean(measured), *_mean(chosen)]
        clear = [each.mean for each in _changes(measured) if each.is_clear]
        cells.append(f"{sum(each > 0 for each in clear)}, {sum(each < 0 for each in clear)}")
        if measured[0].profile is measured[0].baseline:
            cells[2] = cells[4] = cells[5] = ""
        lines.append(f"| {' | '.join(cells)} |")
    counts = {outcome.judged.name: len(outcome.values) for outcome in outcomes}
    queries = ", ".join(f"{name} {count}" for name, count in counts.items())
    return (
        "\n".join(lines) + "\n\n" + fill(f"Collections, and the queries of each: {queries}.", 100)
    )


def _mean(outcomes: Sequence[MeasuredCollection]) -> tuple[str, str]:
    """The mean over the collections, and that of the differences with its interval.

    The collections' queries are independent: the squares of the intervals' halves add up.
    """
    from search.tuning.evaluation.measures import LEADING

    if not outcomes:
        return "", ""
    count, changes = len(outcomes), _changes(outcomes)
    mean = sum(outcome.means[LEADING] for outcome in outcomes) / count
    change = sum(each.mean for each in changes) / count
    half = math.hypot(*((each.high - each.low) / 2 for each in changes)) / count
    return f"{mean:.3f}", f"{change:+.3f} ({change - half:+.3f} to {change + half:+.3f})"


def _changes(outcomes: Sequence[MeasuredCollection]) -> list[Interval]:
    from search.tuning.evaluation.measures import LEADING

    return [outcome.differences[LEADING] for outcome in outcomes]


def rewrite(path: Path, tables: str) -> None:
    """Replace the text between the markers in the file. Raises ValueError without markers."""
    from search.tuning.evaluation.profile_runs import code_version

    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(
            f"{path} has no place for the tables: put {BEGIN} and {END} on lines of their own."
        )
    measured = (
        f"Measured with Steelyard {releases()[0]}, commit {code_version()}, "
        f"on {timezone.now():%Y-%m-%d}."
    )
    path.write_text(f"{before}{begin}\n\n{measured}\n\n{tables}\n\n{end}{after}", "utf-8")


def outdated(path: Path) -> str:
    """A sentence on why the tables in the file must be measured again; empty if they need not.

    They may be one release behind, or more while the ranking code is the same.
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
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return _RELEASE.findall(text)


def _differs_from(commit: str) -> bool:
    """True if the ranking code has changed since the commit, or git does not know it."""
    command = ["git", "diff", "--quiet", commit, "--", *RANKING]
    return subprocess.run(command, cwd=ROOT, check=False).returncode != 0


def _overview(outcomes: Sequence[MeasuredCollection]) -> str:
    """The leading measure and the times: a row per profile, a column per collection."""
    from search.tuning.evaluation.measures import LEADING

    figures: dict[str, dict[str, str]] = {}
    times: dict[str, dict[str, str]] = {}
    sums: dict[str, list[float]] = {}
    for outcome in outcomes:
        profile, name = outcome.profile.name, outcome.judged.name
        figures.setdefault(name, {})[profile] = _short(outcome.means[LEADING])
        times.setdefault(name, {})[profile] = ", ".join(
            f"{value:.0f}" for value in outcome.latency.values()
        )
        sums.setdefault(profile, []).append(outcome.means[LEADING])
    figures["mean"] = {name: _short(sum(each) / len(each)) for name, each in sums.items()}
    return f"{_wide(LEADING, figures)}\n\n{_wide('p50, p95 ms', times)}"


def _wide(title: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    """Tables of five columns each, with a row for each profile."""
    names = list(columns)
    return "\n\n".join(
        _table(
            [title, *names[at : at + 5]],
            [
                [profile, *(columns[name][profile] for name in names[at : at + 5])]
                for profile in columns[names[0]]
            ],
        )
        for at in range(0, len(names), 5)
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _short(value: float, sign: str = "") -> str:
    """Three decimals without a leading zero: .941, -.066, 1.000."""
    return f"{value:{sign}.3f}".replace("0.", ".", 1)


def _markdown_table(name: str, outcomes: Sequence[MeasuredCollection]) -> str:
    from search.presentation.labels import measure_label
    from search.tuning.evaluation.measures import LEADING, NAMES

    first = outcomes[0]
    title = (
        f"**{name}**, {len(first.values)} queries; differences in {LEADING} to {first.profile.name}"
    )
    bases = {outcome.profile.name: outcome for outcome in outcomes}
    labels = [
        measure_label(each).replace("Recall", "R").replace("Precision", "P") for each in NAMES
    ]
    rows = []
    for outcome in outcomes:
        change = outcome.differences[LEADING]
        mean, low, high = (_short(each, "+") for each in (change.mean, change.low, change.high))
        rows.append(
            [
                outcome.profile.name,
                *map(_short, outcome.means.values()),
                "" if outcome is first else f"{mean} ({low}, {high})",
                _changed(outcome, bases),
            ]
        )
    head = ["profile", *labels, "difference (95%)", "other top 10"]
    return f"{title}\n\n{_table(head, rows)}"


def _changed(outcome: MeasuredCollection, bases: Mapping[str, MeasuredCollection]) -> str:
    """The number of queries whose first ten differ from those of the preset of which it is a
    variant.

    A variant that changes few rankings has equal figures, which then say nothing about it.
    """
    base = bases.get(outcome.profile.name.partition(":")[0])
    if base is None or base is outcome:
        return ""
    changed = sum(
        ranking[:10] != base.rankings.get(query, [])[:10]
        for query, ranking in outcome.rankings.items()
    )
    return str(changed)


if __name__ == "__main__":
    main()
