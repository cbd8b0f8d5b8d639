"""The active profile and a draft over the pooled golden set: the changes, query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingestion.models.visibility import Viewer
from search.domain import Profile, QueryClass
from search.tuning.candidate_pools import Coverage, pooled
from search.tuning.evaluation import measures
from search.tuning.evaluation.golden_set import Golden, golden_set
from search.tuning.evaluation.library_stamp import corpus_stamp
from search.tuning.evaluation.measures import LEADING, Interval
from search.tuning.evaluation.whatif import WhatIfResult
from search.tuning.gate import MOVED
from search.tuning.models import GoldenQuery


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one golden query. `first_broken`: its must-be-first document was first."""

    golden: Golden
    query_class: QueryClass
    before: float
    after: float
    first_broken: bool = False

    @property
    def difference(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One measure under both profiles, over the queries of a class or over all."""

    name: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """The golden set under both profiles, as far as the pools of both cover it.

    `changes` are those of the leading measure, by size, largest first, on either side. `by_class`
    are the rows of each class present, with its number of queries. `unsure` counts the rankings
    below each profile's confidence threshold, `unanswered` the queries without a measure, as no
    document answers them, `unread` the queries with a first result of which no
    strength by the reranker is stored.
    """

    queries: int
    rows: tuple[MeasureRow, ...]
    interval: Interval | None
    by_class: Mapping[QueryClass, tuple[int, tuple[MeasureRow, ...]]]
    winners: tuple[Change, ...]
    losers: tuple[Change, ...]
    broken: tuple[Change, ...]
    unsure: tuple[int, int]
    coverage: tuple[Coverage, Coverage]
    unanswered: int = 0
    unread: int = 0

    @property
    def missing(self) -> int:
        """The number of golden queries without a pool."""
        return self.coverage[1].queries - self.queries

    @property
    def is_complete(self) -> bool:
        """True if the figures equal those of a live evaluation."""
        return all(each.is_complete for each in self.coverage) and not self.unread


def compare(active: Profile, draft: Profile) -> ProfileComparison:
    """The golden set's measures under both profiles, from the pools alone."""
    goldens, corpus = golden_set(), corpus_stamp()
    sides = [pooled(profile, goldens, corpus) for profile in (active, draft)]
    covered = [{golden.pk for golden in side.goldens} for side in sides]
    both = covered[0] & covered[1]
    chosen = [[i for i, golden in enumerate(side.goldens) if golden.pk in both] for side in sides]
    outcomes = [
        side.whatif.under(profile, only=None if len(places) == len(side.goldens) else places)
        for side, profile, places in zip(sides, (active, draft), chosen, strict=True)
    ]
    queries = [golden for golden in sides[1].goldens if golden.pk in both]
    before, after = outcomes
    changes = _changes(queries, before, after)
    # Queries with a must-be-first document alone have no measure.
    measured = [place for place, golden in enumerate(queries) if golden.is_measured]
    classes = {place: changes[place].query_class for place in measured}
    return ProfileComparison(
        queries=len(queries),
        rows=_rows(before, after, measured),
        interval=_interval(before, after, measured),
        by_class=_by_class(classes, before, after),
        winners=_largest([c for c in changes if c.difference > MOVED]),
        losers=_largest([c for c in changes if c.difference < -MOVED]),
        broken=tuple(change for change in changes if change.first_broken),
        unsure=(_unsure(before, active), _unsure(after, draft)),
        coverage=(sides[0].coverage, sides[1].coverage),
        unanswered=len(queries) - len(measured),
        unread=int((before.unread | after.unread).sum()),
    )


@dataclass(frozen=True, slots=True)
class Weak:
    """A golden query that a profile ranks badly. `value`: None without judgements."""

    golden: Golden
    value: float | None
    first_missed: bool = False


def weakest(profile: Profile, *, below: float) -> list[Weak]:
    """The pooled golden queries with a measure below `below`, or a missed must-be-first document.

    Those with a missed must-be-first document come first; then by value, lowest first.
    """
    pool = pooled(profile)
    if not pool.goldens:
        return []
    outcome = pool.whatif.under(profile)
    queries = []
    for place, golden in enumerate(pool.goldens):
        value = float(outcome.values[LEADING][place]) if golden.is_measured else None
        must = outcome.sheet.cases[place].must_be_first
        missed = must is not None and outcome.first_document(place) != must
        if missed or (value is not None and value < below):
            queries.append(Weak(golden, value, missed))
    return sorted(queries, key=lambda each: (not each.first_missed, each.value or 0.0))


def visible_goldens(changes: Iterable[Change | Weak], viewer: Viewer) -> set[int]:
    """The primary keys of the golden queries among these whose text `viewer` may read."""
    pks = [change.golden.pk for change in changes]
    rows = GoldenQuery.objects.visible_to(viewer).filter(pk__in=pks)
    return set(rows.values_list("pk", flat=True))


def _changes(queries: Sequence[Golden], before: WhatIfResult, after: WhatIfResult) -> list[Change]:
    changes = []
    for place, golden in enumerate(queries):
        case = after.sheet.cases[place]
        first = case.must_be_first
        was = first is not None and before.first_document(place) == first
        now = first is not None and after.first_document(place) == first
        changes.append(
            Change(
                golden,
                after.settled[place].classification.query_class,
                float(before.values[LEADING][place]),
                float(after.values[LEADING][place]),
                first_broken=was and not now,
            )
        )
    return changes


def _largest(changes: list[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: -abs(change.difference)))


def _rows(
    before: WhatIfResult, after: WhatIfResult, places: Sequence[int]
) -> tuple[MeasureRow, ...]:
    first, second = before.means(places), after.means(places)
    return tuple(MeasureRow(name, first[name], second[name]) for name in first)


def _by_class(
    classes: Mapping[int, QueryClass], before: WhatIfResult, after: WhatIfResult
) -> dict[QueryClass, tuple[int, tuple[MeasureRow, ...]]]:
    places = {
        query_class: [place for place, each in classes.items() if each is query_class]
        for query_class in QueryClass
    }
    return {
        query_class: (len(chosen), _rows(before, after, chosen))
        for query_class, chosen in places.items()
        if chosen
    }


def _interval(before: WhatIfResult, after: WhatIfResult, places: Sequence[int]) -> Interval | None:
    """The leading measure's mean difference with its 95% interval; None without queries."""
    ours, theirs = (
        {str(place): {LEADING: float(each.values[LEADING][place])} for place in places}
        for each in (after, before)
    )
    return measures.difference(ours, theirs, LEADING) if ours else None


def _unsure(outcome: WhatIfResult, profile: Profile) -> int:
    return int((outcome.confidence < profile.confidence_threshold).sum())
