"""The textbook's fourth alternative: definitions versus explanations (S3-25)."""

from __future__ import annotations

import re

from search.domain import Classification, Query, QueryClass
from search.query.classifiers.typed import CERTAIN, typed

_DEFINE = re.compile(r"define\s+\S", re.IGNORECASE)
_HOW = re.compile(r"how\s+(?:does|do)\s+.*\bwork\b", re.IGNORECASE)


def by_definitions(query: Query) -> Classification:
    """Lookup for "Define X", concept for "How does X work", general for the rest."""
    text = typed(query)
    if _DEFINE.match(text):
        return Classification(QueryClass.LOOKUP, "asks for a definition", CERTAIN)
    if _HOW.match(text):
        return Classification(QueryClass.CONCEPT, "asks how it works", CERTAIN)
    return Classification(QueryClass.GENERAL, "neither a definition nor how it works", CERTAIN)
