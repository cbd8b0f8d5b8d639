"""Text -> canonical identifiers (docs/adr/0002). Pure: no Django, no I/O.

An identifier names one thing and has a form that a pattern can distinguish from prose:
`D-40`, `30 CFR 75.1725`, `rclcpp::Node`, `settings.py`. Proper nouns and acronyms (Aboleth,
SLAM) have no such form: they are terms, and the keyword signal finds them.

Read in this order: `expressions` (which never take long), `patterns` (forms to recognise, words
that form none), `canonical_forms` (spellings), `finding` (identifiers of texts and queries, stored
forms, matches); here the validation of an administrator's patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ingestion.identifiers.canonical_forms import NORMALISERS, Normaliser
from ingestion.identifiers.expressions import UnsafeExpression, expression, matches
from ingestion.identifiers.finding import (
    FULL,
    Form,
    Mention,
    Place,
    begins_with,
    find_identifiers,
    index_forms,
    is_single_identifier,
    placed_forms,
    query_identifiers,
)
from ingestion.identifiers.patterns import DEFAULT_PATTERNS, Pattern, compiled

MAX_REGEX_CHARS = 600
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
        choices = ", ".join(sorted(NORMALISERS))
        return [f"Unknown normaliser {pattern.normaliser!r}; choose one of {choices}."]
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
        f"The counter-example {text!r} must not be recognised, but is, as {', '.join(recognised)}."
        for text in pattern.counter_examples
        if (recognised := _recognised(pattern, text))
    ]
    return problems


def _recognised(pattern: Pattern, text: str) -> list[str]:
    canonical = NORMALISERS[pattern.normaliser].canonical
    texts = (match.group() for match in compiled(pattern.regex).finditer(text))
    return [each for each in texts if canonical(each)]


def regex_problems(regex: str) -> list[str]:
    """The reasons to refuse `regex`, as sentences; none if it is valid and cannot be slow."""
    if len(regex) > MAX_REGEX_CHARS:
        return [f"The expression is longer than {MAX_REGEX_CHARS} characters; split it in two."]
    try:
        re.compile(regex)  # on its own first: "a)|(b" is only valid inside our brackets
    except (re.error, OverflowError, RecursionError) as error:
        return [f"Not a valid regular expression: {error}."]
    try:
        matcher = compiled(regex)
    except UnsafeExpression as error:
        return [str(error)]
    if matcher.fullmatch(""):
        return ["The expression matches an empty text; make at least one part of it mandatory."]
    return []


def overlaps(pattern: Pattern, earlier: Sequence[Pattern], later: Sequence[Pattern]) -> list[str]:
    """Warnings about the pattern, as sentences; empty if it overlaps nothing.

    `earlier` patterns are tried before it and take precedence; `later` are tried after it.
    """
    return [*_shadowed(pattern, earlier), *_shadowing(pattern, later), *_in_prose(pattern)]


def _shadowed(pattern: Pattern, earlier: Sequence[Pattern]) -> Iterator[str]:
    for example in pattern.examples:
        kinds = {one.kind for one in find_identifiers(example, [*earlier, pattern])}
        if others := sorted(kinds - {pattern.name}):
            yield (
                f"“{example}” is recognised by “{', '.join(others)}”, which is tried earlier. "
                "Give this pattern a lower position to try it first."
            )


def _shadowing(pattern: Pattern, later: Sequence[Pattern]) -> Iterator[str]:
    for other in later:
        for example in other.examples:
            if any(one.kind == pattern.name for one in find_identifiers(example, [pattern])):
                yield f"It takes precedence over “{other.name}” for “{example}”."
                break


def _in_prose(pattern: Pattern) -> Iterator[str]:
    texts = dict.fromkeys(one.text for one in find_identifiers(PROSE, [pattern]))
    if texts:
        quoted = ", ".join(f"“{text}”" for text in list(texts)[:3])
        yield (
            f"It recognises {quoted} in ordinary prose, so that questions with such words are "
            "searched as codes. Make the expression narrower."
        )
