"""Search gaps for administrators: the queue, the actions on a gap, and its closure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.models.visibility import Viewer
from search.analytics.models import Gap, GapSign, GapStep, GapWording, Sign
from search.errors import GapError

State, Kind = Gap.State, GapStep.Kind

# Cost of one affected visitor by sign: highest for explicit complaints, lowest for signs that
# may mean nothing. Guesses; they only order the queue.
COSTS: Mapping[str, float] = {
    Sign.DOWN: 1.0,
    Sign.ANSWER: 1.0,
    Sign.ZERO: 1.0,
    Sign.REFORMULATED: 0.7,
    Sign.UNSURE: 0.5,
    Sign.NO_CLICK: 0.2,
}
# The state of a gap after a step; others leave it open.
STATES: Mapping[str, str] = {
    Kind.CLOSED: State.CLOSED,
    Kind.DISMISSED: State.DISMISSED,
    Kind.REOPENED: State.OPEN,
}


@dataclass(frozen=True, slots=True)
class GapSummary:
    """A gap with the counts of the searches whose query one viewer may read.

    `query` is the most common wording, `wordings` the number of wordings; `counts` has the
    distinct visitors by sign. `cost` is the sum over signs of visitors times the sign's cost.
    """

    gap: Gap
    query: str
    wordings: int
    visitors: int
    counts: Mapping[Sign, int]
    cost: float
    first: datetime
    last: datetime

    @property
    def pk(self) -> int:
        return self.gap.pk

    @property
    def is_probably_fine(self) -> bool:
        """Whether nobody opened a result, and nothing else speaks of a failure."""
        return self.counts.keys() == {Sign.NO_CLICK}

    @property
    def signs(self) -> tuple[str, ...]:
        """The labels of its signs, the most common first."""
        ordered = sorted(self.counts, key=lambda sign: (-self.counts[sign], COSTS[sign], sign))
        return tuple(str(sign.label) for sign in ordered)


def summaries(
    viewer: Viewer, *, state: str = State.OPEN, limit: int | None = None, pk: int | None = None
) -> list[GapSummary]:
    """The gaps in `state` that `viewer` may see, the costliest first; three queries.

    With `pk`, that gap alone, whatever its state.
    """
    signs = GapSign.objects.visible_to(viewer).order_by()
    signs = signs.filter(wording__gap=pk) if pk else signs.filter(wording__gap__state=state)
    rows = {row["wording__gap"]: row for row in _tallies(signs)}
    costly = sorted(rows, key=lambda key: (-_cost(rows[key]), -rows[key]["last"].timestamp(), key))
    costly = costly[:limit]
    names = _main_wordings(signs.filter(wording__gap__in=costly))
    gaps = Gap.objects.select_related("owner").in_bulk(costly)
    return [_summary(gaps[key], rows[key], *names[key]) for key in costly if key in gaps]


def _tallies(signs: QuerySet[GapSign]) -> Iterable[Mapping[str, Any]]:
    return signs.values("wording__gap").annotate(
        visitors=Count("visitor", distinct=True),
        first=Min("first"),
        last=Max("last"),
        **{sign.value: Count("visitor", Q(kind=sign), distinct=True) for sign in Sign},
    )


def _cost(row: Mapping[str, Any]) -> float:
    return float(sum(COSTS[sign] * row[sign.value] for sign in Sign))


def _main_wordings(signs: QuerySet[GapSign]) -> dict[int, tuple[str, int]]:
    """The most common wording of each gap, and the number of its wordings."""
    rows = signs.values("wording__gap", "wording", "wording__query").annotate(
        visitors=Count("visitor", distinct=True)
    )
    by_gap: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_gap.setdefault(row["wording__gap"], []).append(row)
    return {
        gap: (max(of, key=lambda r: (r["visitors"], -r["wording"]))["wording__query"], len(of))
        for gap, of in by_gap.items()
    }


def _summary(gap: Gap, row: Mapping[str, Any], query: str, wordings: int) -> GapSummary:
    counts = {sign: row[sign.value] for sign in Sign if row[sign.value]}
    return GapSummary(
        gap, query, wordings, row["visitors"], counts, _cost(row), row["first"], row["last"]
    )


def costly_count(viewer: Viewer) -> int:
    """The number of open gaps that `viewer` may see, without those that are probably fine."""
    signs = GapSign.objects.visible_to(viewer).exclude(kind=Sign.NO_CLICK)
    open_ones = signs.filter(wording__gap__state=State.OPEN)
    return open_ones.order_by().values("wording__gap").distinct().count()


@transaction.atomic
def take_step(gap: Gap, kind: str, *, acting_user: User, note: str = "") -> GapStep:
    """Record a step on a gap; closing, dismissing and reopening it are steps, too.

    Raises GapError for a step that its state does not permit, and to dismiss it without a reason.
    """
    if kind == Kind.DISMISSED and not note.strip():
        raise GapError(gettext("Give a reason. It is kept in the history."))
    _lock(gap, is_open=kind != Kind.REOPENED)
    if state := STATES.get(kind):
        closed_at = None if state == State.OPEN else timezone.now()
        Gap.objects.filter(pk=gap.pk).update(state=state, closed_at=closed_at)
    return GapStep.objects.create(gap=gap, kind=kind, user=acting_user, note=note.strip())


@transaction.atomic
def assign(gap: Gap, owner: User, *, acting_user: User, note: str) -> GapStep:
    """Record that a document is missing and who will write it. Raises GapError."""
    if not note.strip():
        raise GapError(gettext("Describe what the document should answer."))
    step = take_step(gap, Kind.DOCUMENT, acting_user=acting_user, note=note)
    Gap.objects.filter(pk=gap.pk).update(owner=owner, note=note)
    return step


def _lock(gap: Gap, *, is_open: bool) -> None:
    """Lock the gap's row. Raises GapError unless its state agrees with `is_open`."""
    locked = Gap.objects.select_for_update(no_key=True).get(pk=gap.pk)
    if is_open and locked.state != State.OPEN:
        raise GapError(
            gettext("This gap is already %(state)s. Reopen it first.")
            % {"state": locked.get_state_display().lower()}
        )
    if not is_open and locked.state == State.OPEN:
        raise GapError(gettext("This gap is already open."))


def wordings(gap: Gap, viewer: Viewer) -> QuerySet[GapWording]:
    """The wordings that `viewer` may read, with `visitors` and `last`, the most common first."""
    readable = GapSign.objects.visible_to(viewer).filter(wording__gap=gap)
    return (
        GapWording.objects.filter(signs__in=readable)
        .annotate(visitors=Count("signs__visitor", distinct=True), last=Max("signs__last"))
        .order_by("-visitors", "pk")
    )
