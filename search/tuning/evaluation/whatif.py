"""The golden set's measures under other weights: pools -> rankings -> measures.

The rankings are those of a search (`search.engine.ranking`), of every query at once: hundreds
of queries of hundreds of candidates in a fraction of a second (docs/adr/0030-ranking.md).
`measure` gives the measures of `measures`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from django.utils import timezone
from ir_measures import RR, P, R, Success, nDCG

from search.domain import (
    Booleans,
    Candidates,
    Classification,
    Floats,
    Integers,
    Profile,
    QueryClass,
    Signal,
)
from search.engine import Choices
from search.engine.configuration import Configuration
from search.engine.ranking import rank_batch
from search.engine.settle import Settled, classified, settled_as
from search.ranking import Batch, Prepared, ScoredBatch, prepare
from search.ranking.batch import prepared_by

# The discount of a gain at ranks 1 to 10: nDCG@10 as in trec_eval.
DISCOUNTS = 1 / np.log2(np.arange(2, 12))


NDCG, RECALL, RANK, PRECISION, FIRST = map(str, (nDCG @ 10, R @ 10, RR @ 10, P @ 5, Success @ 1))
NAMES = (NDCG, RANK, RECALL, PRECISION, FIRST)
_CUT = len(DISCOUNTS)


@dataclass(frozen=True, eq=False)
class Case:
    """A query with a candidate pool and its judgements: grades by document.

    `query_class`: overrides the classifier's class. `must_be_first` is a document.
    """

    key: str
    pool: Candidates
    grades: Mapping[int, int] = field(default_factory=dict)
    query_class: QueryClass | None = None
    must_be_first: int | None = None

    @cached_property
    def answers(self) -> int:
        """The number of relevant documents, in the pool or not."""
        return sum(grade > 0 for grade in self.grades.values())

    @cached_property
    def ideal(self) -> float:
        """The discounted gain of the ideal ranking of all judged documents, in its first ten."""
        best = sorted(self.grades.values(), reverse=True)[: len(DISCOUNTS)]
        return float((np.array(best, np.float64) * DISCOUNTS[: len(best)]).sum())

    @cached_property
    def gains(self) -> Integers:
        """The grades of the pool's documents, in their order; 0 for those without a judgement."""
        return np.array([self.grades.get(int(pk), 0) for pk in self.pool.documents[0]], np.int64)


@dataclass(frozen=True, eq=False)
class Sheet:
    """A batch of cases, ready to be ranked and measured. `gains` are grades by column."""

    cases: tuple[Case, ...]
    batch: Batch
    gains: Integers

    @classmethod
    def of(cls, cases: Sequence[Case], batch: Batch) -> Sheet:
        gains = np.zeros(batch.valid.shape, np.int64)
        for place, (case, prepared) in enumerate(zip(cases, batch.prepared, strict=True)):
            gains[place, : len(prepared)] = case.gains[prepared.documents]
        return cls(tuple(cases), batch, gains)

    @cached_property
    def answers(self) -> tuple[Floats, Floats]:
        """The number of relevant documents and the ideal gain, by query."""
        counts = np.array([case.answers for case in self.cases], np.float64)
        return counts, np.array([case.ideal for case in self.cases], np.float64)


def measure(sheet: Sheet, order: Integers) -> dict[str, Floats]:
    """Each of NAMES for every query of the sheet; columns in `order` are candidates, best first."""
    ranks, gains = _documents(sheet, order)
    within = np.where(ranks <= _CUT, gains, 0)
    relevant = gains > 0
    answers, ideal = sheet.answers
    at = np.clip(ranks, 1, _CUT) - 1
    gained = (within * DISCOUNTS[at]).sum(axis=1)
    first = np.where(relevant & (ranks <= _CUT), ranks, np.inf).min(axis=1, initial=np.inf)
    return {
        NDCG: _share(gained, ideal),
        RANK: 1 / first,
        RECALL: _share((within > 0).sum(axis=1), answers),
        PRECISION: (relevant & (ranks <= 5)).sum(axis=1) / 5,
        FIRST: (first == 1).astype(np.float64),
    }


def _documents(sheet: Sheet, order: Integers) -> tuple[Integers, Integers]:
    """For each position of the ranking, the rank and the grade of the document first seen there.

    A document counts at the position of its best candidate; elsewhere the rank is past the end.
    """
    queries, width = order.shape
    documents = np.take_along_axis(sheet.batch.documents, order, axis=1)
    valid = np.take_along_axis(sheet.batch.valid, order, axis=1)
    most = int(documents.max(initial=0)) + 1
    # The last column holds the invalid candidates.
    first = np.full((queries, most + 1), width, np.int64)
    cells = np.where(valid, documents, most) + np.arange(queries)[:, None] * (most + 1)
    np.minimum.at(first.reshape(-1), cells.reshape(-1), np.tile(np.arange(width), queries))
    leads = valid & (np.take_along_axis(first, documents, axis=1) == np.arange(width))
    ranks = np.where(leads, np.cumsum(leads, axis=1), np.iinfo(np.int64).max)
    gains = np.where(leads, np.take_along_axis(sheet.gains, order, axis=1), 0)
    return ranks, gains


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


