"""The enumerations of a ranking: query classes, and the methods to choose from."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """A step of the ranking that may be unavailable, besides the signals."""

    RERANKER = "reranker"


class Comparison(StrEnum):
    """How a filter compares a document's metadata with its value; IS: equal."""

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
        """The number of results that an instant answer reads for a question of this class (S4-13).

        Mind's limits; it has no comparison, which here reads as much as a concept.
        """
        return _SUGGESTED[self]


_SUGGESTED = {
    QueryClass.LOOKUP: 10,
    QueryClass.CONCEPT: 15,
    QueryClass.CODE: 12,
    QueryClass.DEBUG: 15,
    QueryClass.COMPARISON: 15,
    QueryClass.GENERAL: 12,
}


class Normaliser(StrEnum):
    """How a signal's raw scores become strengths; see `ranking.normalise`."""

    NONE = "none"
    MAX = "max"
    MINMAX = "minmax"
    ZSCORE = "zscore"
    RECIPROCAL_RANK = "reciprocal_rank"
    COSINE = "cosine"


class Fusion(StrEnum):
    """How the parts of a score become one; see `ranking.fusion`."""

    LINEAR = "linear"
    RRF = "rrf"
    COMBMNZ = "combmnz"
    MAX = "max"


class KeywordScorer(StrEnum):
    """How the keyword signal scores a chunk; see `signals.keyword`."""

    BM25 = "bm25"
    BM25_FIXED = "bm25_fixed"
    TS_RANK = "ts_rank"
    TS_RANK_CD = "ts_rank_cd"
    OVERLAP = "overlap"


class TitleScorer(StrEnum):
    """How the title signal scores a document; see `signals.title`."""

    COVERAGE = "coverage"
    ONCE = "once"
    PER_TERM = "per_term"


class Classifier(StrEnum):
    """How queries are classified; see `query.classifiers`. RULES are the administrators' rows."""

    RULES = "rules"
    NONE = "none"
    SPECIFICITY = "specificity"
    ANCHORS = "anchors"
    DEFINITIONS = "definitions"
    MIND = "mind"
    PHYSICAL_AI = "physical-ai"
