"""Q2: the named classifiers, one a file: Query -> Classification. A profile chooses one.

Those of the seed systems reproduce their documents, misfires included, for comparison. The shipped
rules (`query.rules`) are the recommended ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from search.domain import Classification, Classifier, Query
from search.query.classifiers.anchors import by_anchors
from search.query.classifiers.definitions import by_definitions
from search.query.classifiers.mind import by_mind
from search.query.classifiers.none import always_general
from search.query.classifiers.physical_ai import by_physical_ai
from search.query.classifiers.specificity import by_specificity
from search.query.classify import ClassifierRule, classify

__all__ = ["NAMED", "Classify", "classify_by"]

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
    classifier: Classifier, query: Query, rules: Sequence[ClassifierRule]
) -> Classification:
    """The classification of the query by `classifier`; `rules` are those of Classifier.RULES."""
    if classifier is Classifier.RULES:
        return classify(query, rules)
    return NAMED[classifier](query)
