"""Profile and Boost, which configure ranking; and the arms of a running experiment."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

from search.domain.signals import (
    NORMALISED,
    Classifier,
    Fusion,
    KeywordScorer,
    Normaliser,
    QueryClass,
    Signal,
    TitleScorer,
    Weights,
)

# IndexFoundry's codes and quoted words, as one expression, so that a code in quotes counts once. A
# quoted string is recognised by its closing quote, which an even number of quotes must follow.
QUOTES_AND_CODES = (
    r"\b[A-Z]\d{1,3}\b|\b[A-Z]{2,3}\d{1,4}\b|\b\d{3,}\b"
    r'|(?<=")[^"]+(?="(?:[^"]*"[^"]*")*[^"]*$)'
)


@dataclass(frozen=True, slots=True)
class Boost:
    """A change of the score for a chunk's text or kind.

    `anchor` is a regular expression for the query: each distinct text that it matches (its first
    group, if it has one) is an anchor, and the boost counts once for each that the chunk contains.
    `pattern` is searched in the chunk, case-sensitively; `{anchor}` in it is replaced by the
    anchor. Without a pattern the anchor itself is searched; without an anchor the pattern counts
    once. `kinds` are kinds of chunks ("code", "table"); empty: any. `shorter_than`: restricts it to
    chunks of fewer characters below a heading, in documents of several chunks; 0: any length.
    `amount` is a factor (neutral: 1) or a term (neutral: 0). `query_class`: restricts it to queries
    of that class.
    """

    name: str
    amount: float
    multiply: bool = True
    anchor: str = ""
    pattern: str = ""
    kinds: tuple[str, ...] = ()
    query_class: QueryClass | None = None
    shorter_than: int = 0


class About(StrEnum):
    """The subject of a profile's knob, by which forms group the knobs."""

    READING = "reading"
    COMBINING = "combining"
    LIFTING = "lifting"
    LOOKING = "looking"


_READING = {"about": About.READING}
_COMBINING = {"about": About.COMBINING}
_LIFTING = {"about": About.LIFTING}
_LOOKING = {"about": About.LOOKING}


@dataclass(frozen=True, slots=True)
class Profile:
    """One version of the ranking, as a search uses it: a snapshot of a SearchProfile row.

    Every field after `weights` is a knob. SearchProfile has a column of the same name for each;
    forms, the API, drafts and differences iterate over the knobs.

    `depth` is the number of candidates each signal generates. `keyword_budget` is the maximum of
    chunks scored by keywords (`signals.pruning`). `own_candidates_only`: a signal scores only the
    candidates that it generated. `bypass` is a regular expression: queries that match it use
    keywords alone. `vector_candidates_only`: only the vector signal generates candidates, besides
    identifiers and pins; the others score them. `short_lean`, in [0, 1], is the share of the
    keywords' weight that moves to meaning for a query of few words whose nearest passage is far
    ahead (`ranking.batch`). `language_lean`: in a language that the model does not know keywords
    count for more, and passages in another language than the query are ranked by meaning alone.
    `wordnet_cap`, in [0, 1], is the most that WordNet may
    weigh if its weight depends on the query; 0 if it does not (`parts.wordnet`). `feedback` is the
    weight of relevance feedback as a share of the best score; 0 for none. `rerank`, in [0, 1], is
    the reranker's share of the first results' scores; 0 for none (`ranking.rerank`).
    `recency_half_life` is in days. Below `confidence_threshold`, in [0, 1], a search warns that it
    may not have found the answer; 0 for never. Raises ValueError for a constant out of range.
    """

    name: str
    version: int
    weights: Mapping[QueryClass, Weights]
    classifier: Classifier = field(default=Classifier.RULES, metadata=_READING)
    bypass: str = field(default="", metadata=_READING)
    fusion: Fusion = field(default=Fusion.LINEAR, metadata=_COMBINING)
    normalisers: Mapping[Signal, Normaliser] = field(default_factory=dict, metadata=_COMBINING)
    rrf_k: int = field(default=60, metadata=_COMBINING)
    both_factor: float = field(default=1.0, metadata=_COMBINING)
    both_first: bool = field(default=False, metadata=_COMBINING)
    own_candidates_only: bool = field(default=False, metadata=_COMBINING)
    short_lean: float = field(default=0.0, metadata=_COMBINING)
    language_lean: bool = field(default=False, metadata=_COMBINING)
    wordnet_cap: float = field(default=0.0, metadata=_COMBINING)
    boosts: tuple[Boost, ...] = field(default=(), metadata=_LIFTING)
    feedback: float = field(default=0.0, metadata=_LIFTING)
    rerank: float = field(default=0.0, metadata=_LIFTING)
    recency_half_life: int = field(default=365, metadata=_LIFTING)
    confidence_threshold: float = field(default=0.0, metadata=_LIFTING)
    depth: int = field(default=100, metadata=_LOOKING)
    vector_candidates_only: bool = field(default=False, metadata=_LOOKING)
    keyword_scorer: KeywordScorer = field(default=KeywordScorer.BM25, metadata=_LOOKING)
    keyword_budget: int = field(default=20_000, metadata=_LOOKING)
    title_scorer: TitleScorer = field(default=TitleScorer.COVERAGE, metadata=_LOOKING)

    def __post_init__(self) -> None:
        for name, least, most, must in (
            ("rrf_k", 1, math.inf, "RRF's constant must be 1 or more"),
            ("both_factor", 1, math.inf, "The factor for both signals must be 1 or more"),
            ("short_lean", 0, 1, "The lean of short queries must lie in [0, 1]"),
            ("wordnet_cap", 0, 1, "The cap of WordNet's weight must lie in [0, 1]"),
            ("feedback", 0, sys.float_info.max, "The weight of feedback must be 0 or more"),
            ("rerank", 0, 1, "The reranker's share must lie in [0, 1]"),
            ("depth", 1, math.inf, "The depth must be 1 candidate or more"),
        ):
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{must}, not {getattr(self, name)}.")


def columns_of(name: str) -> tuple[str, ...]:
    """The columns of the knob of this name: one, except for the normalisers."""
    if name == "normalisers":
        return tuple(f"{signal.value}_normaliser" for signal in NORMALISED)
    return (name,)


KNOBS = tuple(each for each in fields(Profile) if "about" in each.metadata)
COLUMNS = tuple(column for each in KNOBS for column in columns_of(each.name))
"""The columns of all knobs, in the order of a profile's fields."""


def columns_about(*groups: About) -> tuple[str, ...]:
    """The columns of the knobs in any of these groups."""
    names = (each.name for each in KNOBS if each.metadata["about"] in groups)
    return tuple(column for name in names for column in columns_of(name))


@dataclass(frozen=True, slots=True)
class RunningExperiment:
    """The running experiment: its two profiles, and which visitors take part."""

    pk: int
    salt: str
    share: float
    a: Profile
    b: Profile


@dataclass(frozen=True, slots=True)
class Trial:
    """A search's part in an experiment: it presents the rankings of both profiles interleaved."""

    experiment: int
    profiles: tuple[Profile, ...]
