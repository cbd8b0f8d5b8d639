"""Measure answers on judged collections whose questions have gold answers.

    python -m benchmarks.answers --write --limit 80
    python -m benchmarks.answers --write --limit 40 --collection covidqa_long
    python -m benchmarks.answers --collection squad20_dev --limit 800 --json figures.json
    python -m benchmarks.answers --collection celery fastapi xquad_en --foreign wikiqa_test

Without --collection: those of SETS. --write puts the table of what readers see into
benchmarks/results; with --collection the rows of these alone, the others stay.

A collection is a manual of benchmarks.manuals, a folder in BEIR's layout, or its name under
RELEVANCE_DIR: gold answers are the texts of `metadata.answers` in queries.jsonl, questions without
an answer are in unanswerable.jsonl. With a model (ANSWER_BASE_URL, ANSWER_API_KEY), each question
costs calls in each mode.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.temporary_site import CORES, ROOT, site

# The sets of the table, and how they are asked.
SETS: dict[str, dict[str, Any]] = {
    "celery": {},
    "fastapi": {},
    "squad20_dev": {"limit": 240, "foreign": ["wikiqa_test"]},
    "xquad_en": {"limit": 240},
    "xquad_de": {"limit": 110},
    "covidqa_long": {"limit": 110},
}
RESULTS = ROOT / "benchmarks" / "results" / "answers.md"
BEGIN, END = "<!-- answers: begin -->", "<!-- answers: end -->"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collection", nargs="+", action="extend", default=[])
    parser.add_argument("--mode", nargs="+", action="extend", default=[], help="default: instant")
    parser.add_argument(
        "--foreign",
        nargs="+",
        action="extend",
        default=[],
        help="collections whose questions are asked as well, and are to be refused",
    )
    parser.add_argument(
        "--limit",
        type=int,
        help="at most so many questions with an answer, without, and of each --foreign",
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--write", action="store_true", help="write the table")
    arguments = parser.parse_args()
    with site("answers"):
        if arguments.collection:
            runs = measured(
                arguments.collection,
                foreign=arguments.foreign,
                modes=arguments.mode,
                limit=arguments.limit,
            )
        else:
            limit = {"limit": arguments.limit} if arguments.limit else {}
            sets = {name: options | limit for name, options in SETS.items()}
            runs = [run for name, options in sets.items() for run in measured([name], **options)]
        if arguments.write or not arguments.collection:
            tabulate(runs, RESULTS if arguments.write else None, arguments.limit)
    if arguments.json:
        arguments.json.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")


def tabulate(runs: Sequence[dict[str, Any]], page: Path | None, limit: int | None) -> None:
    """Print the table of what readers see, and replace its rows of these sets on the page."""
    from django.utils import timezone

    from benchmarks.answers import printing

    table = printing.as_table(runs)
    print(table)
    if page is None:
        return
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    old, _, after = rest.partition(END)
    names = [run["collection"] for run in runs]
    some = f" with --limit {limit}" if limit else ""
    version = runs[0]["code_version"]
    noted = [f"Measured at {version}, on {timezone.localdate()}{some}: {', '.join(names)}."]
    rows = []
    if not set(names).issuperset(SETS):
        others = [line for line in old.splitlines() if line and _set_of(line) not in names]
        same = f": {', '.join(names)}."
        noted += [line for line in others if not line.startswith("|") and not line.endswith(same)]
        rows = [line for line in others if _set_of(line) in SETS]
    new = table.splitlines()
    order = [*SETS, *names]
    rows = sorted([*new[2:], *rows], key=lambda row: order.index(_set_of(row)))
    text = "\n\n".join([*noted, "\n".join([*new[:2], *rows])])
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def _set_of(row: str) -> str:
    """The collection of a row of the table; empty for a line that is none."""
    return row.removeprefix("| ").partition(",")[0] if row.startswith("| ") else ""


def measured(
    names: Sequence[str],
    *,
    foreign: Sequence[str] = (),
    modes: Sequence[str] = (),
    limit: int | None = None,
    write: Callable[[str], Any] = print,
) -> list[dict[str, Any]]:
    """The figures of each collection, which are also written as text."""
    from benchmarks.answers import printing, report
    from benchmarks.answers.asking import measure
    from benchmarks.answers.questions import foreign_questions, questions_of
    from benchmarks.judged.collections import find
    from benchmarks.judged.loading import load, relevance_folder
    from benchmarks.judged.sections import SectionCollection
    from benchmarks.manuals import MANUALS, collection
    from search.answers import answering
    from search.answers.domain import Mode
    from search.management import progress

    root = relevance_folder()
    chosen = tuple(Mode(name) for name in dict.fromkeys(modes or [Mode.INSTANT]))
    others = [find(name, root) for name in foreign]
    runs = []
    for name in names:
        judged = collection(name) if name in MANUALS else find(name, root)
        questions = questions_of(judged, limit) + foreign_questions(others, limit)
        if isinstance(judged, SectionCollection):
            slug = judged.load(write, CORES)[0][0]
        else:
            slug = load(judged, write=write, processes=CORES).slug
        with progress(judged.name) as update:
            rows = measure(questions, slug, chosen, progress=update)
        outcome = report.Outcome(judged, answering.active_parameters(), chosen, tuple(rows))
        runs.append(report.figures(outcome))
        write(printing.as_text(runs[-1]))
    return runs


if __name__ == "__main__":
    sys.exit(main())
