"""W3: many pools as one sheet of arrays: a row a query, a column a candidate.

What no weight changes is computed here once, by the functions that rank a search: which
candidates a search would have found, and their strengths. The columns stand in the order that
decides between equal scores, so that a stable sort by score is the ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from search.domain import Profile, QueryClass, Signal
from search.engine.found import Reach, recency_of
from search.ranking import RankingOptions, identifiers_lead
from search.ranking.fusion import ALWAYS_FIND, strengths_of
from search.tuning.evaluation.pooled import ABSENT, FINDERS, SIGNALS, Pool

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

KEYWORD = SIGNALS.index(Signal.KEYWORD)
# What a grade is worth at ranks 1 to 10: nDCG@10 as trec_eval has it.
DISCOUNTS = 1 / np.log2(np.arange(2, 12))
# Before these stand pins and identifiers; the larger is what only one of two signals found.
PLAIN, SECOND, BEYOND = 1_000_000, 1_000_001, 1_000_002


@dataclass(frozen=True, eq=False)
class Case:
    """A query whose candidates are pooled, and what answers it: grades by document.

    `query_class`: the class to take in place of the classifier's. `must_be_first` is a document.
    """

    key: str
    pool: Pool
    grades: Mapping[int, int] = field(default_factory=dict)
    query_class: QueryClass | None = None
    must_be_first: int | None = None
    _near: Mapping[int, frozenset[int]] | None = field(default=None, init=False, repr=False)

    @cached_property
    def leads(self) -> bool:
        return identifiers_lead(self.pool.query, self.pool.terms)

    @cached_property
    def documents(self) -> tuple[Integers, Integers]:
        """The documents, each once, and each candidate's as a place among them."""
        found, places = np.unique(self.pool.rows["document"], return_inverse=True)
        return found, places

    @cached_property
    def tiers(self) -> Integers:
        """Each candidate's place before any score, as `ranking.tiers` orders them; else PLAIN."""
        rows = self.pool.rows
        tiers = np.full(len(rows), PLAIN, np.int64)
        if self.leads and (held := rows["form"] != ABSENT).any():
            orders = [(-float(r["strength"]), int(r["held_at"])) for r in rows[held]]
            ranks = {order: place for place, order in enumerate(sorted(set(orders)))}
            tiers[held] = [ranks[order] for order in orders]
        return tiers

    def near(self, max_distance: int) -> Mapping[int, frozenset[int]]:
        """For each row that has near-duplicates which, whatever their documents."""
        if self._near is None:
            object.__setattr__(self, "_near", _near_duplicates(self.pool, max_distance))
        return self._near or {}

    @cached_property
    def norms(self) -> Floats:
        """The lengths of the candidates' embeddings."""
        if self.pool.embeddings is None:
            return np.zeros(0)
        lengths = np.linalg.norm(self.pool.embeddings.astype(np.float64), axis=1)
        bounded: Floats = np.maximum(lengths, np.finfo(np.float64).tiny)
        return bounded

    @cached_property
    def answers(self) -> int:
        """How many documents answer it, found or not."""
        return sum(grade > 0 for grade in self.grades.values())

    @cached_property
    def ideal(self) -> float:
        """What the best ranking of all judged documents gains in its first ten."""
        best = sorted(self.grades.values(), reverse=True)[: len(DISCOUNTS)]
        return float((np.array(best, np.float64) * DISCOUNTS[: len(best)]).sum())

    @cached_property
    def gains(self) -> Integers:
        """The grades of `documents`, in their order; 0 for those that nobody judged."""
        return np.array([self.grades.get(int(pk), 0) for pk in self.documents[0]], np.int64)


def _near_duplicates(pool: Pool, max_distance: int) -> dict[int, frozenset[int]]:
    signed = np.flatnonzero(pool.rows["signed"])
    # Of a negative number numpy counts the magnitude's bits.
    signatures = np.ascontiguousarray(pool.rows["signature"][signed]).view(np.uint64)
    distances = np.bitwise_count(signatures[:, None] ^ signatures[None, :])
    alike = distances <= max_distance
    np.fill_diagonal(alike, val=False)
    return {
        int(signed[place]): frozenset(signed[alike[place]].tolist())
        for place in np.flatnonzero(alike.any(axis=1))
    }


