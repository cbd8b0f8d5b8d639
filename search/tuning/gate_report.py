"""The gate's decision on a site's answers to the questions of a file, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from search.tuning import gate
from search.tuning.evaluation import measures
from search.tuning.evaluation.beir import EvaluationError
from search.tuning.gate import Decision, Finding, First, Measured
from search.tuning.gate_answers import SiteAnswer
from search.tuning.gate_file import MARKED, MEASURED, UNMARKED, GateFile, GateQuestion

Answers = Mapping[str, SiteAnswer]


@dataclass(frozen=True, slots=True)
class GateReport:
    """A decision with its figures: each measure's interval, and each question's values."""

    file: GateFile
    decision: Decision
    answers: Answers
    values: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, measures.Interval]
    latency: Mapping[str, float]

    @property
    def lost(self) -> list[str]:
        """The questions that refusals name, without repeats."""
        return list(dict.fromkeys(text for each in self.decision.refusals for text in each.queries))

    def as_data(self) -> dict[str, Any]:
        """JSON that a later run can be held against (`gate_answers.of_report`)."""
        return {
            "gate": self.file.name,
            "passed": self.decision.passed,
            "findings": [asdict(finding) for finding in self.decision.findings],
            "lost": self.lost,
            "measures": {name: asdict(each) for name, each in self.intervals.items()},
            "latency_ms": dict(self.latency),
            "values": {text: dict(row) for text, row in self.values.items()},
            "answers": {text: asdict(answer) for text, answer in self.answers.items()},
        }


def report(file: GateFile, answers: Answers, before: Answers | None = None) -> GateReport:
    """The report on a site's answers, beside those of an earlier run if they are given.

    Raises EvaluationError if nothing in the file could refuse, or no question was asked before.
    """
    firsts = any(question.first for question in file.questions)
    if before is None and not (file.floors or file.p95_ms or firsts):
        raise EvaluationError(
            f"{file.name} has no condition, so nothing could be refused. Give it at_least, p95_ms "
            "or a question's first, or an earlier run: --against REPORT.json."
        )
    values = _values(file.questions, answers)
    findings = [*_compared(file, answers, before), *_floors(file, values), *_latency(file, answers)]
    by_measure: dict[str, list[float]] = {}
    for row in values.values():
        for name, value in row.items():
            by_measure.setdefault(name, []).append(value)
    return GateReport(
        file,
        Decision((*findings, *_unmatched(file, answers))),
        answers,
        values,
        {name: measures.interval(each) for name, each in by_measure.items() if name in MEASURED},
        measures.latencies([answer.milliseconds for answer in answers.values()]),
    )


def _values(questions: Sequence[GateQuestion], answers: Answers) -> dict[str, dict[str, float]]:
    """Every measure by question; one without an answer has the measure MARKED alone."""
    asked = {each.text: each for each in questions if each.text in answers}
    rankings = {
        text: [passage.judged_as(each) for passage in answers[text].results]
        for text, each in asked.items()
    }
    judged = {text: each.grades for text, each in asked.items() if each.grades}
    values = measures.measure(judged, {text: rankings[text] for text in judged})
    for text in asked:
        is_sure = answers[text].is_sure
        values.setdefault(text, {})[UNMARKED if text in judged else MARKED] = float(
            is_sure == (text in judged)
        )
    return {text: values[text] for text in asked}


def _compared(file: GateFile, answers: Answers, before: Answers | None) -> list[Finding]:
    """The findings of the gate that publishing has; and the same rule for the marks."""
    asked = [each for each in file.questions if before is None or each.text in before]
    if not asked:
        raise EvaluationError("The earlier report has none of these questions. Write it again.")
    firsts = {
        each.text: First(
            _is_first(each, answers), None if before is None else _is_first(each, before)
        )
        for each in asked
        if each.first
    }
    names = {each.text: each.text for each in asked}
    now = _values(asked, answers)
    was = None if before is None else _values(asked, before)

    def of(measure: str) -> tuple[measures.Values, measures.Values | None]:
        texts = [text for text, row in now.items() if measure in row]
        return {text: now[text] for text in texts}, was and {text: was[text] for text in texts}

    values, earlier = of(file.rules.measure)
    measured = Measured(values, earlier, firsts, names=names)
    if before is not None and file.compares_latency:
        p95, p95_before = _p95(answers, asked), _p95(before, asked)
        measured = replace(measured, p95=p95, p95_before=p95_before)
    if before is None:  # without its first finding: that there is nothing to compare with
        return list(gate.decide(file.rules, measured).findings[1:])
    findings = list(gate.decide(file.rules, measured).findings) if values else []
    for measure in (MARKED, UNMARKED):
        values, earlier = of(measure)
        rules, marks = replace(file.rules, measure=measure), Measured(values, earlier, names=names)
        findings += gate.decide(rules, marks).findings if values else ()
    if new := len(file.questions) - len(asked):
        findings.append(Finding(f"{new} questions are not in the earlier report."))
    return findings


def _is_first(question: GateQuestion, answers: Answers) -> bool:
    results = answers[question.text].results
    return bool(results) and results[0].fits(question.first)


def _p95(answers: Answers, asked: Sequence[GateQuestion]) -> float:
    return float(np.quantile([answers[each.text].milliseconds for each in asked], 0.95))


def _floors(file: GateFile, values: measures.Values) -> list[Finding]:
    return [
        gate.of_floor(name, floor, {text: row[name] for text, row in values.items() if name in row})
        for name, floor in file.floors.items()
    ]


def _latency(file: GateFile, answers: Answers) -> list[Finding]:
    if file.p95_ms is None:
        return []
    now, slow = _p95(answers, file.questions), []
    refuses = now > file.p95_ms
    if refuses:
        slow = [text for text, each in answers.items() if each.milliseconds > file.p95_ms]
    text = f"The slowest 5% of searches take over {now:.0f} ms; {file.p95_ms:g} ms is the most."
    return [Finding(text, refuses, tuple(slow))]


def _unmatched(file: GateFile, answers: Answers) -> list[Finding]:
    """A note on documents that no result is: their names may be misspelt, or they are gone."""
    results = [passage for answer in answers.values() for passage in answer.results]
    named = dict.fromkeys(
        name for each in file.questions for name, grade in each.grades.items() if grade
    )
    missing = [name for name in named if not any(passage.fits(name) for passage in results)]
    if not missing:
        return []
    listed = ", ".join(missing[: gate.NAMED]) + (", ..." if len(missing) > gate.NAMED else "")
    return [Finding(f"In no result (misspelt, deleted, or not readable?): {listed}.")]
