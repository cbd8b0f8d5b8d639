"""A parsed question: Query, Classification."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from ingestion.metadata import KEY
from search.domain.signals import Comparison, QueryClass, Weights

# BM25's saturation of a word that the query repeats: twice counts 1.5, often up to k3 + 1 = 3
# (Robertson & Zaragoza 2009). The literature has 7 to 1,000, which is linear; 2 loses least where
# repetition misleads, and gains as much elsewhere (ADR 1).
K3 = 2

_KEY = re.compile(KEY)
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_DAY = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?")


@dataclass(frozen=True, slots=True)
class QueryIdentifier:
    """An identifier in a query: as typed, and its lookup forms with their strengths.

    `loose`: recognised only by the lenient rules for queries (`ros 2`, a bare `0042`).
    """

    text: str
    kind: str
    forms: tuple[tuple[str, float], ...]
    loose: bool = False


def forms_of(identifiers: Iterable[QueryIdentifier]) -> dict[str, float]:
    """The forms of the identifiers in their order, with their best strengths."""
    forms: dict[str, float] = {}
    for identifier in identifiers:
        for form, strength in identifier.forms:
            forms[form] = max(strength, forms.get(form, 0.0))
    return forms


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """A condition on one key of a document's metadata; a list matches if one of its texts does.

    Raises ValueError for a malformed key, and, except for IS, for a value that is
    neither a number nor a day (2026-01-31), month (2026-01) or year.
    """

    key: str
    value: str
    comparison: Comparison = Comparison.IS

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(f"{self.key!r} is not a key of metadata.")
        if self.comparison is not Comparison.IS and not (self.number or self.day):
            raise ValueError(f"{self.value!r} is neither a number nor a date.")

    @property
    def number(self) -> str:
        """The value if it is a number in digits; otherwise empty."""
        return self.value if _NUMBER.fullmatch(self.value) else ""

    @property
    def day(self) -> str:
        """The value if it is a day, a month or a year; otherwise empty."""
        return self.value if _DAY.fullmatch(self.value) else ""

    def __str__(self) -> str:
        """The condition as written in a URL and, after `meta.`, in a query."""
        return f"{self.key}{self.comparison.value}{self.value}"


@dataclass(frozen=True, slots=True)
class QueryFilters:
    """The filters of a query's `field:value` operators; empty fields filter nothing.

    Any of a field's values may match, but all `titles` must. `collections` are slugs
    or names, `media_types` exact, `languages` ISO 639-1 codes, the days inclusive. Of `metadata`
    any of a key's values may match (IS), but every key and every other comparison must.
    """

    titles: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None
    metadata: tuple[MetadataFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class Relative:
    """A synonym or a broader term of a query's word by WordNet; `grade`, in (0, 1], is its worth.

    A word of the query itself would have 1.
    """

    text: str
    grade: float


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed question. `text` is the query without its operators, for every signal.

    `original` is the query as typed; both have their white space collapsed and no control
    characters. Every result contains each of `phrases` and none of `excluded` (of these
    `excluded_exactly` were quoted), matches `filters` and none of `unwanted`. `loose_phrases`
    are phrases whose quotes, and `ignored` words whose hyphen was read as text; `strict` is the
    query with the phrases and exclusions that were relaxed because it found nothing.
    `insists`: the caller wants all of them to bind.
    `is_identifier`: the whole query is one identifier; `asks_for_identifiers`: it asks for the
    identifiers that it names (ADR 2).
    `needs_no_embedding`: one of a form that does not occur in prose, so that its embedding adds
    nothing (ADR 2). `expansions` are the synonyms of its words, `related` their WordNet relatives,
    if that signal runs. `pins` are the documents pinned to it, in order, and `hidden` those that
    administrators hide from it.
    """

    text: str
    identifiers: tuple[QueryIdentifier, ...] = ()
    is_identifier: bool = False
    asks_for_identifiers: bool = False
    needs_no_embedding: bool = False
    original: str = ""
    phrases: tuple[str, ...] = ()
    loose_phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    excluded_exactly: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    strict: Query | None = None
    insists: bool = False
    filters: QueryFilters = QueryFilters()
    unwanted: QueryFilters = QueryFilters()
    expansions: tuple[str, ...] = ()
    related: tuple[Relative, ...] = ()
    pins: tuple[Pinned, ...] = ()
    hidden: frozenset[int] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not self.text

    @property
    def is_quoted(self) -> bool:
        """Whether it consists of phrases only, so that every result contains all its words."""
        return bool(self.phrases) and self.text == " ".join(self.phrases)


@dataclass(frozen=True, slots=True)
class ClassifierRule:
    """One row of the classifier: a pattern or the name of a predicate, never both.

    `pattern` is searched in the query's text, case-insensitively. `examples` are queries
    that the rule must match, `counter_examples` ones that it must not.
    """

    name: str
    query_class: QueryClass
    pattern: str = ""
    predicate: str = ""
    confidence: float = 0.8
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Classification:
    """A query's class and the rule that chose it; `confidence` is the rule's own, in [0, 1].

    `weights`: from a classifier that sets them per query, in place of the class's. `note`: a
    sentence on a classifier that failed, empty otherwise.
    """

    query_class: QueryClass
    rule: str
    confidence: float
    weights: Weights | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class TermStatistic:
    """A lexeme of the query: the number of chunks that contain it, and its idf.

    `times` is the number of its occurrences in the query, under the configuration with the most.
    """

    lexeme: str
    chunks: int
    idf: float
    times: int = 1

    @property
    def weight(self) -> float:
        """The lexeme's weight in the query, in [idf, (k3 + 1) * idf)."""
        return self.idf * self.times * (K3 + 1) / (self.times + K3)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text configuration, with the number of its searched chunks and of the query's words that it
    keeps.

    A configuration drops the stop words of its language.
    """

    config: str
    chunks: int
    words: int


@dataclass(frozen=True, slots=True)
class Pinned:
    """A document pinned to the top for a question. `edit_id` is the edit whose passage is pinned,
    if any.
    """

    document_id: int
    edit_id: int | None = None
