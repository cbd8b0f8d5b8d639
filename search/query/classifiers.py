"""The named classifiers: Query -> Classification. A profile chooses one.

Those of the seed systems reproduce their documents, misfires included, for comparison. The shipped
rules (`query.shipped_classifier_rules`) are the recommended ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from search.domain import Classification, Classifier, ClassifierRule, Query, QueryClass, Weights
from search.query.rule_classifier import FALLBACK_RULE, classify

__all__ = ["NAMED", "Classify", "classify_by"]

# No seed but Mind states its classifier's confidence: a rule that matches is certain.
CERTAIN = 1.0


class QueryModel(Protocol):
    """A model that classifies queries that no rule matches."""

    def classify(self, query: Query) -> Classification | None:
        """The class, its probability as the confidence and a name as the rule; None: undecided."""


def typed(query: Query) -> str:
    """The query as typed, with its punctuation, quotes and operators: the seed systems do not parse
    them.
    """
    return query.original or query.text


def always_general(query: Query) -> Classification:
    """General for every query."""
    del query
    return Classification(QueryClass.GENERAL, "no classifier", CERTAIN)


STOP_WORDS = frozenset({"tell", "me", "about", "what", "is", "the", "how"})  # S1-17
ALONE = 0.5  # S1-19: above it, the query is a lookup of its identifiers
MIXED = 0.2  # S1-20

_OPTION_B_IDENTIFIER = re.compile(r"[a-z][0-9]+|[0-9]+[a-z]+")  # S1-16, on lower-cased tokens


def specificity(text: str) -> float:
    """Identifiers / words other than stop words, in [0, 1]; 0 for a text without words."""
    tokens = [token for token in text.lower().split() if token not in STOP_WORDS]
    identifiers = sum(_OPTION_B_IDENTIFIER.fullmatch(token) is not None for token in tokens)
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


# A capital and digits, capitals and digits, a long number, a quoted text.
CODES = (r"\b[A-Z]\d{1,3}\b", r"\b[A-Z]{2,3}\d{1,4}\b", r"\b\d{3,}\b")
QUOTED = r'"([^"]+)"'
BROAD_WORDS = frozenset(
    {"what", "how", "tell", "about", "explain", "describe", "overview"}
)  # they ask for an overview rather than for a thing

_CODES = tuple(re.compile(form, re.ASCII) for form in CODES)
_QUOTED = re.compile(QUOTED)
_LETTERS = re.compile(r"[a-z]+")


def anchor_matches(text: str) -> tuple[str, ...]:
    """The codes, long numbers and quoted words of a text, each once, form by form.

    A code in quotes is a part of the quoted words, as it is to the preset's boosts.
    """
    bare = _QUOTED.sub(" ", text)
    codes = [match for form in _CODES for match in form.findall(bare)]
    return tuple(dict.fromkeys([*codes, *_QUOTED.findall(text)]))


def anchored_specificity(text: str) -> float:
    """The specificity of a text, in [0, 1]: higher for anchors and for few words."""
    words = [word for word in text.split() if len(word) > 2]
    by_length = 0.2 if len(words) <= 3 else 0.1 if len(words) <= 6 else 0.0
    broad = BROAD_WORDS & set(_LETTERS.findall(text.lower()))
    score = min(0.5, 0.2 * len(anchor_matches(text))) + by_length - (0.2 if broad else 0.0)
    return min(max(score, 0.0), 1.0)


def keyword_weight(text: str) -> float:
    """The keywords' share: .5 for one anchor, .7 for more; .35 to .5 without any."""
    count = len(anchor_matches(text))
    if count:
        return min(0.7, 0.3 + 0.2 * count)
    return max(0.2, 0.5 - 0.3 * anchored_specificity(text))


def by_anchors(query: Query) -> Classification:
    """Lookup with anchors, general without; the weights are the query's own."""
    text = typed(query)
    matches = anchor_matches(text)
    keyword = keyword_weight(text)
    return Classification(
        QueryClass.LOOKUP if matches else QueryClass.GENERAL,
        f"anchors {', '.join(matches)}"
        if matches
        else f"specificity {anchored_specificity(text):.2f}",
        CERTAIN,
        Weights(vector=1 - keyword, keyword=keyword, title=0.0),
    )


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


WHAT_IS_NAME = 0.85
IDENTIFIER = 0.9
GENERAL = 0.5
BASE, EACH_SIGN, MOST = 0.6, 0.15, 0.95

