"""Query -> class, by ordered rules: the first that matches decides. Rules use predicates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ingestion.identifiers import DEFAULT_PATTERNS, Pattern, matches, regex_problems
from search.domain import Classification, ClassifierRule, Query, QueryClass
from search.errors import SearchError
from search.query.parse import parse
from search.query.shipped_classifier_rules import RULES

SHORT_WORDS = 2

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_NAME = re.compile(r"(?:[^\W\d_]*[A-ZÄÖÜÀ-Þ][^\W_]*|[^\W_]*\d[^\W_]*)")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A test of a query, with a description for administrators."""

    description: str
    test: Callable[[Query], bool]


def is_identifier(query: Query) -> bool:
    return query.is_identifier


def names_identifier(query: Query) -> bool:
    """Whether it asks for a strict identifier; ADR 2 states the rule.

    “take 5” has none as in texts, though D 5 is one; “who made the VW T4” does not ask for T4.
    """
    has_strict = any(not identifier.loose for identifier in query.identifiers)
    return query.asks_for_identifiers and has_strict


def is_name(query: Query) -> bool:
    """Whether it is a single word with a capital or a digit: Aboleth, SLAM, v2; not pumps."""
    words = _WORD.findall(query.text)
    return len(words) == 1 and _NAME.fullmatch(words[0]) is not None


def is_short(query: Query) -> bool:
    return 1 <= len(_WORD.findall(query.text)) <= SHORT_WORDS


PREDICATES: Mapping[str, Predicate] = MappingProxyType(
    {
        "is_identifier": Predicate("The query is one identifier", is_identifier),
        "names_identifier": Predicate("The query names an identifier", names_identifier),
        "is_name": Predicate("The query is one word written as a name", is_name),
        "is_short": Predicate(f"The query has at most {SHORT_WORDS} words", is_short),
    }
)


FALLBACK_RULE = "nothing matched"
FALLBACK_CONFIDENCE = 0.5


def classify(query: Query, rules: Sequence[ClassifierRule]) -> Classification:
    """The class of the first rule that matches; `general` if none does."""
    for rule in rules:
        if _matches(rule, query):
            return Classification(rule.query_class, rule.name, rule.confidence)
    return Classification(QueryClass.GENERAL, FALLBACK_RULE, FALLBACK_CONFIDENCE)


def check_rule(
    rule: ClassifierRule, patterns: Sequence[Pattern] = DEFAULT_PATTERNS
) -> dict[str, list[str]]:
    """The problems of a rule as sentences, by field; empty for a valid rule.

    `patterns` recognise the identifiers in the examples.
    """
    if bool(rule.pattern) == bool(rule.predicate):
        return {"pattern": ["Give either a pattern or a predicate: one of the two decides."]}
    if rule.predicate and rule.predicate not in PREDICATES:
        names = ", ".join(PREDICATES)
        return {"predicate": [f"There is no predicate {rule.predicate!r}. Choose one of: {names}."]}
    if rule.pattern and (problems := pattern_problems(rule.pattern)):
        return {"pattern": problems}
    missed = [text for text in rule.examples if not _reads_as(rule, text, patterns)]
    caught = [text for text in rule.counter_examples if _reads_as(rule, text, patterns)]
    by_field = {
        "examples": [f"The rule does not match its example “{text}”." for text in missed],
        "counter_examples": [f"The rule matches “{text}”, which it must not." for text in caught],
    }
    return {field: sentences for field, sentences in by_field.items() if sentences}


def _reads_as(rule: ClassifierRule, text: str, patterns: Sequence[Pattern]) -> bool:
    try:
        return _matches(rule, parse(text, patterns))
    except SearchError:
        return False


def _matches(rule: ClassifierRule, query: Query) -> bool:
    if rule.predicate:
        return PREDICATES[rule.predicate].test(query)
    return matches_pattern(rule.pattern, query.text)


# They look ahead, which RE2 cannot: compiled by Python, and trusted.
_SHIPPED = {rule.pattern: re.compile(rule.pattern, re.IGNORECASE) for rule in RULES if rule.pattern}


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a rule's pattern is in the text, in time linear in it but for the shipped rules'."""
    if shipped := _SHIPPED.get(pattern):
        return shipped.search(text) is not None
    return matches(pattern, text, ignores_case=True)


def pattern_problems(pattern: str) -> list[str]:
    """Sentences on why a rule's pattern is refused; empty if it is valid."""
    return [] if pattern in _SHIPPED else regex_problems(pattern)
