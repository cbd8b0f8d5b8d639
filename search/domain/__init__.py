"""The words of a question: Query, Signal, Candidate, Weights, Contribution, Explanation, Hit.

Plain frozen values. No Django, no I/O.
"""

from search.domain.choices import (
    Classifier,
    Comparison,
    Fusion,
    KeywordScorer,
    Normaliser,
    QueryClass,
    Signal,
    TitleScorer,
)
from search.domain.profiles import Boost, Profile
from search.domain.questions import (
    SUM_TOLERANCE,
    Classification,
    MetadataFilter,
    Pinned,
    Query,
    QueryFilters,
    QueryIdentifier,
    TermStatistic,
    Weights,
)
from search.domain.rankings import (
    Candidate,
    Combination,
    Contribution,
    Explanation,
    Hit,
    IdentifierMatch,
    Leaf,
    Node,
    Operation,
    Tier,
)
from search.domain.trials import MIXED, Mix, RunningExperiment, TakesPart, Trial

__all__ = [
    "MIXED",
    "SUM_TOLERANCE",
    "Boost",
    "Candidate",
    "Classification",
    "Classifier",
    "Combination",
    "Comparison",
    "Contribution",
    "Explanation",
    "Fusion",
    "Hit",
    "IdentifierMatch",
    "KeywordScorer",
    "Leaf",
    "MetadataFilter",
    "Mix",
    "Node",
    "Normaliser",
    "Operation",
    "Pinned",
    "Profile",
    "Query",
    "QueryClass",
    "QueryFilters",
    "QueryIdentifier",
    "RunningExperiment",
    "Signal",
    "TakesPart",
    "TermStatistic",
    "Tier",
    "TitleScorer",
    "Trial",
    "Weights",
]
