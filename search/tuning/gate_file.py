"""Golden queries in a file, with the conditions that a site must meet. Pure: no database.

The file is YAML, or a folder in BEIR's layout whose gate.yml, if there is one, has the conditions.
Documents have the names that people give them: see `gate_answers.SitePassage.fits`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from search.tuning.evaluation.judged_collections import (
    QRELS,
    QUERIES,
    EvaluationError,
    qrels_of,
    rows,
)
from search.tuning.evaluation.measures import NAMES
from search.tuning.gate import Floor, Rules

SETTINGS, UNANSWERABLE = "gate.yml", "unanswerable.jsonl"
# The shares of questions without an answer that the site marks, and of the others that it does not.
MARKED, UNMARKED = "unanswerable", "answerable"
# A page has ten results.
MEASURED = (*(name for name in NAMES if name != "R@100"), MARKED, UNMARKED)
KEYS = ("collections", "rules", "at_least", "p95_ms", "questions")
QUESTION_KEYS = ("question", "grades", "first", "unanswerable")
EXAMPLE = 'questions: [{question: "when is high water", grades: {tides.md: 3}}]'


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """A golden query of a file; without grades it has no answer. `first` must be first, if any."""

    text: str
    grades: Mapping[str, int] = field(default_factory=dict)
    first: str = ""

    @property
    def by_section(self) -> bool:
        """Whether a judgement names a section, so that passages are ranked and not documents."""
        return any("#" in name for name in self.grades)


@dataclass(frozen=True, slots=True)
class GateFile:
    """The questions, and the conditions. `p95_ms` is the most milliseconds of the slowest 5%.

    `compares_latency`: an earlier run's latency is one, too, since the file has a margin for it.
    """

    name: str
    questions: tuple[GateQuestion, ...]
    collections: tuple[str, ...] = ()
    rules: Rules = Rules()  # noqa: RUF009  frozen
    floors: Mapping[str, Floor] = field(default_factory=dict)
    p95_ms: float | None = None
    compares_latency: bool = False


def read_gate(path: Path) -> GateFile:
    """The gate in a YAML file or a BEIR folder. Raises EvaluationError, which says what to do."""
    if not path.exists():
        raise EvaluationError(f"There is no file {path}. A gate file begins as: {EXAMPLE}")
    if not path.is_dir():
        data = _yaml(path)
        questions = tuple(_questions(path, data.get("questions")))
    else:
        data = _yaml(path / SETTINGS) if (path / SETTINGS).exists() else {}
        if "questions" in data:
            raise EvaluationError(f"{path / SETTINGS}: the questions of a folder are in {QUERIES}.")
        questions = tuple(_beir(path))
    if not questions:
        raise EvaluationError(f"{path} has no questions. It needs at least one, as {EXAMPLE}")
    _check_unique(path, questions)
    rules = data.get("rules") or {}
    return GateFile(
        path.name,
        questions,
        _slugs(path, data.get("collections") or []),
        _rules(path, rules),
        {name: _floor(path, name, least) for name, least in _floors(path, data.get("at_least"))},
        None if data.get("p95_ms") is None else _number(path, "p95_ms", data["p95_ms"], 1e9),
        any(name.startswith("latency") for name in rules),
    )


def _yaml(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise EvaluationError(f"{path} cannot be read as YAML: {error}") from error
    if not isinstance(data, dict):
        raise EvaluationError(f"{path} is not a mapping of YAML. It begins as: {EXAMPLE}")
    _check_keys(path, data, KEYS)
    return data


def _check_keys(where: object, data: Mapping[Any, Any], known: tuple[str, ...]) -> None:
    for key in data:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            advice = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(known)}."
            raise EvaluationError(f"{where}: unknown key {key!r}. {advice}")


def _questions(path: Path, listed: object) -> Iterator[GateQuestion]:
    if not isinstance(listed, list):
        raise EvaluationError(f"{path} has no list of questions. It needs one, as {EXAMPLE}")
    for number, row in enumerate(listed, start=1):
        where = f"{path}, question {number}"
        if not isinstance(row, dict) or not str(row.get("question") or "").strip():
            raise EvaluationError(f"{where} has no text. Give it one: question: ...")
        where += f" (“{row['question']}”)"
        _check_keys(where, row, QUESTION_KEYS)
        grades = row.get("grades") or {}
        if not isinstance(grades, dict):
            raise EvaluationError(f"{where}: give grades as document: grade, from 0 to 3.")
        first = str(row.get("first") or "")
        graded = {str(name): _grade(where, name, grade) for name, grade in grades.items()}
        yield _question(where, str(row["question"]), graded, first, row.get("unanswerable", False))


def _beir(folder: Path) -> Iterator[GateQuestion]:
    if missing := [name for name in (QUERIES, QRELS) if not (folder / name).is_file()]:
        raise EvaluationError(f"{folder} lacks {' and '.join(missing)} of BEIR's layout.")
    qrels = qrels_of(folder / QRELS)
    for row in rows(folder / QUERIES, "text"):
        name = str(row["_id"])
        if grades := qrels.get(name):
            where = f"{folder / QUERIES}, query {name}"
            graded = {each: _grade(where, each, grade) for each, grade in grades.items()}
            yield _question(where, str(row["text"]), graded, "", False)
    if (folder / UNANSWERABLE).exists():
        for row in rows(folder / UNANSWERABLE, "text"):
            yield GateQuestion(str(row["text"]))


def _question(
    where: str, text: str, grades: Mapping[str, int], first: str, unanswerable: object
) -> GateQuestion:
    if first and not grades:
        grades = {first: 3}
    has_answer = bool(first) or any(grades.values())
    if unanswerable not in (True, False):
        raise EvaluationError(f"{where}: unanswerable is true or false.")
    if unanswerable and has_answer:
        raise EvaluationError(f"{where} is unanswerable and has an answer. Remove one of the two.")
    if not unanswerable and not has_answer:
        raise EvaluationError(
            f"{where} has no document of a grade above 0. Give it grades or first, or say "
            "unanswerable: true."
        )
    return GateQuestion(" ".join(text.split()), {} if unanswerable else grades, first)


def _grade(where: str, name: object, grade: object) -> int:
    if grade not in (0, 1, 2, 3) or isinstance(grade, bool):
        raise EvaluationError(f"{where}: the grade {grade!r} of {name} is not one of 0, 1, 2, 3.")
    return int(str(grade))


def _check_unique(path: Path, questions: tuple[GateQuestion, ...]) -> None:
    seen: set[str] = set()
    for question in questions:
        if question.text in seen:
            raise EvaluationError(f"{path} asks “{question.text}” twice. Put the grades together.")
        seen.add(question.text)


def _slugs(path: Path, listed: object) -> tuple[str, ...]:
    if not isinstance(listed, list):
        raise EvaluationError(f"{path}: collections is a list of slugs, as [handbook].")
    return tuple(map(str, listed))


def _rules(path: Path, given: object) -> Rules:
    known = {each.name: each.type for each in fields(Rules)}
    if not isinstance(given, dict):
        raise EvaluationError(f"{path}: rules is a mapping of {', '.join(known)}.")
    _check_keys(f"{path}, rules", given, tuple(known))
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name == "measure" and value not in MEASURED[:-2]:
            raise EvaluationError(f"{path}: measure is one of {', '.join(MEASURED[:-2])}.")
        if name == "first_required" and not isinstance(value, bool):
            raise EvaluationError(f"{path}: first_required is true or false.")
        is_number = name not in ("measure", "first_required")
        values[name] = _number(path, name, value, 1e9) if is_number else value
    return Rules(**values)


def _floors(path: Path, given: object) -> Iterator[tuple[str, object]]:
    if not isinstance(given, dict | None):
        raise EvaluationError(f"{path}: at_least is a mapping, as {{nDCG@10: 0.8}}.")
    _check_keys(f"{path}, at_least", given or {}, MEASURED)
    yield from (given or {}).items()


def _floor(path: Path, name: str, least: object) -> Floor:
    """`0.8`, or `{mean: 0.8, low: 0.7}`: the mean, and the lower end of its 95% interval."""
    parts = least if isinstance(least, dict) else {"mean": least}
    _check_keys(f"{path}, {name}", parts, ("mean", "low"))
    return Floor(**{part: _number(path, f"{name} {part}", parts[part], 1) for part in parts})


def _number(path: Path, name: str, value: object, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise EvaluationError(f"{path}: {name} is {value!r}, not a number from 0 to {most:g}.")
    return value
