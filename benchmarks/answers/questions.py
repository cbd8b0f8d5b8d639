"""Judged questions: with gold answers, without an answer, and about something else entirely."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from benchmarks.judged.collections import CORPUS, JudgedCollection
from benchmarks.judged.sections import SectionCollection
from search.tuning.evaluation.beir import QUERIES, EvaluationError, rows

UNANSWERABLE = "unanswerable.jsonl"
NEAR_MISSES = "near-misses.txt"
# The weights were fitted on the one manual, and on half of each other collection; the rules for the
# form of a question were made on the other manual.
FITTED, ASIDE = "fitted", "set aside"
MANUALS = {"fastapi": FITTED, "celery": FITTED}
LOWEST_GRADE = 2  # of a section that answers
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    `golds` are its answers, any of which counts; `sections` are those of a manual with an answer;
    without both it has no answer here. `foreign`: it is a question of another collection. `half`:
    whether weights were fitted on it.
    """

    id: str
    text: str
    golds: tuple[str, ...] = ()
    sections: frozenset[str] = frozenset()
    foreign: bool = False
    half: str = ASIDE

    @property
    def is_answerable(self) -> bool:
        return bool(self.golds or self.sections)


def questions_of(judged: JudgedCollection, limit: int | None) -> list[Question]:
    """The collection's questions with answers and then those without, at most `limit` of each.

    Gold answers are the texts of `metadata.answers` in queries.jsonl; questions without an answer
    are in unanswerable.jsonl, if there is one. Of a manual the judged sections answer, and its near
    misses have none. Raises EvaluationError without a gold answer.
    """
    if isinstance(judged, SectionCollection):
        return _of_manual(judged)
    titles = {str(row["_id"]): str(row.get("title") or "") for row in rows(judged.folder / CORPUS)}
    answerable = [
        Question(name, judged.queries[name], golds, half=_article_half(judged, name, titles))
        for row in rows(judged.folder / QUERIES)
        if (name := str(row["_id"])) in judged.queries and (golds := _golds(row))
    ]
    if not answerable:
        raise EvaluationError(
            f"No question of {judged.folder} has a gold answer. Give each its answers in "
            f'{QUERIES}: {{"_id": ..., "text": ..., "metadata": {{"answers": ["..."]}}}}.'
        )
    path = judged.folder / UNANSWERABLE
    others = rows(path, "text") if path.is_file() else ()
    without = [
        Question(name := str(row["_id"]), str(row["text"]), half=_half(judged, name))
        for row in others
    ]
    return [*spread(answerable, limit), *spread(without, limit)]


def _of_manual(judged: SectionCollection) -> list[Question]:
    half = MANUALS[judged.name]
    answered = [
        Question(name, text, (), sections, half=half)
        for name, text in judged.queries.items()
        if (sections := _answering(judged.qrels[name]))
    ]
    near = (judged.folder / NEAR_MISSES).read_text(encoding="utf-8").splitlines()
    return [*answered, *(Question(text, text, half=half) for text in near)]


def _answering(grades: Mapping[str, int]) -> frozenset[str]:
    return frozenset(name for name, grade in grades.items() if grade >= LOWEST_GRADE)


def _article_half(judged: JudgedCollection, question: str, titles: Mapping[str, str]) -> str:
    """The half of the title of the first document that answers: all questions about it share it."""
    relevant = (name for name, grade in judged.qrels[question].items() if grade)
    return _half(judged, titles.get(next(relevant, ""), "") or question)


def _half(judged: JudgedCollection, group: str) -> str:
    digest = hashlib.sha256(f"{judged.name}:{group}".encode()).digest()
    return ASIDE if digest[0] & 1 else FITTED


def foreign_questions(others: Sequence[JudgedCollection], limit: int | None) -> list[Question]:
    """The questions of other collections, which this one should not answer; `limit` of each."""
    return [
        Question(f"{other.name}:{name}", text, foreign=True, half=_half(other, name))
        for other in others
        for name, text in spread(list(other.queries.items()), limit)
    ]


def spread(rows: Sequence[T], limit: int | None) -> list[T]:
    """`limit` of the rows at equal distances, or all of them."""
    if limit is None or limit >= len(rows):
        return list(rows)
    return [rows[place * len(rows) // limit] for place in range(limit)]


def _golds(row: dict[str, Any]) -> tuple[str, ...]:
    described = row.get("metadata")
    answers = described.get("answers") if isinstance(described, dict) else None
    if not isinstance(answers, list):
        return ()
    return tuple(answer for each in answers if (answer := str(each).strip()))
