"""Physical AI's phrases as its document prints them (S5-20 to S5-23).

They match anywhere, within words too: "vs" in revs, "fix" in prefix (F5-01). The first
class with a matching phrase decides, so "what is the problem" is a concept, not a failure.
"""

from __future__ import annotations

from collections.abc import Sequence

from search.domain import Classification, Query, QueryClass
from search.query.classifiers.typed import CERTAIN, typed

PHRASES = {
    QueryClass.CONCEPT: ("what is", "explain", "define", "how does", "why"),
    QueryClass.CODE: ("code for", "implement", "example of", "how to", "show me"),
    QueryClass.DEBUG: ("error", "fix", "not working", "issue with", "problem"),
    QueryClass.COMPARISON: ("difference between", "vs", "compare", "which is better"),
}
PRINTED = tuple(PHRASES)
# The order of its code, where the rarer classes come first (F5-01).
SPECIFIC_FIRST = (QueryClass.COMPARISON, QueryClass.DEBUG, QueryClass.CODE, QueryClass.CONCEPT)


def phrase_class(text: str, order: Sequence[QueryClass] = PRINTED) -> tuple[QueryClass, str]:
    """The first class in `order` with a phrase in the text, and the phrase; general without."""
    lowered = text.lower()
    for query_class in order:
        for phrase in PHRASES[query_class]:
            if phrase in lowered:
                return query_class, phrase
    return QueryClass.GENERAL, ""


def by_physical_ai(query: Query) -> Classification:
    """The class in the printed order; general, with the base weights, if no phrase matches."""
    query_class, phrase = phrase_class(typed(query))
    return Classification(query_class, f"“{phrase}”" if phrase else "no phrase", CERTAIN)
