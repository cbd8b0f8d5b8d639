"""Expressions of administrators take time that is linear in the text: none holds a search."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ingestion.identifiers import (
    Pattern,
    UnsafeExpression,
    expression,
    find_identifiers,
    matches,
    regex_problems,
)

ROOT = Path(__file__).resolve().parents[2]

# Those that the former check let pass or recommended, each with texts that took it over 10 s.
SLOW = [
    r"(?:\w+ ?){1,16}!", r"\b(?:\w+ ?){1,8}!", r"\w*\w*\w*\w*\w*\w*!", r".*.*.*.*.*=x",
    r"(?:a|a){1,16}(?:a|a){1,16}b", r"(?:[a-z]+[0-9]*){1,12}!", r"\w+\s*\w+\s*\w+\s*\w+\s*\w+\s*!",
    r"(?:(?:a{0,9}){0,9}){0,9}b",
]  # fmt: skip
LONG = ['"a" ' * 1_000, "a" * 4_000, "the long arm of the beam " * 160, "a=" * 2_000]


def test_any_expression_on_any_text_is_fast() -> None:
    """In a process of its own, so that a slow one is ended instead of holding the tests."""
    code = (
        "import sys, json\n"
        "from search.domain import QUOTES_AND_CODES, Boost\n"
        "from search.query.rule_classifier import matches_pattern\n"
        "from search.ranking.text_boosts import anchors\n"
        "from search.query.shipped_classifier_rules import RULES\n"
        "from ingestion.identifiers import Pattern, find_identifiers, matches\n"
        "slow, long = json.loads(sys.argv[1])\n"
        "for text in long:\n"
        "    for regex in slow:\n"
        "        matches(regex, text, ignores_case=True)\n"
        "        find_identifiers(text, [Pattern('one', regex, 'lower')])\n"
        "    find_identifiers(text)\n"
        "    anchors(Boost('one', 1.5, anchor=QUOTES_AND_CODES), text)\n"
        "    for rule in RULES:\n"
        "        matches_pattern(rule.pattern, text)\n"
    )
    command = [sys.executable, "-c", code, json.dumps([SLOW, LONG])]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)


@pytest.mark.parametrize(
    ("regex", "word"),
    [
        (r"(?<!x)D[0-9]+", "surrounds"), (r"D[0-9]+(?!x)", "surrounds"),
        (r"(?=D)[A-Z0-9]+", "surrounds"), (r"(D)[0-9]+\1", "Back-references"),
        (r"(?P<a>D)[0-9]+(?P=a)", "Back-references"), (r"D[0-9]++", "second +"),
        (r"(?>D)[0-9]+", "second +"), (r"\büber\b[0-9]", "ASCII"),
        (r"(?:a{1,900}){1,900}", "does not accept"), (r"D[0-9", "Not a valid"),
        (r"[0-9]*", "empty text"),
    ],
)  # fmt: skip
def test_features_that_re2_lacks_are_refused_in_a_sentence(regex: str, word: str) -> None:
    (problem,) = regex_problems(regex)
    assert word in problem
    assert problem.endswith(".")
    assert "{1,8}" not in problem


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        (r"\bhow to\b", "Say HOW TO do it"), (r"^(?:wer|was)\b", "was ist das"),
        (r"\w+keit$", "die Flüssigkeit"), (r"[\w-]+ß", "Fuß-Maß"), (r"straße", "STRAßE"),
        (r"\d+", "٣٤"), (r"\s", "a\u00a0b"), (r"[^\s]x", " x"), (r"\D\S\W", "ab!"),
        (r"[]\w]+\Z", "a]"), ("\\u00a7\\s?[0-9]+", "§ 12"), (r"\.\*", "a.*"), (r"\\w", "a\\w"),
        (r"[\]\d]{3}", "]4]"),
    ],
)  # fmt: skip
def test_re2_matches_like_pythons_re(regex: str, text: str) -> None:
    for given in (text, text[::-1], text.upper(), "", "a b"):
        expected = re.search(regex, given, re.IGNORECASE) is not None
        assert matches(regex, given, ignores_case=True) == expected, given


@pytest.mark.parametrize(
    "text",
    [
        "XY12", "aXY12", "XY12b", "XY12 XY34,XY56", "XY12()XY34", "ÄXY12 éXY3 XY4é", "型番XY12です",
        "XY1\nXY2\n", ("x " * 1_020) + "XY1234 XY5",
        ("x" * 2_047) + " XY77 " + ("y " * 2_000) + "XY8", " XY1 XY2  XY3",
    ],
    ids=lambda text: ascii(text)[:20],
)  # fmt: skip
@pytest.mark.parametrize("regex", [r"XY[0-9]{1,6}", r"XY[0-9]+(?:\(\))?", r"(?i)xy[0-9]{1,3}"])
def test_own_pattern_matches_whole_words_only(regex: str, text: str) -> None:
    """As Python's engine finds it with look-arounds, which RE2 lacks."""
    word = "0-9A-Za-z_\u00c0-\u024f"
    body = f"(?i:{regex[4:]})" if regex.startswith("(?i)") else f"(?:{regex})"
    expected = [
        (found.start(), found.group())
        for found in re.finditer(f"(?<![{word}]){body}(?![{word}])", text)
    ]
    found = find_identifiers(text, [Pattern("own", regex, "lower")])
    assert [(one.start, one.text) for one in found] == expected


def test_stored_unsupported_expression_matches_nothing() -> None:
    before = r"(?<!x)D[0-9]+"
    assert not matches(before, "D40")
    assert find_identifiers("D40", [Pattern("before", before, "lower")]) == []
    with pytest.raises(UnsafeExpression):
        expression(before)
