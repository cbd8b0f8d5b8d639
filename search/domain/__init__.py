"""The search domain: Query, Signal, Candidate, Weights, Contribution, Explanation, Hit.

Plain frozen values. No Django, no I/O.
"""

from search.domain.candidates import (
    ABSENT,
    GENERATORS,
    HALF,
    IDENTIFIER,
    MAX_IDENTIFIER_MATCHES,
    PINNED,
    WIDE_HALF_LIFE,
    Booleans,
    Candidates,
    Floats,
    Integers,
    brings,
    recency,
    row_type,
)
from search.domain.profiles import (
    COLUMNS,
    KNOBS,
    QUOTES_AND_CODES,
    About,
    Boost,
    Profile,
    RunningExperiment,
    Trial,
    columns_about,
)
from search.domain.questions import (
    K3,
    Classification,
    ClassifierRule,
    MetadataFilter,
    Pinned,
    Query,
    QueryFilters,
    QueryIdentifier,
    Reading,
    Relative,
    TermStatistic,
    forms_of,
)
from search.domain.rankings import (
    Candidate,
    Combination,
    Contribution,
    EvidenceLevel,
    Explanation,
    Group,
    Hit,
    IdentifierMatch,
    Leaf,
    Node,
    Operation,
    Tier,
)
from search.domain.signals import (
    ADDED,
    NORMALISED,
    OPTIONAL,
    SIGNALS,
    Classifier,
    Comparison,
    Fusion,
    KeywordScorer,
    Normaliser,
    QueryClass,
    Signal,
    Stage,
    TitleScorer,
    Weights,
)
