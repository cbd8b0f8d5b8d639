"""The choices of a ranking as enumerations; Signal, a measure of a match; Weights, their shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from common import parts


class Stage(StrEnum):
    """A step of the ranking that may be unavailable, besides the signals."""

    RERANKER = "reranker"


class Comparison(StrEnum):
    """The comparison of a document's metadata with a filter's value; IS: equal."""

    IS = ":"
    AT_LEAST = ">="
    AT_MOST = "<="
    ABOVE = ">"
    BELOW = "<"


class QueryClass(StrEnum):
    """The kind of a question: the union of the seed systems' classes."""

    LOOKUP = "lookup"
    CONCEPT = "concept"
    CODE = "code"
    DEBUG = "debug"
    COMPARISON = "comparison"
    GENERAL = "general"

    @property
    def suggested_limit(self) -> int:
        """The number of results that an instant answer reads for such a question (S4-13).

        Mind's limits; it has no comparison, which here reads as much as a concept.
        """
        limits = {QueryClass.LOOKUP: 10, QueryClass.CODE: 12, QueryClass.GENERAL: 12}
        return limits.get(self, 15)


class Normaliser(StrEnum):
    """The method that turns a signal's raw scores into strengths; see `ranking.normalise`."""

    NONE = "none"
    MAX = "max"
    MINMAX = "minmax"
    ZSCORE = "zscore"
    RECIPROCAL_RANK = "reciprocal_rank"
    COSINE = "cosine"


class Fusion(StrEnum):
    """The method that combines the parts of a score; see `ranking.fusion`."""

    LINEAR = "linear"
    RRF = "rrf"
    COMBMNZ = "combmnz"
    MAX = "max"


class KeywordScorer(StrEnum):
    """The scoring method of the keyword signal; see `signals.keyword`."""

    BM25 = "bm25"
    BM25_FIXED = "bm25_fixed"
    TS_RANK = "ts_rank"
    TS_RANK_CD = "ts_rank_cd"
    OVERLAP = "overlap"


class TitleScorer(StrEnum):
    """The scoring method of the title signal; see `signals.title`."""

    COVERAGE = "coverage"
    ONCE = "once"
    PER_TERM = "per_term"


class Classifier(StrEnum):
    """The method that classifies queries; see `query.classifiers`. RULES are the administrators'
    rows.
    """

    RULES = "rules"
    NONE = "none"
    SPECIFICITY = "specificity"
    ANCHORS = "anchors"
    DEFINITIONS = "definitions"
    MIND = "mind"
    PHYSICAL_AI = "physical-ai"


# Weights arrive as decimals from forms and JSON: their sum may differ from 1 by this much.
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Traits:
    """The facts about a signal that a ranking reads.

    `normaliser` is the default one. `is_optional`: it runs, and appears in a score, only if it has
    a weight. `reads_words`: it compares words, which say little about a passage in another language
    than the question. `scores_all`: it scores every chunk; for the others a score of 0 means no
    match. `decays`: its scores halve with the profile's half-life.
    """

    normaliser: Normaliser = Normaliser.NONE
    is_optional: bool = False
    reads_words: bool = False
    scores_all: bool = False
    decays: bool = False


# Signals that installed parts add; fields of Weights, too.
ADDED = {name: Traits(**traits) for name, traits in parts.signals().items()}


class Signal(StrEnum):
    """A measure of how well a chunk matches a query; with those that installed parts add."""

    _value_: str
    traits: Traits

    VECTOR = "vector", Traits(scores_all=True)
    KEYWORD = "keyword", Traits(Normaliser.MAX, reads_words=True)
    TITLE = "title", Traits(reads_words=True)
    RECENCY = "recency", Traits(is_optional=True, scores_all=True, decays=True)
    SYNONYM = "synonym", Traits(Normaliser.MAX, is_optional=True, reads_words=True)
    CONCEPT = "concept", Traits(is_optional=True, reads_words=True)
    WORDNET = "wordnet", Traits(Normaliser.MAX, is_optional=True, reads_words=True)
    vars().update({name.upper(): (name, traits) for name, traits in ADDED.items()})

    def __new__(cls, value: str, traits: Traits | None = None) -> Signal:
        member = str.__new__(cls, value)
        member._value_ = value
        member.traits = traits or Traits()
        return member


SIGNALS = tuple(Signal)
OPTIONAL = tuple(signal for signal in Signal if signal.traits.is_optional)
# The others have a fixed normaliser, their default one.
NORMALISED = tuple(signal for signal in Signal if not signal.traits.is_optional)


@dataclass(frozen=True, slots=True)
class Weights:
    """Each signal's share of the score. Raises ValueError unless in [0, 1] with the sum 1."""

    vector: float
    keyword: float
    title: float
    recency: float = 0.0
    synonym: float = 0.0
    concept: float = 0.0
    wordnet: float = 0.0
    __annotations__ |= dict.fromkeys(ADDED, "float")
    vars().update(dict.fromkeys(ADDED, 0.0))

    def __post_init__(self) -> None:
        shares = tuple(self.as_dict().values())
        if not all(math.isfinite(share) and 0 <= share <= 1 for share in shares):
            listed = ", ".join(f"{share:g}" for share in shares)
            raise ValueError(f"Each weight must lie between 0 and 1; these are {listed}.")
        if abs(sum(shares) - 1) > SUM_TOLERANCE:
            raise ValueError(f"The weights must sum to 1; these sum to {sum(shares):g}.")

    def of(self, signal: Signal) -> float:
        share: float = getattr(self, signal.value)
        return share

    def as_dict(self) -> dict[str, float]:
        return {signal.value: self.of(signal) for signal in Signal}

    def rounded(self) -> Weights:
        """The weights to 4 digits, as profiles store them: the largest one takes the rest."""
        shares = {name: round(share, 4) for name, share in self.as_dict().items()}
        largest = max(shares, key=shares.__getitem__)
        shares[largest] = round(shares[largest] + 1 - sum(shares.values()), 4)
        return Weights(**shares)
