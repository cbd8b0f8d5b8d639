"""Q2: Query -> class, by ordered rules: the first that matches decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from search.domain import Classification, Query, QueryClass

FALLBACK_RULE = "nothing matched"
FALLBACK_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class ClassifierRule:
    """One row of the classifier. `pattern` is searched in the query, without regard to case.

    The pattern `<identifier>` stands for: the whole query is one identifier.
    """

    name: str
    pattern: str
    query_class: QueryClass
    confidence: float = 0.8


IDENTIFIER_PREDICATE = "<identifier>"


def classify(query: Query, rules: Sequence[ClassifierRule]) -> Classification:
    """The class of the first rule that matches; `general` when none does."""
    for rule in rules:
        if _matches(rule, query):
            return Classification(rule.query_class, rule.name, rule.confidence)
    return Classification(QueryClass.GENERAL, FALLBACK_RULE, FALLBACK_CONFIDENCE)


def check_rule(rule: ClassifierRule) -> list[str]:
    """Sentences on what is wrong with a rule; none for a good one."""
    if rule.pattern == IDENTIFIER_PREDICATE:
        return []
    try:
        _compiled(rule.pattern)
    except re.error as error:
        return [f"The pattern is no regular expression: {error}."]
    return []


def _matches(rule: ClassifierRule, query: Query) -> bool:
    if rule.pattern == IDENTIFIER_PREDICATE:
        return query.is_identifier
    return _compiled(rule.pattern).search(query.text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
