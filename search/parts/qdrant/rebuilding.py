"""A new collection of points beside the one in use, filled from Postgres; and the switch to it.

begin    -> building: every change is written to both from now on
fill     -> ready: a worker has written all chunks, and compared them
switch   -> active; the one before is kept for a day, and can be switched back to
tidy     -> collections kept long enough are removed

The same way leads to other shards, another version of Qdrant, and another embedding space.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from common.jobs import Lease, enqueue, work_on
from ingestion.models import EmbeddingSpace
from ingestion.models.index import WRITTEN_STATES
from search.parts.qdrant import checking, points
from search.parts.qdrant.engines import engine
from search.parts.qdrant.models import PointChange, PointCollection
from search.parts.qdrant.port import EngineError, space_name
from search.parts.qdrant.syncing import sync

State = PointCollection.State
# The alias of the collection in use; the names of all are this and a number.
ALIAS = "steelyard"
# How long the collection before a switch is kept. A guess.
KEPT = timedelta(hours=24)
PAUSE_AFTER_FAILURE = timedelta(seconds=10)


class NotReady(Exception):
    """A collection cannot be switched to; the message says why and what to do."""


def begin(*, shards: int = 0, replicas: int = 1) -> PointCollection:
    """Create the next collection, with vectors of all spaces in use. Raises EngineError.

    A worker fills it. Another one that is being built is replaced. See `Engine.create`.
    """
    written = EmbeddingSpace.objects.filter(state__in=WRITTEN_STATES).order_by("pk")
    sizes = {space_name(space.pk): space.dimensions for space in written}
    with transaction.atomic():
        unfinished = PointCollection.objects.filter(state__in=(State.BUILDING, State.READY))
        for each in unfinished.select_for_update():
            _drop(each)
        last = PointCollection.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        name = f"{ALIAS}_v{last + 1}"
        while PointCollection.objects.filter(name=name).exists():
            name += "_"
        engine().create(name, sizes, shards=shards, replicas=replicas)
        row = PointCollection.objects.create(name=name, spaces=[space.pk for space in written])
        enqueue(PointCollection, row.pk)
    return row


def advance(collection_id: int) -> str:
    """Fill or remove a collection; return its state afterwards, "" if another worker is at it."""
    return work_on(PointCollection, collection_id, _advance) or ""


def _advance(lease: Lease[PointCollection]) -> str:
    row = lease.row
    try:
        if row.state == State.DROPPING:
            engine().drop(row.name)
            row.delete()
            return "dropped"
        _fill(lease)
    except EngineError as error:
        lease.postpone(PAUSE_AFTER_FAILURE, error=str(error)[:500])
    return row.state


def _fill(lease: Lease[PointCollection]) -> None:
    row = lease.row
    while page := points.after(row.filled_after, row.spaces):
        engine().upsert(row.name, page)
        lease.update(filled_after=page[-1].id, filled=row.filled + len(page), attempts=1, error="")
    # What changed while its page was on the way is found here, and repaired by the outbox.
    checking.check(row)
    lease.finish(State.READY)


def switch(row: PointCollection) -> PointCollection | None:
    """Let searches use the collection; return the one before. Raises NotReady, EngineError.

    The caller has measured it (`manage.py qdrant switch`).
    """
    if row.state not in (State.READY, State.PREVIOUS):
        raise NotReady(f"{row.name} is {row.get_state_display().lower()}; wait until it is filled.")
    sync()
    if (waiting := PointChange.objects.count()) > checking.MOST_BEHIND:
        raise NotReady(f"{waiting} changes wait for the engine; switch when they are written.")
    engine().switch(ALIAS, row.name)
    with transaction.atomic():
        now = timezone.now()
        for old in PointCollection.objects.filter(state=State.PREVIOUS).exclude(pk=row.pk):
            _drop(old)
        before = PointCollection.objects.select_for_update().filter(state=State.ACTIVE).first()
        if before is not None:
            PointCollection.objects.filter(pk=before.pk).update(state=State.PREVIOUS, left_at=now)
        PointCollection.objects.filter(pk=row.pk).update(
            state=State.ACTIVE, activated_at=now, left_at=None
        )
    return before


def tidy() -> int:
    """Have the collections removed that have been kept long enough; return how many."""
    limit = timezone.now() - KEPT
    outdated = PointCollection.objects.filter(state=State.PREVIOUS, left_at__lte=limit)
    for row in outdated:
        _drop(row)
    return len(outdated)


def _drop(row: PointCollection) -> None:
    PointCollection.objects.filter(pk=row.pk).update(
        state=State.DROPPING, lease=None, leased_until=None, not_before=None
    )
    enqueue(PointCollection, row.pk)
