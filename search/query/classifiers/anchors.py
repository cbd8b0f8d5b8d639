"""IndexFoundry as shipped: weights per query, from its anchors and its length (F1-01)."""

from __future__ import annotations

import re

from search.domain import Classification, Query, QueryClass, Weights
from search.query.classifiers.typed import CERTAIN, typed

# A capital and digits, capitals and digits, a long number, a quoted text.
CODES = (r"\b[A-Z]\d{1,3}\b", r"\b[A-Z]{2,3}\d{1,4}\b", r"\b\d{3,}\b")
QUOTED = r'"([^"]+)"'
BROAD_WORDS = frozenset(
    {"what", "how", "tell", "about", "explain", "describe", "overview"}
)  # they ask for an overview rather than for a thing

_FORMS = tuple(re.compile(form, re.ASCII) for form in (*CODES, QUOTED))
_WORDS = re.compile(r"[a-z]+")


def anchors(text: str) -> tuple[str, ...]:
    """The codes, long numbers and quoted words of a text, each once, form by form."""
    found = (match for form in _FORMS for match in form.findall(text))
    return tuple(dict.fromkeys(found))


def specificity(text: str) -> float:
    """The specificity of a text, in [0, 1]: higher for anchors and for few words."""
    words = [word for word in text.split() if len(word) > 2]
    by_length = 0.2 if len(words) <= 3 else 0.1 if len(words) <= 6 else 0.0
    broad = BROAD_WORDS & set(_WORDS.findall(text.lower()))
    score = min(0.5, 0.2 * len(anchors(text))) + by_length - (0.2 if broad else 0.0)
    return min(max(score, 0.0), 1.0)


def keyword_weight(text: str) -> float:
    """The keywords' share: .5 for one anchor, .7 for more; .35 to .5 without any."""
    named = len(anchors(text))
    if named:
        return min(0.7, 0.3 + 0.2 * named)
    return max(0.2, 0.5 - 0.3 * specificity(text))


def by_anchors(query: Query) -> Classification:
    """Lookup with anchors, general without, and the query's own weights."""
    text = typed(query)
    found = anchors(text)
    keyword = keyword_weight(text)
    return Classification(
        QueryClass.LOOKUP if found else QueryClass.GENERAL,
        f"anchors {', '.join(found)}" if found else f"specificity {specificity(text):.2f}",
        CERTAIN,
        Weights(vector=1 - keyword, keyword=keyword, title=0.0),
    )