@dataclass(frozen=True, eq=False)
class Shape:
    """One query's candidates as a search under some profile finds them, whatever its weights.

    `rows` point into the pool, in the sheet's order. `strengths` and `finds` have a column for
    each signal; `finds` says whether the signal found the candidate at all.
    """

    case: Case
    rows: Integers
    strengths: Floats
    finds: Booleans
    by_meaning: bool

    @cached_property
    def embedded(self) -> Booleans:
        """Whether each candidate has an embedding that counts."""
        held: Booleans = self.case.pool.rows["embedded"][self.rows] & self.by_meaning
        return held

    @cached_property
    def embedding_rows(self) -> Integers:
        """Where each candidate's embedding stands among the pool's."""
        places = np.cumsum(self.case.pool.rows["embedded"]) - 1
        return places[self.rows].astype(np.int64)


def shape(
    case: Case, profile: Profile, options: RankingOptions, signals: frozenset[Signal]
) -> Shape:
    """The query's candidates as a search under the profile finds them with these signals."""
    rows = case.pool.rows
    kept = np.flatnonzero(_brought(rows["places"], Reach(profile.depth, signals)))
    raw = rows["raw"][kept].copy()
    raw[:, [i for i, signal in enumerate(SIGNALS) if signal not in signals]] = np.nan
    if Signal.RECENCY in signals:
        fade = recency_of(case.pool.without_candidates(), profile)
        recency = raw[:, SIGNALS.index(Signal.RECENCY)]
        recency[:] = [fade.of(wide) if wide > 0 else wide for wide in recency.tolist()]
    strengths = np.zeros_like(raw)
    for i, signal in enumerate(SIGNALS):
        if signal in signals:
            column = [None if score != score else score for score in raw[:, i].tolist()]
            strengths[:, i] = strengths_of(column, signal, options)
    known = np.nan_to_num(raw)
    finds = (strengths > 0) & ((known > 0) | _ALWAYS)
    order = np.lexsort((kept, -known[:, KEYWORD]))
    return Shape(
        case,
        kept[order],
        strengths[order],
        finds[order],
        case.pool.by_meaning and Signal.VECTOR in signals,
    )


_ALWAYS = np.array([signal in ALWAYS_FIND for signal in SIGNALS])


def _brought(places: npt.NDArray[Any], bounds: Reach) -> Booleans:
    limits = np.array([bounds.limit(finder) for finder in FINDERS])
    return np.asarray(((places > 0) & (places <= limits)).any(axis=1))


@dataclass(frozen=True, eq=False)
class Sheet:
    """The shapes of many queries side by side; beyond a query's candidates `valid` is false.

    `strengths` and `finds` are an array for each signal. `documents` are places among a query's
    own (`Case.documents`), `counts` what each boost found by its `sought` name.
    """

    shapes: tuple[Shape, ...]
    valid: Booleans
    rows: Integers
    strengths: tuple[Floats, ...]
    finds: tuple[Booleans, ...]
    tiers: Integers
    holders: Booleans
    documents: Integers
    chunks: Integers
    gains: Integers
    pinned: Booleans
    counts: Mapping[str, Integers]

    def only(self, places: Sequence[int]) -> Sheet:
        """The sheet of the queries at these places."""
        return Sheet.of([self.shapes[place] for place in places])

    @classmethod
    def of(cls, shapes: Sequence[Shape]) -> Sheet:
        size = (len(shapes), max((len(each.rows) for each in shapes), default=0) or 1)
        sought = {name for each in shapes for name in each.case.pool.boosts}
        sheet = cls(
            tuple(shapes),
            np.zeros(size, np.bool_),
            np.zeros(size, np.int64),
            tuple(np.zeros(size) for _ in SIGNALS),
            tuple(np.zeros(size, np.bool_) for _ in SIGNALS),
            np.full(size, BEYOND, np.int64),
            np.zeros(size, np.bool_),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(len(shapes), np.bool_),
            {name: np.zeros(size, np.int64) for name in sought},
        )
        for place, each in enumerate(shapes):
            sheet._write(place, each)
        return sheet

    def _write(self, place: int, shape: Shape) -> None:
        case, kept, count = shape.case, shape.rows, len(shape.rows)
        rows = case.pool.rows[kept]
        self.valid[place, :count] = True
        self.rows[place, :count] = kept
        for i in range(len(SIGNALS)):
            self.strengths[i][place, :count] = shape.strengths[:, i]
            self.finds[i][place, :count] = shape.finds[:, i]
        self.tiers[place, :count] = case.tiers[kept]
        if not case.leads:
            self.holders[place, :count] = rows["form"] != ABSENT
        self.documents[place, :count] = case.documents[1][kept]
        self.chunks[place, :count] = rows["chunk"]
        self.gains[place, :count] = case.gains[case.documents[1][kept]]
        self.pinned[place] = (rows["pin"] != ABSENT).any()
        for i, name in enumerate(case.pool.boosts):
            self.counts[name][place, :count] = rows["counts"][:, i]
