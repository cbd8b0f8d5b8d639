"""The words of a question: Query, Signal, Candidate, Weights, Contribution, Explanation, Hit.

Plain frozen values. No Django, no I/O.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

# Weights arrive as decimals from forms and JSON: a sum is right when it is this near to 1.
SUM_TOLERANCE = 1e-6


class Signal(StrEnum):
    """One way of telling that a chunk fits a query."""

    VECTOR = "vector"
    KEYWORD = "keyword"
    TITLE = "title"


class QueryClass(StrEnum):
    """What kind of question it is: the union of the seed systems' classes."""

    LOOKUP = "lookup"
    CONCEPT = "concept"
    CODE = "code"
    DEBUG = "debug"
    COMPARISON = "comparison"
    GENERAL = "general"


class Normaliser(StrEnum):
    """How a signal's raw scores become strengths; see `ranking.normalise`."""

    NONE = "none"
    MAX = "max"
    MINMAX = "minmax"
    ZSCORE = "zscore"
    RECIPROCAL_RANK = "reciprocal_rank"
    COSINE = "cosine"


class Fusion(StrEnum):
    LINEAR = "linear"
    RRF = "rrf"


class KeywordScorer(StrEnum):
    """How the keyword signal scores a chunk; see `retrieval.lexical`."""

    BM25 = "bm25"
    TS_RANK = "ts_rank"
    TS_RANK_CD = "ts_rank_cd"
    OVERLAP = "overlap"


class TitleScorer(StrEnum):
    """How the title signal scores a document; see `retrieval.title`."""

    COVERAGE = "coverage"
    ONCE = "once"
    PER_TERM = "per_term"


@dataclass(frozen=True, slots=True)
class Weights:
    """Each signal's share of the score. Raises ValueError unless in [0, 1] with the sum 1."""

    vector: float
    keyword: float
    title: float

    def __post_init__(self) -> None:
        shares = (self.vector, self.keyword, self.title)
        if not all(math.isfinite(share) and 0 <= share <= 1 for share in shares):
            raise ValueError(f"Each weight must lie between 0 and 1, not {shares}.")
        if abs(sum(shares) - 1) > SUM_TOLERANCE:
            raise ValueError(f"The weights must sum to 1; these sum to {sum(shares):g}.")

    def of(self, signal: Signal) -> float:
        share: float = getattr(self, signal.value)
        return share

    def as_dict(self) -> dict[str, float]:
        return {signal.value: self.of(signal) for signal in Signal}


@dataclass(frozen=True, slots=True)
class QueryIdentifier:
    """An identifier that a query names: as typed, and its forms to look up with their strengths.

    `loose`: only a query's leniency takes it for one (`ros 2`, a bare `0042`).
    """

    text: str
    kind: str
    forms: tuple[tuple[str, float], ...]
    loose: bool = False


@dataclass(frozen=True, slots=True)
class QueryFilters:
    """What a query's `field:value` operators name; empty fields name nothing.

    Of several values of a field any may fit, but of `titles` each must. `collections` are slugs
    or names, `media_types` exact, `languages` ISO 639-1 codes, the days inclusive.
    """

    titles: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A question, read. `text` is what is asked, without the operators, for every signal.

    `original` is what was typed; both have their white space collapsed and hold no control
    characters. Every result contains each of `phrases` and none of `excluded`, fits `filters`
    and none of `unwanted`. `is_identifier`: the whole query is one identifier.
    `needs_no_embedding`: one of a form that prose has no use for, so that its meaning adds
    nothing (S1-29).
    """

    text: str
    identifiers: tuple[QueryIdentifier, ...] = ()
    is_identifier: bool = False
    needs_no_embedding: bool = False
    original: str = ""
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    filters: QueryFilters = QueryFilters()
    unwanted: QueryFilters = QueryFilters()

    @property
    def is_empty(self) -> bool:
        return not self.text


@dataclass(frozen=True, slots=True)
class Classification:
    """A query's class and the rule that chose it; `confidence` is the rule's own, in [0, 1]."""

    query_class: QueryClass
    rule: str
    confidence: float


@dataclass(frozen=True, slots=True)
class IdentifierMatch:
    """How well a chunk holds an identifier of the query.

    `strength` is 1 for the full form, less for a tail; `place` is 0 title, 1 heading, 2 body.
    """

    form: str
    strength: float
    place: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that some signal found, with its raw score under every signal.

    A signal missing from `raw` did not run, or cannot score this chunk. A raw score of 0 or
    less under keyword or title means that nothing matched.
    """

    chunk_id: int
    document_id: int
    raw: Mapping[Signal, float]
    identifier: IdentifierMatch | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """One signal's part of a score: `value` = `weight` x `strength`."""

    signal: Signal
    raw: float | None
    strength: float
    weight: float

    @property
    def value(self) -> float:
        return self.weight * self.strength


@dataclass(frozen=True, slots=True)
class Tier:
    """A rank before any score. Lower `order` comes first; (0,) is the only one without a reason."""

    order: tuple[float, ...] = (1.0,)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a hit stands where it stands: the tier first, then the sum of the contributions."""

    contributions: tuple[Contribution, ...]
    tier: Tier = field(default_factory=Tier)

    @property
    def score(self) -> float:
        return math.fsum(part.value for part in self.contributions)


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked candidate. `rank` counts from 1 over the whole ranking, not the page."""

    candidate: Candidate
    explanation: Explanation
    rank: int

    @property
    def score(self) -> float:
        return self.explanation.score


@dataclass(frozen=True, slots=True)
class Profile:
    """One version of the ranking, as a search uses it: a snapshot of a SearchProfile row.

    `depth` is the number of candidates each signal brings. `keyword_budget` bounds how many
    chunks the keyword signal scores: terms are taken from the rarest on until their document
    frequencies sum to it.
    """

    name: str
    version: int
    weights: Mapping[QueryClass, Weights]
    fusion: Fusion = Fusion.LINEAR
    normalisers: Mapping[Signal, Normaliser] = field(default_factory=dict)
    rrf_k: int = 60
    depth: int = 100
    keyword_scorer: KeywordScorer = KeywordScorer.BM25
    keyword_budget: int = 10_000
    title_scorer: TitleScorer = TitleScorer.COVERAGE


@dataclass(frozen=True, slots=True)
class TermStatistic:
    """A lexeme of the query: in how many chunks it stands, and its idf."""

    lexeme: str
    chunks: int
    idf: float
