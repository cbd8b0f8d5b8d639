"""Search gaps for administrators: the queue, the actions on a gap, and its closure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.analytics.models import Gap, GapSign, GapStep, GapWording, Sign
from search.errors import GapError
from search.pipeline import Purpose, search
from search.retrieval import Filters

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
# Remedies: steps that a person starts on an open gap and that closing it completes.
BEGUN = (Kind.SYNONYM, Kind.PATTERN, Kind.PIN, Kind.JUDGEMENT, Kind.DOCUMENT)
TOP_RESULTS = 10


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


def snapshot(query: str, *, viewer: Viewer, collections: Iterable[str]) -> dict[str, Any]:
    """The current search result for `viewer`, as a GapStep stores it. Raises SearchError."""
    narrowed = Filters(collections=tuple(collections))
    response = search(
        query, viewer=viewer, filters=narrowed, page_size=TOP_RESULTS, purpose=Purpose.TUNER
    )
    return {
        "total": response.total,
        "results": list(dict.fromkeys(result.document_id for result in response.results)),
        "confidence": response.confidence,
        "unsure": response.low_confidence,
        "profile": f"{response.profile.name}@{response.profile.version}",
    }


def begin(gap: Gap, kind: str, *, acting_user: User, note: str = "") -> GapStep:
    """Record the start of a remedy, with the search result before it. Raises GapError."""
    if kind not in BEGUN:
        raise GapError(
            gettext("Choose a synonym, a pattern, a pin, a judgement or a missing document.")
        )
    with transaction.atomic():
        _lock(gap, is_open=True)
        query, result = _run(gap, acting_user)
        return GapStep.objects.create(
            gap=gap, kind=kind, user=acting_user, note=note, query=query, before=result
        )


def assign(gap: Gap, owner: User, *, acting_user: User, note: str) -> GapStep:
    """Record that a document is missing and who will write it. Raises GapError."""
    if not note.strip():
        raise GapError(gettext("Describe what the document should answer."))
    step = begin(gap, Kind.DOCUMENT, acting_user=acting_user, note=note)
    Gap.objects.filter(pk=gap.pk).update(owner=owner, note=note)
    return step


def close(gap: Gap, *, acting_user: User, note: str = "") -> GapStep:
    """Close a gap, recording its search result now and before the first remedy.

    Raises GapError if it is not open, SearchError if the search fails.
    """
    with transaction.atomic():
        _lock(gap, is_open=True)
        query, result = _run(gap, acting_user)
        begun = _last_begun(gap)
        before = begun.before if begun is not None and begun.query == query else None
        step = GapStep.objects.create(
            gap=gap,
            kind=Kind.CLOSED,
            user=acting_user,
            note=note,
            query=query,
            before=before,
            after=result,
        )
        Gap.objects.filter(pk=gap.pk).update(state=State.CLOSED, closed_at=timezone.now())
    return step


def dismiss(gap: Gap, *, acting_user: User, reason: str) -> GapStep:
    """Remove a gap from the queue permanently, with a reason. Raises GapError."""
    if not reason.strip():
        raise GapError(gettext("Give a reason. It is kept in the history."))
    with transaction.atomic():
        _lock(gap, is_open=True)
        Gap.objects.filter(pk=gap.pk).update(state=State.DISMISSED, closed_at=timezone.now())
        return GapStep.objects.create(
            gap=gap, kind=Kind.DISMISSED, user=acting_user, note=reason.strip()
        )


def reopen(gap: Gap, *, acting_user: User) -> GapStep:
    """Return a closed or dismissed gap to the queue. Raises GapError."""
    with transaction.atomic():
        _lock(gap, is_open=False)
        Gap.objects.filter(pk=gap.pk).update(state=State.OPEN, closed_at=None)
        return GapStep.objects.create(gap=gap, kind=Kind.REOPENED, user=acting_user)


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


def _last_begun(gap: Gap) -> GapStep | None:
    """The first remedy since the gap was last opened: its `before` precedes all of them."""
    reopened = gap.steps.filter(kind__in=(Kind.REOPENED, Kind.CLOSED)).order_by("-pk").first()
    steps = gap.steps.filter(kind__in=BEGUN, pk__gt=reopened.pk if reopened else 0)
    return steps.order_by("pk").first()


def _run(gap: Gap, viewer: User) -> tuple[str, dict[str, Any]]:
    """The gap's main wording that `viewer` may read, and its search result for them."""
    query, collections = question(gap, viewer)
    return query, snapshot(query, viewer=viewer, collections=collections)


def question(gap: Gap, viewer: Viewer) -> tuple[str, list[str]]:
    """The gap's most common wording, and the collections most visitors searched with it.

    Raises GapError when no sign is left that `viewer` may read.
    """
    signs = GapSign.objects.visible_to(viewer).filter(wording__gap=gap).order_by()
    row = (
        signs.values("wording", "wording__query", "collections")
        .annotate(visitors=Count("visitor", distinct=True))
        .order_by("-visitors", "wording", "collections")
        .first()
    )
    if row is None:
        raise GapError(gettext("No recent search belongs to this gap."))
    # Collections named in the query itself restrict the search already.
    inside = "collection:" in row["wording__query"].casefold()
    return row["wording__query"], [] if inside else row["collections"]


def wordings(gap: Gap, viewer: Viewer) -> QuerySet[GapWording]:
    """The wordings that `viewer` may read, with `visitors` and `last`, the most common first."""
    readable = GapSign.objects.visible_to(viewer).filter(wording__gap=gap)
    return (
        GapWording.objects.filter(signs__in=readable)
        .annotate(visitors=Count("signs__visitor", distinct=True), last=Max("signs__last"))
        .order_by("-visitors", "pk")
    )


def readable_results(steps: Iterable[GapStep], viewer: Viewer) -> dict[str, Document]:
    """The documents in the steps' results that `viewer` may see, by public id; one query."""
    public_ids = {
        UUID(public_id)
        for step in steps
        for result in (step.before, step.after)
        for public_id in (result or {}).get("results", ())
    }
    documents = Document.objects.visible_to(viewer).filter(public_id__in=public_ids)
    return {str(document.public_id): document for document in documents.defer("title_terms")}
