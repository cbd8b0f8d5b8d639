"""The golden set's measures under other weights: pools -> rankings -> measures.

The rankings are those of a search (`search.engine.rank`), of every query at once: hundreds of
queries of hundreds of candidates in a fraction of a second
(docs/adr/0030-one-ranking-over-columns.md).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from django.utils import timezone

from search.domain import Booleans, Classification, Floats, Integers, Profile, Signal
from search.engine.configuration import Configuration
from search.engine.rank import rankings
from search.engine.request import Choices
from search.engine.settle import Settled, classified, settled_as
from search.ranking import Batch, Prepared, prepare
from search.ranking.batch import prepared_by
from search.tuning.evaluation import arraymeasures
from search.tuning.evaluation.sheet import Case, Sheet

__all__ = ["Case", "Outcome", "WhatIf"]

# Entries per cache: the active profile's, the draft's and a spare one.
KEPT = 3
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Outcome:
    """Rankings of the cases at `places` under one profile, and their measures.

    `order` are columns of the sheet, best first; `scores` are by column. `values` are by measure,
    one for each case. `confidence` is NaN if unknown; `tried_again` is set if the ranking is the
    fallback ranking.
    """

    places: tuple[int, ...]
    sheet: Sheet
    settled: tuple[Settled, ...]
    order: Integers
    scores: Floats
    confidence: Floats
    tried_again: Booleans
    values: Mapping[str, Floats]

    def ranking(self, place: int) -> list[tuple[int, float]]:
        """The chunks of one case with their scores, best first."""
        held = self.sheet.batch.prepared[place]
        columns = self.order[place, : len(held)]
        chunks = held.candidates.rows["chunk"][held.rows[columns]].tolist()
        return list(zip(chunks, self.scores[place, columns].tolist(), strict=True))

    def first_document(self, place: int) -> int | None:
        """The first document; None without results."""
        held = self.sheet.batch.prepared[place]
        if not len(held):
            return None
        return int(held.candidates.rows["document"][held.rows[self.order[place, 0]]])

    def means(self, chosen: Sequence[int] | None = None) -> dict[str, float]:
        """Each measure's mean over the cases, or over those chosen; empty without any."""
        if not len(self.places if chosen is None else chosen):
            return {}
        picked = slice(None) if chosen is None else np.array(chosen)
        return {name: float(found[picked].mean()) for name, found in self.values.items()}


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
        self._outcomes: list[tuple[Profile, Outcome]] = []
        self._lock = threading.Lock()

    def under(self, profile: Profile, only: Sequence[int] | None = None) -> Outcome:
        """The outcome under the profile; `only` restricts it to the cases at these places."""
        if only is not None:
            return self._under(profile, tuple(only))
        for held, outcome in self._outcomes:
            if held == profile:
                self._remember(profile, outcome)
                return outcome
        outcome = self._under(profile, tuple(range(len(self.cases))))
        self._remember(profile, outcome)
        return outcome

    def _remember(self, profile: Profile, outcome: Outcome) -> None:
        """Cache the outcome: every move of the draft asks for the active profile's again."""
        others = [pair for pair in self._outcomes if pair[1] is not outcome]
        self._outcomes = [*others[1 - KEPT :], (profile, outcome)]

    def _under(self, profile: Profile, places: tuple[int, ...]) -> Outcome:
        classes = self.classes(profile)
        settled = [
            settled_as(classes[place], self.cases[place].pool.query, self._configured, profile)
            for place in places
        ]
        with self._lock:
            sheet = self._sheet(places, settled, profile)
        found = rankings(sheet.batch, settled, self._configured, profile)
        again = np.zeros(len(places), np.bool_)
        again[list(found.second_tries)] = True
        return Outcome(
            places,
            sheet,
            found.settled,
            found.ranked.order,
            found.ranked.scores,
            found.confidence,
            again,
            arraymeasures.measure(sheet, found.ranked.order),
        )

    def classes(self, profile: Profile) -> list[Classification]:
        """How the profile classifies each case."""
        key = (profile.classifier, profile.bypass)
        if key not in self._classes:
            self._classes[key] = [
                classified(
                    case.pool.query,
                    self._configured,
                    profile,
                    Choices(query_class=case.query_class),
                )
                for case in self.cases
            ]
        return self._classes[key]

    def _sheet(
        self, places: tuple[int, ...], settled: Sequence[Settled], profile: Profile
    ) -> Sheet:
        """The cases with the candidates that a search under the profile would retrieve."""
        kind = prepared_by(profile)
        key = (kind, places, tuple(each.signals for each in settled))
        if key not in self._sheets:
            held = _room(self._prepared, kind, {})
            now = timezone.now()
            for place, each in zip(places, settled, strict=True):
                if (place, each.signals) not in held:
                    pool = self.cases[place].pool
                    held[place, each.signals] = prepare(pool, profile, each.signals, now)
            batch = Batch.of(
                [held[place, each.signals] for place, each in zip(places, settled, strict=True)]
            )
            _room(self._sheets, key, Sheet.of([self.cases[place] for place in places], batch))
        return self._sheets[key]


def _room(kept: dict[object, Value], key: object, value: Value) -> Value:
    """The value cached under the key, or `value`, then cached; the oldest entry is evicted."""
    while key not in kept and len(kept) >= KEPT:
        kept.pop(next(iter(kept)))
    return kept.setdefault(key, value)
