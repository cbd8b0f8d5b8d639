"""Golden queries in a file, with the conditions that a site must meet. Pure: no database.

The file is YAML, or a folder in BEIR's layout whose gate.yml, if there is one, has the conditions.
Documents have the names that people give them: see `gate_answers.SitePassage.fits`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import yaml

from search.tuning.evaluation.beir import (
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
RANKED = tuple(name for name in NAMES if name != "R@100")
MEASURED = (*RANKED, MARKED, UNMARKED)
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
    _check(path.exists(), f"There is no file {path}. A gate file begins as: {EXAMPLE}")
    settings = path / SETTINGS if path.is_dir() else path
    data = _yaml(settings) if settings.exists() else {}
    listed = _beir(path) if path.is_dir() else _questions(path, data.get("questions"))
    questions: dict[str, GateQuestion] = {}
    for each in listed:
        _check(each.text not in questions, f"{path} asks “{each.text}” twice. Join the grades.")
        questions[each.text] = each
    _check(questions, f"{path} has no questions. It needs at least one, as {EXAMPLE}")
    rules, p95_ms = data.get("rules") or {}, data.get("p95_ms")
    collections, floors = data.get("collections") or [], data.get("at_least") or {}
    _check(isinstance(collections, list), f"{path}: collections is a list, as [handbook].")
    _check_keys(f"{path}, at_least", floors, MEASURED)
    return GateFile(
        path.name,
        tuple(questions.values()),
        tuple(map(str, collections)),
        _rules(path, rules),
        {name: _floor(path, name, least) for name, least in floors.items()},
        None if p95_ms is None else _number(path, "p95_ms", p95_ms),
        any(name.startswith("latency") for name in rules),
    )


def _check(holds: object, problem: str) -> None:
    if not holds:
        raise EvaluationError(problem)


def _yaml(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise EvaluationError(f"{path} cannot be read as YAML: {error}") from error
    _check(data, f"{path} is empty. It begins as: {EXAMPLE}")
    _check_keys(str(path), data, KEYS)
    return cast(dict[str, Any], data)


def _check_keys(where: str, data: object, known: Collection[str]) -> None:
    """Raise EvaluationError unless the data is a mapping with some of the known keys."""
    if not isinstance(data, dict):
        raise EvaluationError(f"{where} is not a mapping of {', '.join(known)}.")
    for key in data:
        near = get_close_matches(str(key), known, n=1)
        advice = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(known)}."
        _check(key in known, f"{where}: unknown key {key!r}. {advice}")


def _questions(path: Path, listed: object) -> Iterator[GateQuestion]:
    if not isinstance(listed, list):
        raise EvaluationError(f"{path} has no list of questions. It needs one, as {EXAMPLE}")
    for number, row in enumerate(listed, start=1):
        where = f"{path}, question {number}"
        _check_keys(where, row, QUESTION_KEYS)
        text, grades = str(row.get("question") or "").strip(), row.get("grades") or {}
        _check(text, f"{where} has no text. Give it one: question: ...")
        where += f" (“{text}”)"
        _check(isinstance(grades, dict), f"{where}: give grades as document: grade, from 0 to 3.")
        first, unanswerable = str(row.get("first") or ""), row.get("unanswerable", False)
        _check(unanswerable in (True, False), f"{where}: unanswerable is true or false.")
        has_answer = bool(first) or any(grades.values())
        _check(
            has_answer != unanswerable,
            f"{where} is unanswerable and has an answer. Remove one of the two."
            if unanswerable
            else f"{where} has no document of a grade above 0. Give it grades or first, or say "
            "unanswerable: true.",
        )
        grades = grades or ({first: 3} if first else {})
        yield _question(where, text, {} if unanswerable else grades, first)


def _beir(folder: Path) -> Iterator[GateQuestion]:
    missing = [name for name in (QUERIES, QRELS) if not (folder / name).is_file()]
    _check(not missing, f"{folder} lacks {' and '.join(missing)} of BEIR's layout.")
    qrels = qrels_of(folder / QRELS)
    for row in rows(folder / QUERIES, "text"):
        if any((grades := qrels.get(str(row["_id"]), {})).values()):
            yield _question(f"{folder / QRELS}, query {row['_id']}", str(row["text"]), grades)
    if (folder / UNANSWERABLE).exists():
        for row in rows(folder / UNANSWERABLE, "text"):
            yield GateQuestion(str(row["text"]))


def _question(where: str, text: str, grades: Mapping[Any, object], first: str = "") -> GateQuestion:
    for name, grade in grades.items():
        known = grade in (0, 1, 2, 3) and not isinstance(grade, bool)
        _check(known, f"{where}: the grade {grade!r} of {name} is not one of 0, 1, 2, 3.")
    graded = {str(name): int(str(grade)) for name, grade in grades.items()}
    return GateQuestion(" ".join(text.split()), graded, first)


def _rules(path: Path, given: dict[str, Any]) -> Rules:
    defaults = asdict(Rules())
    _check_keys(f"{path}, rules", given, defaults)
    for name, value in given.items():
        if isinstance(defaults[name], int | float) and not isinstance(defaults[name], bool):
            _number(path, name, value)
    measure, required = given.get("measure", RANKED[0]), given.get("first_required", False)
    _check(measure in RANKED, f"{path}: measure is one of {', '.join(RANKED)}.")
    _check(isinstance(required, bool), f"{path}: first_required is true or false.")
    return Rules(**given)


def _floor(path: Path, name: str, least: object) -> Floor:
    """`0.8`, or `{mean: 0.8, low: 0.7}`: the mean, and the lower end of its 95% interval."""
    parts = least if isinstance(least, dict) else {"mean": least}
    _check_keys(f"{path}, {name}", parts, ("mean", "low"))
    return Floor(**{part: _number(path, name, value, 1) for part, value in parts.items()})


def _number(path: Path, name: str, value: object, most: float = 1e9) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise EvaluationError(f"{path}: {name} is {value!r}, not a number from 0 to {most:g}.")
    return value
