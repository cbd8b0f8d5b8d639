"""How a search ranks: Profile and Boost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from search.domain.choices import (
    Classifier,
    Fusion,
    KeywordScorer,
    Normaliser,
    QueryClass,
    Signal,
    TitleScorer,
)
from search.domain.questions import Weights


@dataclass(frozen=True, slots=True)
class Boost:
    """A change of the score for what a chunk's text holds or what kind of chunk it is.

    `anchor` is a regular expression for the query: each different text that it matches (its first
    group, if it has one) is an anchor, and the boost counts once for each that the chunk holds.
    `pattern` is searched in the chunk, with regard to case; `{anchor}` in it stands for the
    anchor. Without a pattern the anchor itself is searched; without an anchor the pattern counts
    once. `kinds` are kinds of chunks ("code", "table"); empty: any. `amount` is a factor
    (neutral: 1) or a term (neutral: 0). `query_class`: only for its queries.
    """

    name: str
    amount: float
    multiply: bool = True
    anchor: str = ""
    pattern: str = ""
    kinds: tuple[str, ...] = ()
    query_class: QueryClass | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """One version of the ranking, as a search uses it: a snapshot of a SearchProfile row.

    `depth` is the number of candidates each signal brings. `keyword_budget`: at most so many
    chunks are scored by keywords (`retrieval.pruning`). `own_candidates_only`: a signal counts
    only for those that it brought. `bypass` is a regular expression: queries that it matches go
    to the keywords alone. `feedback` is the share of the best score that likeness to the first
    results is worth; 0 for none. `recency_half_life` is in days. Below `confidence_threshold`, in
    [0, 1], a search says that it may not have found the answer; 0 for never. Raises
    ValueError for a constant that makes no sense.
    """

    name: str
    version: int
    weights: Mapping[QueryClass, Weights]
    classifier: Classifier = Classifier.RULES
    bypass: str = ""
    fusion: Fusion = Fusion.LINEAR
    normalisers: Mapping[Signal, Normaliser] = field(default_factory=dict)
    rrf_k: int = 60
    both_factor: float = 1.0
    both_first: bool = False
    own_candidates_only: bool = False
    boosts: tuple[Boost, ...] = ()
    feedback: float = 0.0
    depth: int = 100
    keyword_scorer: KeywordScorer = KeywordScorer.BM25
    keyword_budget: int = 20_000
    title_scorer: TitleScorer = TitleScorer.COVERAGE
    recency_half_life: int = 365
    confidence_threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.rrf_k < 1:
            raise ValueError(f"RRF's constant must be 1 or more, not {self.rrf_k}.")
        if self.both_factor < 1:
            raise ValueError(
                f"What both signals found cannot count for less: {self.both_factor} is below 1."
            )
        if not 0 <= self.feedback < math.inf:
            raise ValueError(f"Feedback must weigh 0 or more, not {self.feedback}.")
        if self.depth < 1:
            raise ValueError(f"A signal must bring 1 candidate or more, not {self.depth}.")
