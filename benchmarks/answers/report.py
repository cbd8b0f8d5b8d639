"""The outcome of an evaluation of answers as figures, which are its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.answers.asking import ModeRow, QuestionRow
from benchmarks.answers.figures import Judged, area, auroc, refusals, risks, share
from benchmarks.answers.questions import ASIDE, FITTED
from benchmarks.judged.collections import JudgedCollection
from search.answers.domain import AnswerParameters, Mode, State
from search.tuning.evaluation.measures import latencies
from search.tuning.evaluation.profile_runs import code_version

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows of a collection's questions, measured with some parameters of answers."""

    judged: JudgedCollection
    parameters: AnswerParameters
    modes: tuple[Mode, ...]
    rows: tuple[QuestionRow, ...]

    @property
    def answerable(self) -> list[QuestionRow]:
        return [row for row in self.rows if row.question.is_answerable]

    @property
    def without(self) -> list[QuestionRow]:
        """Questions written for the collection's passages that these do not answer."""
        return [
            row for row in self.rows if not (row.question.is_answerable or row.question.foreign)
        ]

    @property
    def foreign(self) -> list[QuestionRow]:
        return [row for row in self.rows if row.question.foreign]


def figures(outcome: Outcome) -> Figures:
    """All figures of an outcome; shares in [0, 1], None where nothing could be measured."""
    return {
        "collection": outcome.judged.name,
        "questions": {
            "answerable": len(outcome.answerable),
            "unanswerable": len(outcome.without),
            "foreign": len(outcome.foreign),
            "rejected": sum(row.is_rejected for row in outcome.rows),
        },
        "context_recall": _recall(outcome.answerable),
        "refusal": {
            "unanswerable": _refusal(outcome, outcome.without),
            "foreign": _refusal(outcome, outcome.foreign),
        },
        "extract_ms": latencies([row.extract_ms for row in outcome.rows if not row.is_rejected]),
        "modes": {mode.value: _mode(outcome, mode) for mode in outcome.modes},
        "code_version": code_version(),
    }


def _recall(rows: Sequence[QuestionRow]) -> Figures:
    shapes = next((list(row.has_gold) for row in rows if row.has_gold), [])
    by_shape = [
        {
            "tokens": tokens,
            "passages": passages,
            "recall": _rounded(share(row.has_gold.get((tokens, passages), False) for row in rows)),
        }
        for tokens, passages in shapes
    ]
    return {
        "by_shape": by_shape,
        "naive": _rounded(share(row.naive for row in rows)),
        "mean_tokens": round(sum(row.tokens for row in rows) / max(len(rows), 1)),
    }


def _glance(outcome: Outcome, mode: Mode) -> Figures:
    """The figures, by half, of the first piece as a reader sees it."""
    return {
        half: _half(
            mode,
            *(
                [row for row in rows if row.question.half == half and row.answers]
                for rows in (outcome.answerable, outcome.without, outcome.foreign)
            ),
        )
        for half in (FITTED, ASIDE)
    }


def _half(mode: Mode, *kinds: Sequence[QuestionRow]) -> Figures:
    right, without, foreign = ([row.answers[mode] for row in rows] for rows in kinds)
    sure = [row for row in right if row.is_sure]
    wrong_texts = [
        row.question.text
        for rows in kinds
        for row in rows
        if row.answers[mode].is_sure and not row.answers[mode].at_a_glance
    ]
    return {
        "questions": len(right),
        "at_a_glance": _rounded(share(row.at_a_glance for row in right)),
        "contained": _rounded(share(row.is_right for row in right)),
        "refused": _rounded(_refused(right)),
        "called_an_answer": _rounded(share(row.is_sure for row in right)),
        "called": len(sure),
        "wrong": sum(not row.at_a_glance for row in sure),
        "wrong_answers": _rounded(share(not row.at_a_glance for row in sure)),
        "without": len(without),
        "without_called_an_answer": _rounded(share(row.is_sure for row in without)),
        "foreign_called_an_answer": _rounded(share(row.is_sure for row in foreign)),
        "wrongly_called": wrong_texts,
    }


def _refusal(outcome: Outcome, without: Sequence[QuestionRow]) -> Figures | None:
    """The figures on how well answerability detects questions without an answer, if any exist."""
    if not without:
        return None
    rows = [*outcome.answerable, *without]
    judged = [Judged(row.answerability, row.question.is_answerable, row.is_right) for row in rows]
    by_retrieval = [
        Judged(row.retrieval or 0.0, row.question.is_answerable, row.is_right) for row in rows
    ]
    return {
        "auroc": _rounded(auroc(judged)),
        "auroc_of_retrieval": _rounded(auroc(by_retrieval)),
        "risk_by_coverage": {f"{c:.1f}": _rounded(risk) for c, risk in risks(judged).items()},
        "area_under_risk": _rounded(area(judged)),
        "thresholds": [
            {
                "below": refusal.threshold,
                "rightly_refused": _rounded(refusal.right),
                "wrongly_refused": _rounded(refusal.wrong),
            }
            for threshold in sorted({0.1, 0.2, 0.3, 0.4, 0.5, outcome.parameters.refuse_below})
            for refusal in [refusals(judged, threshold)]
        ],
    }


def _mode(outcome: Outcome, mode: Mode) -> Figures:
    def rows(of: Sequence[QuestionRow]) -> list[ModeRow]:
        return [row.answers[mode] for row in of if mode in row.answers]

    every, right = rows(outcome.rows), rows(outcome.answerable)
    done = [row for row in every if row.state is State.DONE]
    cited = sum(row.cited for row in done)
    supported = [row.supported for row in done if row.supported is not None]
    return {
        "halves": _glance(outcome, mode),
        "contained": _rounded(share(row.is_right for row in right)),
        "contained_of_answered": _rounded(
            share(row.is_right for row in right if row.state is State.DONE)
        ),
        "rightly_refused": _rounded(_refused(rows(outcome.without))),
        "foreign_refused": _rounded(_refused(rows(outcome.foreign))),
        "wrongly_refused": _rounded(_refused(right)),
        "with_sources": _rounded(share(bool(row.cited) for row in done)),
        "citations": cited,
        "valid_citations": _rounded(sum(row.valid for row in done) / cited if cited else None),
        "supported": _rounded(sum(supported) / len(supported) if supported else None),
        "sentences": round(sum(row.sentences for row in done) / max(len(done), 1), 2),
        "failed": sum(row.state is State.FAILED for row in every),
        "latency_ms": latencies([row.milliseconds for row in every if row.milliseconds]),
    }


def _refused(rows: Sequence[ModeRow]) -> float | None:
    return share(row.state is State.REFUSED for row in rows)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