# The openings of queries of a class, and phrases anywhere in them; each tuple is one sign. They are
# parts of words too: "nan" in tenant, "fix" in prefix (F4-02). "…" stands for anything between.
_OPENINGS: Mapping[QueryClass, tuple[tuple[str, ...], ...]] = {
    QueryClass.LOOKUP: (("where is ",), ("find ",)),
    QueryClass.CONCEPT: (
        ("how does", "how do", "how to", "how can", "how should"), ("what is", "what are",
        "what does"), ("why does", "why do", "why is", "why are"), ("explain ",), ("describe ",),
        ("when should",),
    ),
}  # fmt: skip
_WITHIN: Mapping[QueryClass, tuple[tuple[str, ...], ...]] = {
    QueryClass.DEBUG: (
        ("error",), ("fix",), ("nan", "null", "undefined"), ("crash",), ("fail",), ("broken",),
        ("exception", "throw"), ("not work",), ("doesn…t work",), ("why is…not", "why does…not"),
        ("bug",), ("issue",), ("problem",),
    ),
    QueryClass.CODE: (
        ("implement",), ("how…implement",), ("code…for",), ("write…code",), ("example…of",),
        ("snippet",), ("syntax for",), ("create…class",), ("function…that",),
    ),
    QueryClass.CONCEPT: (
        ("architecture", "design", "pattern", "approach"), ("difference between",),
        ("relationship between",),
    ),
}  # fmt: skip
_ORDER = (QueryClass.LOOKUP, QueryClass.DEBUG, QueryClass.CODE, QueryClass.CONCEPT)
_METHODS = ("get", "set", "create", "delete", "update", "find")

_WHAT_IS = re.compile(r"what is (?:the )?(?P<name>[a-z]\w+)", re.IGNORECASE | re.ASCII)
# A capital, then a small letter: Python counts, SLAM does not (F4-02).
_CAPITALISED = re.compile(r"[A-Z][a-z]\w*", re.ASCII)
# S4-12: in backticks or quotes, or with a capital inside.
_IDENTIFIER = re.compile(
    r"(?P<mark>[`\"'])(?:(?!(?P=mark)).)+(?P=mark)|\b(?:[a-z]+|[A-Z][a-z]+)[A-Z]\w*", re.ASCII
)


def by_mind(query: Query) -> Classification:
    """The first class in Mind's order that has a sign in the query; general without any."""
    text = " ".join(typed(query).split())
    question = _WHAT_IS.match(text)
    if question and _CAPITALISED.fullmatch(question["name"]):
        return Classification(QueryClass.LOOKUP, f"asks what {question['name']} is", WHAT_IS_NAME)
    if identifier := _IDENTIFIER.search(text):
        return Classification(QueryClass.LOOKUP, f"names {identifier.group()}", IDENTIFIER)
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
    count += sum(
        any(_follow(phrase, lowered) for phrase in sign) for sign in _WITHIN.get(query_class, ())
    )
    return count + _signs_of_a_name(text) if query_class is QueryClass.LOOKUP else count


def _follow(phrase: str, text: str) -> bool:
    """Whether the parts of the phrase occur in the text in their order."""
    end = 0
    for part in phrase.split("…"):
        if (start := text.find(part, end)) == -1:
            return False
        end = start + len(part)
    return True


def _signs_of_a_name(word: str) -> int:
    """The signs by which a query of one bare word is a name; 0 for any other query.

    A capital first (Aboleth), nothing but capitals and digits (SLAM and D40 have both), an
    underscore within, a verb of methods first (F4-01).
    """
    if len(word) < 2 or not (word.isascii() and word.replace("_", "a").isalnum()):
        return 0
    is_named = word[0].isupper() and "_" not in word
    in_capitals = word[0].isupper() and word.upper() == word
    return (
        is_named
        + in_capitals
        + ("_" in word[1:-1])
        + any(word.lower().startswith(verb) and len(word) > len(verb) for verb in _METHODS)
    )


PHRASES = {
    QueryClass.CONCEPT: ("what is", "explain", "define", "how does", "why"),
    QueryClass.CODE: ("code for", "implement", "example of", "how to", "show me"),
    QueryClass.DEBUG: ("error", "fix", "not working", "issue with", "problem"),
    QueryClass.COMPARISON: ("difference between", "vs", "compare", "which is better"),
}


def phrase_class(text: str) -> tuple[QueryClass, str]:
    """The first class of PHRASES with a phrase in the text, and the phrase; general without."""
    lowered = text.lower()
    for query_class, phrases in PHRASES.items():
        for phrase in phrases:
            if phrase in lowered:
                return query_class, phrase
    return QueryClass.GENERAL, ""


def by_physical_ai(query: Query) -> Classification:
    """The class in the printed order; general, with the base weights, if no phrase matches."""
    query_class, phrase = phrase_class(typed(query))
    return Classification(query_class, f"“{phrase}”" if phrase else "no phrase", CERTAIN)


Classify = Callable[[Query], Classification]

NAMED: Mapping[Classifier, Classify] = MappingProxyType(
    {
        Classifier.NONE: always_general,
        Classifier.SPECIFICITY: by_specificity,
        Classifier.ANCHORS: by_anchors,
        Classifier.DEFINITIONS: by_definitions,
        Classifier.MIND: by_mind,
        Classifier.PHYSICAL_AI: by_physical_ai,
    }
)


def classify_by(
    classifier: Classifier,
    query: Query,
    rules: Sequence[ClassifierRule],
    model: QueryModel | None = None,
) -> Classification:
    """The classification of the query by `classifier`.

    `rules` are those of Classifier.RULES; `model` decides where none of them matches.
    """
    if classifier is not Classifier.RULES:
        return NAMED[classifier](query)
    classification = classify(query, rules)
    if model is None or classification.rule != FALLBACK_RULE:
        return classification
    return model.classify(query) or classification
