"""Collections of points: filled beside the one in use, compared with Postgres, switched to.

begin    -> building: every change is written to both from now on
fill     -> ready: a worker has written all chunks, and compared them
switch   -> active; the one before is kept for a day, and can be switched back to
tidy     -> collections kept long enough are removed

The same way leads to other shards, another version of Qdrant, and another embedding space.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common import UserError
from common.jobs import Lease, enqueue, work_on
from ingestion.models import EmbeddingSpace
from ingestion.models.embeddings import WRITTEN_STATES
from search.parts.qdrant import points
from search.parts.qdrant.engines import engine
from search.parts.qdrant.models import PointChange, PointCollection
from search.parts.qdrant.points import EngineError, PointState, space_name
from search.parts.qdrant.syncing import sync

State = PointCollection.State
# The alias of the collection in use; the names of all are this and a number.
ALIAS = "steelyard"
# How long the collection before a switch is kept. A guess.
RETENTION = timedelta(hours=24)
PAUSE_AFTER_FAILURE = timedelta(seconds=10)


class NotReady(UserError):
    """A collection cannot be switched to; the message says why and what to do."""


def begin(*, shards: int = 0, replicas: int = 1) -> PointCollection:
    """Create the next collection, with vectors of all spaces in use. Raises EngineError.

    A worker fills it. Another one that is being built is replaced, and one that the engine has lost
    is given up, or nothing could be written any more. See `ClientEngine.create`.
    """
    written = EmbeddingSpace.objects.filter(state__in=WRITTEN_STATES).order_by("pk")
    sizes = {space_name(space.pk): space.dimensions for space in written}
    with transaction.atomic():
        unfinished = PointCollection.objects.filter(state__in=(State.BUILDING, State.READY))
        for each in unfinished.select_for_update():
            _drop(each)
        last = PointCollection.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        name = f"{ALIAS}_v{last + 1}"
        engine().create(name, sizes, shards=shards, replicas=replicas)
        for each in PointCollection.objects.filter(state__in=PointCollection.WRITTEN):
            if not engine().exists(each.name):
                _drop(each)
        row = PointCollection.objects.create(name=name, spaces=[space.pk for space in written])
        enqueue(PointCollection, row.pk)
    return row


def advance(collection_id: int) -> str:
    """Fill or remove a collection; return its state afterwards, "" if another worker does it."""
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
    check(row)
    lease.finish(State.READY)


def switch(row: PointCollection) -> PointCollection | None:
    """Let searches use the collection; return the one before. Raises NotReady, EngineError."""
    if row.state not in (State.READY, State.PREVIOUS):
        raise NotReady(f"{row.name} is {row.get_state_display().lower()}; wait until it is filled.")
    sync()
    if (waiting := PointChange.objects.count()) > MOST_BEHIND:
        raise NotReady(f"{waiting} changes wait for the engine; switch when they are written.")
    engine().switch(ALIAS, row.name)
    with transaction.atomic():
        now = timezone.now()
        for old in PointCollection.objects.filter(state=State.PREVIOUS).exclude(pk=row.pk):
            _drop(old)
        before = PointCollection.objects.select_for_update().filter(state=State.ACTIVE).first()
        if before is not None:
            PointCollection.objects.filter(pk=before.pk).update(state=State.PREVIOUS, left_at=now)
        PointCollection.objects.filter(pk=row.pk).update(state=State.ACTIVE, left_at=None)
    return before


def tidy() -> int:
    """Start to remove the collections whose retention has ended; return their number."""
    limit = timezone.now() - RETENTION
    outdated = PointCollection.objects.filter(state=State.PREVIOUS, left_at__lte=limit)
    for row in outdated:
        _drop(row)
    return len(outdated)


def _drop(row: PointCollection) -> None:
    PointCollection.objects.filter(pk=row.pk).update(
        state=State.DROPPING, lease=None, leased_until=None, not_before=None
    )
    enqueue(PointCollection, row.pk)


# Points of one comparison. A guess: a second of work on either side.
PAGE = 10_000
# A comparison while documents come in finds those on the way; more is a reason to look.
MOST_BEHIND = 100
# A little less than a day: beat asks every hour.
EVERY = timedelta(hours=23)


def check_if_due() -> int:
    """Compare the collections not compared for EVERY; return how many points differed."""
    compared = Q(checked_at=None) | Q(checked_at__lte=timezone.now() - EVERY)
    rows = PointCollection.objects.filter(
        compared, state__in=(PointCollection.State.ACTIVE, PointCollection.State.PREVIOUS)
    )
    return sum(map(check, rows))


def check(collection: PointCollection) -> int:
    """Compare a collection with Postgres, record the differences and return their number.

    Compares ids, collections, versions and texts of all points, page by page on both sides, so that
    both missing and stale ones are noticed. Raises EngineError.
    """
    differing = 0
    for ours, theirs in _pages(collection.name):
        different = ours ^ theirs
        differing += len({each.id for each in different})
        versions = sorted({each.version for each in different})
        PointChange.objects.bulk_create([PointChange(version=each) for each in versions])
    PointCollection.objects.filter(pk=collection.pk).update(
        checked_at=timezone.now(), differing=differing
    )
    return differing


def _pages(name: str) -> Iterator[tuple[set[PointState], set[PointState]]]:
    """The states of Postgres and the engine for the same range of ids, page by page."""
    start = 0
    while True:
        theirs = engine().page(name, start, PAGE)
        ours = points.states(start, PAGE)
        # Both have every id up to the end of the shorter full page.
        ends = [page[-1].id for page in (ours, theirs) if len(page) == PAGE]
        if not ends:
            yield set(ours), set(theirs)
            return
        end = min(ends)
        both = [{each for each in page if each.id <= end} for page in (ours, theirs)]
        yield both[0], both[1]
        start = end + 1
