"""Variables: .env.example names each with its default, and no other; those of several entries."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from kbsite.settings.environment import entries

ROOT = Path(__file__).resolve().parents[2]
READERS = (
    *sorted((ROOT / "kbsite/settings").glob("*.py")),
    *sorted((ROOT / "search/parts").glob("*/settings.py")),
    ROOT / "kbsite/gunicorn.py",
    ROOT / "kbsite/layout.py",
)
LINE = re.compile(r"^#([A-Z][A-Z0-9_]*)=(.*)$", re.MULTILINE)
# Where the default is no address of a server, a line shows how one is written.
EXAMPLES = {"CSRF_TRUSTED_ORIGINS", "DATABASE_URL", "REDIS_URL"}

EXAMPLE = dict(LINE.findall((ROOT / ".env.example").read_text()))


def variables_read() -> Iterator[tuple[str, str]]:
    """Each variable that the code asks for by name, with its default as .env would say it.

    The default is "" where there is none or where it is worked out.
    """
    for path in READERS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _asks_environment(node.func):
                match node.args:
                    case [ast.Constant(value=str(name)), *rest]:
                        yield name, _as_written(_default(node, rest))


def _asks_environment(function: ast.expr) -> bool:
    return ast.unparse(function).startswith(("env.", "entries", "os.environ.get"))


def _default(call: ast.Call, rest: list[ast.expr]) -> ast.expr | None:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
    return (named or rest or [None])[0]


def _as_written(default: ast.expr | None) -> str:
    if default is None:
        return ""
    try:
        value = ast.literal_eval(default)
    except ValueError:
        return _product(default)
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return ",".join(f"{key}={each}" for key, each in value.items())
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else str(value)


def _product(default: ast.expr) -> str:
    """A sum of numbers, worked out (7 * 24 * 3600); "" for all that depends on something."""
    names = any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(default))
    return "" if names else str(eval(ast.unparse(default)))


def test_example_names_every_variable_that_is_read() -> None:
    assert {name for name, _ in variables_read()} - EXAMPLE.keys() == set()


def test_example_names_no_variable_that_nothing_reads() -> None:
    assert EXAMPLE.keys() - {name for name, _ in variables_read()} == set()


def test_example_states_the_defaults() -> None:
    wrong = [
        f"{name}: {EXAMPLE.get(name)!r} there, {default!r} in the code"
        for name, default in variables_read()
        if default and name not in EXAMPLES and _number(EXAMPLE.get(name, "")) != _number(default)
    ]
    assert wrong == []


def _number(text: str) -> float | str:
    """The text as a number where it is one: 30.0 and 30 are the same default."""
    try:
        return float(text)
    except ValueError:
        return text


DEFAULT = {"searches": 0, "answers": 5}


def test_given_entries_replace_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert entries("QUOTA_TEST", DEFAULT) == DEFAULT
    monkeypatch.setenv("QUOTA_TEST", "searches=500")
    assert entries("QUOTA_TEST", DEFAULT) == {"searches": 500, "answers": 5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("searchs=500", "QUOTA_TEST has no searchs. Its entries: searches=0,answers=5"),
        ("searches=many", "QUOTA_TEST is written as searches=0,answers=5"),
        ("500", "QUOTA_TEST is written as searches=0,answers=5"),
    ],
)
def test_invalid_entries_are_refused_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    monkeypatch.setenv("QUOTA_TEST", text)
    with pytest.raises(ImproperlyConfigured, match=words):
        entries("QUOTA_TEST", DEFAULT)


@pytest.mark.parametrize(
    ("variables", "automatic"),
    [
        ({"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": "http://127.0.0.1:1"}, "quotes"),
        ({"OPENAI_API_KEY": "key", "ANSWER_BASE_URL": "http://127.0.0.1:1"}, "model"),
        ({"OPENAI_API_KEY": "key", "ANSWER_MODEL": "m"}, "model"),
        ({}, "quotes"),
    ],
)
def test_a_server_for_embeddings_answers_no_question_by_itself(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], automatic: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANSWER_BASE_URL", "ANSWER_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ANSWER_API_KEY", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    read = runpy.run_path(str(ROOT / "kbsite/settings/search.py"))
    assert read["ANSWERS_AUTOMATIC"] == automatic