# Entries per cache: the active profile's, the draft's and a spare one.
MAX_CACHED = 3
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class WhatIfResult:
    """Rankings of the cases at `places` under one profile, and their measures.

    `order` are columns of the sheet, best first; `scores` are by column. `values` are by measure,
    one for each case. `unread` is set if a first result lacks the strength that the reranker gives
    it live.
    """

    places: tuple[int, ...]
    sheet: Sheet
    settled: tuple[Settled, ...]
    order: Integers
    scores: Floats
    confidence: Floats
    unread: Booleans
    values: Mapping[str, Floats]

    def ranking(self, place: int) -> list[tuple[int, float]]:
        """The chunks of one case with their scores, best first."""
        prepared = self.sheet.batch.prepared[place]
        columns = self.order[place, : len(prepared)]
        chunks = prepared.candidates.rows["chunk"][prepared.rows[columns]].tolist()
        return list(zip(chunks, self.scores[place, columns].tolist(), strict=True))

    def first_document(self, place: int) -> int | None:
        """The first document; None without results."""
        prepared = self.sheet.batch.prepared[place]
        if not len(prepared):
            return None
        return int(prepared.candidates.rows["document"][prepared.rows[self.order[place, 0]]])

    def means(self, chosen: Sequence[int] | None = None) -> dict[str, float]:
        """Each measure's mean over the cases, or over those chosen; empty without any."""
        if not len(self.places if chosen is None else chosen):
            return {}
        picked = slice(None) if chosen is None else np.array(chosen)
        return {name: float(values[picked].mean()) for name, values in self.values.items()}


class WhatIf:
    """The pooled golden set. `under` measures it under any profile that the pools cover.

    What it caches between calls speeds up the next move of a slider; callers never depend on it.
    """

    def __init__(self, cases: Sequence[Case], configured: Configuration) -> None:
        self.cases = tuple(cases)
        self._configured = configured
        self._classes: dict[object, list[Classification]] = {}
        self._prepared: dict[object, dict[tuple[int, frozenset[Signal]], Prepared]] = {}
        self._sheets: dict[object, Sheet] = {}
        self._outcomes: list[tuple[Profile, WhatIfResult]] = []
        self._lock = threading.Lock()

    def under(self, profile: Profile, only: Sequence[int] | None = None) -> WhatIfResult:
        """The outcome under the profile, or that of the cases at the places `only`."""
        if only is not None:
            return self._under(profile, tuple(only))
        for cached, outcome in self._outcomes:
            if cached == profile:
                self._remember(profile, outcome)
                return outcome
        outcome = self._under(profile, tuple(range(len(self.cases))))
        self._remember(profile, outcome)
        return outcome

    def _remember(self, profile: Profile, outcome: WhatIfResult) -> None:
        """Cache the outcome: each change of the draft needs the active profile's outcome again."""
        others = [pair for pair in self._outcomes if pair[1] is not outcome]
        self._outcomes = [*others[1 - MAX_CACHED :], (profile, outcome)]

    def _under(self, profile: Profile, places: tuple[int, ...]) -> WhatIfResult:
        classes = self.classes(profile)
        settled = [
            settled_as(classes[place], self.cases[place].pool.query, profile) for place in places
        ]
        with self._lock:
            sheet = self._sheet(places, settled, profile)
        confident = profile.confidence_threshold > 0
        result = rank_batch(sheet.batch, settled, self._configured, profile, confident=confident)
        return WhatIfResult(
            places,
            sheet,
            result.settled,
            result.ranked.order,
            result.ranked.scores,
            result.confidence,
            _unread(result.ranked),
            measure(sheet, result.ranked.order),
        )

    def classes(self, profile: Profile) -> list[Classification]:
        """The class that the profile gives each case."""
        key = (profile.classifier, profile.bypass)
        if key in self._classes:
            return self._classes[key]
        classes = [
            classified(
                case.pool.query, self._configured, profile, Choices(query_class=case.query_class)
            )
            for case in self.cases
        ]
        # A classifier that failed may answer the next time.
        if not any(each.note for each in classes):
            self._classes[key] = classes
        return classes

    def _sheet(
        self, places: tuple[int, ...], settled: Sequence[Settled], profile: Profile
    ) -> Sheet:
        """The cases with the candidates that a search under the profile would retrieve."""
        kind = prepared_by(profile)
        key = (kind, places, tuple(each.signals for each in settled))
        if key not in self._sheets:
            sheets = _room(self._prepared, kind, {})
            now, scale = timezone.now(), self._configured.cosine_scale
            for place, each in zip(places, settled, strict=True):
                if (place, each.signals) not in sheets:
                    pool = self.cases[place].pool
                    sheets[place, each.signals] = prepare(pool, profile, each.signals, now, scale)
            batch = Batch.of(
                [sheets[place, each.signals] for place, each in zip(places, settled, strict=True)]
            )
            _room(self._sheets, key, Sheet.of([self.cases[place] for place in places], batch))
        return self._sheets[key]


def _unread(ranked: ScoredBatch) -> Booleans:
    """Whether each query has a first result that the profile's reranker has not read."""
    unread = np.zeros(len(ranked.batch.prepared), np.bool_)
    for place, prepared in enumerate(ranked.batch.prepared if ranked.profile.rerank else ()):
        reranking = ranked.rerankings.get(place)
        unread[place] = len(prepared) and (
            reranking is None or (reranking.first > reranking.read).any()
        )
    return unread


def _room(cache: dict[object, Value], key: object, value: Value) -> Value:
    """The value cached under the key, else `value`, which is then cached; the oldest entry is
    evicted.
    """
    while key not in cache and len(cache) >= MAX_CACHED:
        cache.pop(next(iter(cache)))
    return cache.setdefault(key, value)
