"""W3: what the golden set would measure under other weights: pools -> rankings -> measures.

The rankings are those of a search (`search.engine.rank`), of every query at once: hundreds of
queries of hundreds of candidates in a part of a second (docs/adr/0030-one-ranking-over-columns.md).
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

# What is kept of how profiles retrieve and normalise: the active one's, the draft's, one to spare.
KEPT = 3
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Outcome:
    """Rankings of the cases at `places` under one profile, and what they measure.

    `order` are columns of the sheet, best first; `scores` are by column. `values` are by measure,
    one for each case. `confidence` is NaN where none is known; `tried_again` under which the
    ranking is that of a second try.
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
        """The document that comes first; None where nothing was found."""
        held = self.sheet.batch.prepared[place]
        if not len(held):
            return None
        return int(held.candidates.rows["document"][held.rows[self.order[place, 0]]])

    def means(self, chosen: Sequence[int] | None = None) -> dict[str, float]:
        """Each measure's mean over the cases, or over those chosen; empty for none."""
        if not len(self.places if chosen is None else chosen):
            return {}
        picked = slice(None) if chosen is None else np.array(chosen)
        return {name: float(found[picked].mean()) for name, found in self.values.items()}


class WhatIf:
    """The golden set, pooled. `under` measures it under any profile that the pools cover.

    What it keeps between calls makes a slider's next move the faster; it is no one's state.
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
        """The outcome under the profile; `only` takes the cases at these places."""
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
        """Keeps it: the active profile's is asked for again at every move of the draft."""
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
        """The cases as a search under the profile would find their candidates."""
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
    """What is kept under the key, or now is; the oldest goes when there are too many."""
    while key not in kept and len(kept) >= KEPT:
        kept.pop(next(iter(kept)))
    return kept.setdefault(key, value)
