"""Judged questions: with gold answers, without an answer, and about something else entirely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from search.tuning.evaluation.collections import QUERIES, EvaluationError, JudgedCollection, rows

UNANSWERABLE = "unanswerable.jsonl"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `golds` are its answers, any of which will do; none: it has no answer here.

    `foreign`: it is a question of another collection.
    """

    id: str
    text: str
    golds: tuple[str, ...] = ()
    foreign: bool = False

    @property
    def is_answerable(self) -> bool:
        return bool(self.golds)


def questions_of(judged: JudgedCollection, limit: int | None) -> list[Question]:
    """The collection's questions with answers and then those without, at most `limit` of each.

    Gold answers are the texts of `metadata.answers` in queries.jsonl; questions without an answer
    are in unanswerable.jsonl, if there is one. Raises EvaluationError without a gold answer.
    """
    asked = [
        Question(name, judged.queries[name], golds)
        for row in rows(judged.folder / QUERIES)
        if (name := str(row["_id"])) in judged.queries and (golds := _golds(row))
    ]
    if not asked:
        raise EvaluationError(
            f"No question of {judged.folder} has a gold answer. Give each its answers in "
            f'{QUERIES}: {{"_id": ..., "text": ..., "metadata": {{"answers": ["..."]}}}}.'
        )
    path = judged.folder / UNANSWERABLE
    others = rows(path, "text") if path.is_file() else ()
    without = [Question(str(row["_id"]), str(row["text"])) for row in others]
    return [*spread(asked, limit), *spread(without, limit)]


def foreign_questions(others: Sequence[JudgedCollection], limit: int | None) -> list[Question]:
    """The questions of other collections, which this one should not answer; `limit` of each."""
    return [
        Question(f"{other.name}:{name}", text, foreign=True)
        for other in others
        for name, text in spread(list(other.queries.items()), limit)
    ]


def spread(rows: Sequence[T], limit: int | None) -> list[T]:
    """`limit` of the rows at equal distances, or all."""
    if limit is None or limit >= len(rows):
        return list(rows)
    return [rows[place * len(rows) // limit] for place in range(limit)]


def _golds(row: dict[str, Any]) -> tuple[str, ...]:
    described = row.get("metadata")
    answers = described.get("answers") if isinstance(described, dict) else None
    if not isinstance(answers, list):
        return ()
    return tuple(answer for each in answers if (answer := str(each).strip()))
