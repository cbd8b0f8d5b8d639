"""Validation of patterns that administrators enter: errors, and warnings about overlaps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ingestion.identifiers.finding import find_identifiers
from ingestion.identifiers.normalisers import NORMALISERS
from ingestion.identifiers.patterns import Pattern, compiled

MAX_REGEX_CHARS = 600
# A group repeated at most this often may contain another repeat: the ways to match stay few.
_SAFE_REPEATS = 16
# Ordinary sentences: dates, figures, abbreviations and names, but no codes.
PROSE = (
    "On 14 March 2023 the committee met at 10:30 in room four, and about 25% of the 1,200 members "
    "came. Dr. Lee, who chairs it, said that prices had risen from $3.50 to $4.10 since 2021, e.g. "
    "for flour. The U.S. office opens Monday-Friday; see pages 12-15, or write to the front desk. "
    "Nobody knew why the low-cost, long-term plan was dropped. Der Urlaub wird mindestens vier "
    "Wochen vorher schriftlich beantragt. Le train part à 8 h 45 du quai numéro 3."
)


def check_pattern(pattern: Pattern) -> list[str]:
    """The pattern's errors, as sentences for a form; empty if it is valid."""
    if pattern.normaliser not in NORMALISERS:
        known = ", ".join(sorted(NORMALISERS))
        return [f"Unknown normaliser {pattern.normaliser!r}; choose one of {known}."]
    problems = regex_problems(pattern.regex)
    if problems:
        return problems
    if not pattern.examples:
        problems.append("Enter at least one example that the pattern must recognise.")
    problems += [
        f"The example {example!r} is not recognised as a whole."
        for example in pattern.examples
        if example not in _recognised(pattern, example)
    ]
    problems += [
        f"The counter-example {text!r} must not be recognised, but is, as {', '.join(found)}."
        for text in pattern.counter_examples
        if (found := _recognised(pattern, text))
    ]
    return problems


def _recognised(pattern: Pattern, text: str) -> list[str]:
    canonical = NORMALISERS[pattern.normaliser].canonical
    matches = (match.group() for match in compiled(pattern.regex).finditer(text))
    return [match for match in matches if canonical(match)]


def regex_problems(regex: str) -> list[str]:
    """Why `regex` is not safe to run on users' texts, as sentences; empty if it is."""
    if len(regex) > MAX_REGEX_CHARS:
        return [f"The expression is longer than {MAX_REGEX_CHARS} characters; split it in two."]
    try:
        re.compile(regex)  # on its own first: "a)|(b" is only valid inside our brackets
        matcher = compiled(regex)
    except (re.error, OverflowError, RecursionError) as error:
        return [f"Not a valid regular expression: {error}."]
    if matcher.fullmatch(""):
        return ["The expression matches an empty text; make at least one part of it mandatory."]
    # The parser is CPython's own and private, but nothing else sees exactly what re will run;
    # the alternative is to write a second parser.
    return _slow_parts(re._parser.parse(matcher.pattern))  # type: ignore[attr-defined]


def _slow_parts(tree: Any, inside: str = "") -> list[str]:
    """Errors for parts that can take exponential time: nested repeats and back-references."""
    for operation, argument in tree:
        name = str(operation)
        if name.startswith("GROUPREF"):
            return ["Back-references are not allowed, because they can be very slow; remove them."]
        if inside and name in {"BRANCH", "MAX_REPEAT", "MIN_REPEAT"} and _varies(name, argument):
            return [
                "A repeat inside another repeat can be very slow. Limit the outer "
                f"one to at most {_SAFE_REPEATS}, as in (...){{1,8}}, or make the inner one "
                "possessive, as in \\w++."
            ]
        repeats = name in {"MAX_REPEAT", "MIN_REPEAT"} and argument[1] > _SAFE_REPEATS
        possessive = name in {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
        below = "" if possessive else name if repeats else inside
        for part in _subpatterns(argument):
            if problems := _slow_parts(part, below):
                return problems
    return []


def _varies(name: str, argument: Any) -> bool:
    return name == "BRANCH" or argument[0] != argument[1]


def _subpatterns(argument: Any) -> list[Any]:
    if isinstance(argument, re._parser.SubPattern):  # type: ignore[attr-defined]
        return [argument]
    if isinstance(argument, tuple | list):
        return [part for each in argument for part in _subpatterns(each)]
    return []


def overlaps(pattern: Pattern, earlier: Sequence[Pattern], later: Sequence[Pattern]) -> list[str]:
    """Warnings about the pattern, as sentences; empty if it overlaps nothing.

    `earlier` patterns are tried before it and take precedence; `later` are tried after it.
    """
    return [
        *_lost(pattern, earlier),
        *_taken(pattern, later),
        *_in_prose(pattern),
    ]


def _lost(pattern: Pattern, earlier: Sequence[Pattern]) -> Iterator[str]:
    for example in pattern.examples:
        kinds = {one.kind for one in find_identifiers(example, [*earlier, pattern])}
        if others := sorted(kinds - {pattern.name}):
            yield (
                f"“{example}” is recognised by “{', '.join(others)}”, which is tried earlier. "
                "Give this pattern a lower position to try it first."
            )


def _taken(pattern: Pattern, later: Sequence[Pattern]) -> Iterator[str]:
    for other in later:
        for example in other.examples:
            if any(one.kind == pattern.name for one in find_identifiers(example, [pattern])):
                yield f"It takes precedence over “{other.name}” for “{example}”."
                break


def _in_prose(pattern: Pattern) -> Iterator[str]:
    found = dict.fromkeys(one.text for one in find_identifiers(PROSE, [pattern]))
    if found:
        named = ", ".join(f"“{text}”" for text in list(found)[:3])
        yield (
            f"It recognises {named} in ordinary prose, so that questions with such words are "
            "searched as codes. Make the expression narrower."
        )
