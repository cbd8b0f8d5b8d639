"""Mind's classifier as its decision record describes it (F4-01, S4-06 to S4-12).

The order: "What is <Name>", an identifier, then lookup, debug, code, concept by their signs.
Confidence is .6 and .15 more for each sign of the class, .95 at most. Restated from the
described behaviour: the signs are words and forms from the record's examples and its known
misfires, and match within words too: "nan" in tenant, "fix" in prefix (F4-02).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from search.domain import Classification, Query, QueryClass
from search.query.classifiers.typed import typed

WHAT_IS_NAME = 0.85
IDENTIFIER = 0.9
GENERAL = 0.5
BASE, EACH_SIGN, MOST = 0.6, 0.15, 0.95

# The openings of queries of the class, and words anywhere in them; each tuple is one sign.
_OPENINGS: Mapping[QueryClass, tuple[tuple[str, ...], ...]] = {
    QueryClass.LOOKUP: (("where is ", "where are "), ("find ", "locate ")),
    QueryClass.CONCEPT: (
        ("how does ", "how do ", "how is "), ("what is ", "what are "), ("why ",),
        ("explain ", "describe "),
    ),
}  # fmt: skip
_WITHIN: Mapping[QueryClass, tuple[tuple[str, ...], ...]] = {
    QueryClass.DEBUG: (
        ("error",), ("fix",), ("nan", "null", "undefined"), ("crash", "fail", "broken"),
        ("exception", "traceback"), ("not work", "n't work"), ("bug", "issue", "problem"),
    ),
    QueryClass.CODE: (
        ("implement",), ("code for", "code to", "write code"), ("example of", "snippet"),
    ),
    QueryClass.CONCEPT: (
        ("architecture", "design pattern"), ("difference between", "relationship between"),
    ),
}  # fmt: skip
_ORDER = (QueryClass.LOOKUP, QueryClass.DEBUG, QueryClass.CODE, QueryClass.CONCEPT)

_WHAT_IS = re.compile(r"what is (?:the )?(?P<name>[a-z]\w+)", re.IGNORECASE | re.ASCII)
# A capital and a small letter: Python counts, SLAM does not (F4-02).
_CAPITALISED = re.compile(r"[A-Z]\w*[a-z]\w*", re.ASCII)
# S4-12: in backticks, or with a capital inside; and the codes and constants of capitals.
_IDENTIFIER = re.compile(
    r"`[^`]+`|\b[A-Za-z]*[a-z][0-9]*[A-Z]\w*\b|^[A-Z]+(?=\w*[0-9_])[A-Z0-9_]+$", re.ASCII
)
_SNAKE = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+", re.ASCII)


def by_mind(query: Query) -> Classification:
    """The first class in Mind's order that has a sign in the query; general without any."""
    text = " ".join(typed(query).split())
    asked = _WHAT_IS.match(text)
    if asked and _CAPITALISED.fullmatch(asked["name"]):
        return Classification(QueryClass.LOOKUP, f"asks what {asked['name']} is", WHAT_IS_NAME)
    if named := _IDENTIFIER.search(text):
        return Classification(QueryClass.LOOKUP, f"names {named.group()}", IDENTIFIER)
    for query_class in _ORDER:
        if count := _signs(text, query_class):
            confidence = min(MOST, BASE + EACH_SIGN * count)
            plural = "s" if count > 1 else ""
            return Classification(query_class, f"{count} sign{plural} of its class", confidence)
    return Classification(QueryClass.GENERAL, "no sign of any class", GENERAL)


def _signs(text: str, query_class: QueryClass) -> int:
    """The number of signs of the class in the text."""
    lowered = text.lower()
    count = sum(lowered.startswith(words) for words in _OPENINGS.get(query_class, ()))
    count += sum(any(w in lowered for w in words) for words in _WITHIN.get(query_class, ()))
    if query_class is QueryClass.LOOKUP:
        count += _SNAKE.fullmatch(text) is not None
    return count
