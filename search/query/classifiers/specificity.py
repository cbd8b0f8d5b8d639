"""IndexFoundry's option B: the share of identifiers among the words (S1-15 to S1-21).

Punctuation stays attached to its word, so that "What is D40?" has no identifier; this rule also
misses most of the identifiers that the same document names (S1-22).
"""

from __future__ import annotations

import re

from search.domain import Classification, Query, QueryClass
from search.query.classifiers.typed import CERTAIN, typed

STOP_WORDS = frozenset({"tell", "me", "about", "what", "is", "the", "how"})  # S1-17
ALONE = 0.5  # S1-19: above it, the query is a lookup of its identifiers
MIXED = 0.2  # S1-20

_IDENTIFIER = re.compile(r"[a-z][0-9]+|[0-9]+[a-z]+")  # S1-16, on lower-cased tokens


def specificity(text: str) -> float:
    """Identifiers / words other than stop words, in [0, 1]; 0 for a text without words."""
    tokens = [token for token in text.lower().split() if token not in STOP_WORDS]
    identifiers = sum(_IDENTIFIER.fullmatch(token) is not None for token in tokens)
    return identifiers / max(1, len(tokens))


def by_specificity(query: Query) -> Classification:
    """Lookup above .5, general (the seed's "mixed") above .2, concept for the rest."""
    share = specificity(typed(query))
    if share > ALONE:
        query_class = QueryClass.LOOKUP
    elif share > MIXED:
        query_class = QueryClass.GENERAL
    else:
        query_class = QueryClass.CONCEPT
    return Classification(query_class, f"specificity {share:.2f}", CERTAIN)
