"""W3: what the golden set would measure under other weights: pools -> rankings -> measures.

The ranking of `weighing.weigh` over arrays, every query at once: hundreds of queries of hundreds
of candidates in a part of a second. That both rank alike, to the last bit of a score, is a law
that the tests hold (docs/adr/0025-pools-and-what-if.md).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from search.domain import Classification, Profile, QueryClass, Signal
from search.engine.configuration import Configuration
from search.engine.request import Choices
from search.engine.second_try import is_low
from search.engine.settle import (
    Understood,
    classified,
    leaning,
    options_for,
    settled,
    signals_for,
)
from search.ranking.confidence import confidence, shifted
from search.tuning.evaluation import arraymeasures
from search.tuning.evaluation.arrayranking import Ranked, rank_sheet
from search.tuning.evaluation.leading import leading_hits
from search.tuning.evaluation.sheet import Booleans, Case, Floats, Integers, Shape, Sheet, shape

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
    understood: tuple[Understood, ...]
    order: Integers
    scores: Floats
    confidence: Floats
    tried_again: Booleans
    values: Mapping[str, Floats]

    def ranking(self, place: int) -> list[tuple[int, float]]:
        """The chunks of one case with their scores, best first."""
        columns = self.order[place, : len(self.sheet.shapes[place].rows)]
        chunks = self.sheet.chunks[place, columns].tolist()
        return list(zip(chunks, self.scores[place, columns].tolist(), strict=True))

    def first_document(self, place: int) -> int | None:
        """The document that comes first; None where nothing was found."""
        held = self.sheet.shapes[place]
        if not len(held.rows):
            return None
        return int(held.case.pool.rows["document"][held.rows[self.order[place, 0]]])

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
        self._found = tuple(case.pool.without_candidates() for case in self.cases)
        self._configured = configured
        self._classes: dict[object, list[Classification]] = {}
        self._shapes: dict[object, dict[tuple[int, frozenset[Signal]], Shape]] = {}
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
        at_first = [settled(classes[place], profile, Choices()) for place in places]
        with self._lock:
            sheet = self._sheet(places, at_first, profile)
        understood = [
            leaning(each, self._found[place], self._configured) if held.by_meaning else each
            for each, place, held in zip(at_first, places, sheet.shapes, strict=True)
        ]
        weights = [each.weights for each in understood]
        ranked = rank_sheet(sheet, weights, _classes_of(understood), profile)
        # Where the model does not know the language, the vectors say nothing of how sure it is.
        means = [
            held.by_meaning and before is after
            for held, before, after in zip(sheet.shapes, at_first, understood, strict=True)
        ]
        sure = self._sureness(sheet, ranked, profile, means)
        again = self._second_try(sheet, ranked, sure, understood, profile, means)
        values = arraymeasures.measure(sheet, ranked.order)
        return Outcome(
            places, sheet, tuple(understood), ranked.order, ranked.scores, sure, again, values
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

    # --- what a search would have found -------------------------------------------------------

    def _sheet(
        self, places: tuple[int, ...], understood: Sequence[Understood], profile: Profile
    ) -> Sheet:
        signals = [
            signals_for(self.cases[place].pool.query, each)
            for place, each in zip(places, understood, strict=True)
        ]
        kind = _kind(profile)
        key = (kind, places, tuple(signals))
        if key not in self._sheets:
            held = _room(self._shapes, kind, {})
            shapes = []
            for place, each, running in zip(places, understood, signals, strict=True):
                case = self.cases[place]
                if (place, running) not in held:
                    options = options_for(each, case.pool.query, case.pool.terms)
                    held[place, running] = shape(case, profile, options, running)
                shapes.append(held[place, running])
            _room(self._sheets, key, Sheet.of(shapes))
        return self._sheets[key]

    # --- how sure it is, and the second try that follows --------------------------------------

    def _sureness(
        self, sheet: Sheet, ranked: Ranked, profile: Profile, means: Sequence[bool]
    ) -> Floats:
        """The confidence of each ranking; NaN where none is known or nobody asks."""
        calibration = self._configured.calibration
        if calibration is None or not profile.confidence_threshold:
            return np.full(len(sheet.shapes), np.nan)
        found = (
            confidence(
                leading_hits(held, ranked.order[place, : len(held.rows)]),
                held.case.pool.query,
                held.case.pool.terms,
                calibration,
                scorer=profile.keyword_scorer,
                by_meaning=means[place],
            )
            for place, held in enumerate(sheet.shapes)
        )
        return np.array([np.nan if each is None else each for each in found])

    def _second_try(
        self,
        sheet: Sheet,
        ranked: Ranked,
        sure: Floats,
        understood: list[Understood],
        profile: Profile,
        means: Sequence[bool],
    ) -> Booleans:
        """Puts surer rankings under shifted weights where `second_try.surest` would."""
        again = np.zeros(len(sheet.shapes), np.bool_)
        others = [
            shifted(each.weights) if means[place] and is_low(_known(sure[place]), profile) else None
            for place, each in enumerate(understood)
        ]
        chosen = [place for place, other in enumerate(others) if other is not None]
        if not chosen:
            return again
        part = sheet.only(chosen)
        weights = [other for other in others if other is not None]
        classes = _classes_of([understood[place] for place in chosen])
        second = rank_sheet(part, weights, classes, profile)
        surer = self._sureness(part, second, profile, [means[place] for place in chosen])
        width = second.order.shape[1]
        for i, place in enumerate(chosen):
            if surer[i] > sure[place]:
                again[place] = True
                ranked.order[place, :width] = second.order[i]
                ranked.scores[place, :width] = second.scores[i]
                sure[place] = surer[i]
        return again


def _kind(profile: Profile) -> object:
    """All of the profile that decides which candidates there are, and their strengths."""
    return (
        profile.depth,
        profile.fusion,
        tuple(sorted(profile.normalisers.items())),
        profile.rrf_k,
        profile.own_candidates_only,
        profile.recency_half_life,
    )


def _room(kept: dict[object, Value], key: object, value: Value) -> Value:
    """What is kept under the key, or now is; the oldest goes when there are too many."""
    while key not in kept and len(kept) >= KEPT:
        kept.pop(next(iter(kept)))
    return kept.setdefault(key, value)


def _classes_of(understood: Sequence[Understood]) -> list[QueryClass]:
    return [each.classification.query_class for each in understood]


def _known(sure: float) -> float | None:
    return None if np.isnan(sure) else float(sure)
