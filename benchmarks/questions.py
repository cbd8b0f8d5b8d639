"""What stands first for each question of a judged collection, as a Markdown table.

    python -m benchmarks.questions --questions [ID ...] [arguments of benchmarks.judged]

    python -m benchmarks.questions --five [arguments of benchmarks.judged]

The collections are measured first, by `benchmarks.judged`; a table is of its first profile. The
ids are those of queries.jsonl (default: all). --five prints each profile's precision at 5 over the
queries with at least five relevant passages: only they can have five right ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.judged.__main__ import set_up

if TYPE_CHECKING:
    from benchmarks.judged.profile_runs import MeasuredCollection

ANSWERS = 2  # the least grade of a passage that answers, if only in part


def main() -> None:
    set_up()
    evaluate(sys.argv[1:])


def evaluate(arguments: Sequence[str]) -> None:
    """Run `benchmarks.judged`; with --questions, print a table for each collection, too."""
    from benchmarks.judged.command import run

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--questions", nargs="*", metavar="ID")
    parser.add_argument("--five", action="store_true")
    options, rest = parser.parse_known_args(arguments)
    outcomes = run(rest)
    for outcome in outcomes if options.questions is not None else ():
        if outcome.profile == outcome.baseline:
            print(by_question(outcome, options.questions), end="\n\n")
    for outcome in outcomes if options.five else ():
        print(precision_of_five(outcome))


def precision_of_five(outcome: MeasuredCollection) -> str:
    """A sentence: precision at 5 over the queries with at least five relevant passages."""
    from search.tuning.evaluation.profile_runs import code_version

    wanted = [
        query
        for query, grades in outcome.qrels.items()
        if query in outcome.values and sum(grade > 0 for grade in grades.values()) >= 5
    ]
    mean = sum(outcome.values[query]["P@5"] for query in wanted) / max(len(wanted), 1)
    return (
        f"{outcome.judged.name}, {outcome.profile.name} v{outcome.profile.version}: P@5 {mean:.3f} "
        f"on {len(wanted)} questions with five relevant passages or more (commit {code_version()})."
    )


def by_question(outcome: MeasuredCollection, ids: Sequence[str] = ()) -> str:
    """A Markdown table of one profile's first result for each query, or for those of `ids`.

    A passage is right if no other has a higher grade, a document if it has such a passage. Raises
    EvaluationError for an unknown id.
    """
    from django.utils import timezone

    from benchmarks.judged.sections import source_of
    from search.tuning.evaluation.beir import EvaluationError
    from search.tuning.evaluation.profile_runs import code_version

    if unknown := [each for each in ids if each not in outcome.rankings]:
        raise EvaluationError(
            f"{outcome.judged.name} has no measured query {', '.join(unknown)}. Its ids are the "
            "_id of queries.jsonl."
        )
    head = ("question", "first result", "grade", "right passage first", "rank of right document")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    first, answered, top3 = 0, 0, 0
    for query in ids or outcome.rankings:
        grades, ranking = outcome.qrels[query], outcome.rankings[query]
        best = max(grades.values())
        documents = {source_of(name) for name, grade in grades.items() if grade == best}
        ordered = list(dict.fromkeys(map(source_of, ranking)))
        rank = next((n for n, each in enumerate(ordered, 1) if each in documents), 0)
        grade = grades.get(ranking[0], 0) if ranking else 0
        first, top3 = first + (grade == best), top3 + (0 < rank <= 3)
        answered += grade >= ANSWERS
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
        f"\nRight passage first in {first} of {count}, one that answers (grade {ANSWERS} or "
        f"better) in {answered}, right document among the first three in {top3} of {count} "
        f"({outcome.profile.name} v{outcome.profile.version}, commit {code_version()}, "
        f"{timezone.now():%Y-%m-%d})."
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
