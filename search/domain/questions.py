"""A question, read: Weights, Query, Classification."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date

from ingestion.metadata import KEY
from search.domain.choices import Comparison, QueryClass, Signal

# Weights arrive as decimals from forms and JSON: a sum is right when it is this near to 1.
SUM_TOLERANCE = 1e-6

_KEY = re.compile(KEY)
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_DAY = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?")


@dataclass(frozen=True, slots=True)
class Weights:
    """Each signal's share of the score. Raises ValueError unless in [0, 1] with the sum 1."""

    vector: float
    keyword: float
    title: float
    recency: float = 0.0
    synonym: float = 0.0

    def __post_init__(self) -> None:
        shares = tuple(self.as_dict().values())
        if not all(math.isfinite(share) and 0 <= share <= 1 for share in shares):
            given = ", ".join(f"{share:g}" for share in shares)
            raise ValueError(f"Each weight must lie between 0 and 1; these are {given}.")
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
class MetadataFilter:
    """A condition on one key of a document's metadata; a list fits if one of its texts does.

    Raises ValueError for a key that no metadata has, and, except for IS, for a value that is
    neither a number nor a day (2026-01-31), month (2026-01) or year.
    """

    key: str
    value: str
    comparison: Comparison = Comparison.IS

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(f"{self.key!r} is not a key of metadata.")
        if self.comparison is not Comparison.IS and not (self.number or self.day):
            raise ValueError(f"{self.value!r} is neither a number nor a day.")

    @property
    def number(self) -> str:
        """The value where it is a number, in digits; otherwise empty."""
        return self.value if _NUMBER.fullmatch(self.value) else ""

    @property
    def day(self) -> str:
        """The value where it is a day, a month or a year; otherwise empty."""
        return self.value if _DAY.fullmatch(self.value) else ""

    def __str__(self) -> str:
        """The condition as an address and, after `meta.`, a query state it."""
        return f"{self.key}{self.comparison.value}{self.value}"


@dataclass(frozen=True, slots=True)
class QueryFilters:
    """What a query's `field:value` operators name; empty fields name nothing.

    Of several values of a field any may fit, but of `titles` each must. `collections` are slugs
    or names, `media_types` exact, `languages` ISO 639-1 codes, the days inclusive. Of `metadata`
    any value of a key may fit (IS); every key and every other comparison must.
    """

    titles: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None
    metadata: tuple[MetadataFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A question, read. `text` is what is asked, without the operators, for every signal.

    `original` is what was typed; both have their white space collapsed and hold no control
    characters. Every result contains each of `phrases` and none of `excluded`, fits `filters`
    and none of `unwanted`. `is_identifier`: the whole query is one identifier.
    `needs_no_embedding`: one of a form that prose has no use for, so that its meaning adds
    nothing (S1-29). `expansions`: what the synonyms of its words say in their place.
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
    expansions: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.text


@dataclass(frozen=True, slots=True)
class Classification:
    """A query's class and the rule that chose it; `confidence` is the rule's own, in [0, 1].

    `weights`: from a classifier that weighs each query by itself, in place of the class's.
    """

    query_class: QueryClass
    rule: str
    confidence: float
    weights: Weights | None = None


@dataclass(frozen=True, slots=True)
class TermStatistic:
    """A lexeme of the query: in how many chunks it stands, and its idf."""

    lexeme: str
    chunks: int
    idf: float


@dataclass(frozen=True, slots=True)
class Reading:
    """A text configuration: in how many searched chunks, and the query's words it keeps.

    A configuration drops the stop words of its language.
    """

    config: str
    chunks: int
    words: int


@dataclass(frozen=True, slots=True)
class Pinned:
    """A document that comes first for a question; with `edit_id`, by the passage that it marks."""

    document_id: int
    edit_id: int | None = None
