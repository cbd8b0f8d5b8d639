"""Differences between the engine and Postgres, found by comparing all ids, become outbox rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from search.parts.qdrant import points
from search.parts.qdrant.engines import engine
from search.parts.qdrant.models import PointChange, PointCollection
from search.parts.qdrant.port import PointState

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
    """Compare a collection with Postgres and note what differs; return how many points do.

    Ids, collections, versions and texts of all points, a page at a time on both sides: missing
    and stale ones alike. Raises EngineError.
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
    """What Postgres and the engine hold of the same range of ids, a page at a time."""
    start = 0
    while True:
        theirs = engine().page(name, start, PAGE)
        ours = points.states(start, None, PAGE)
        # Both have every id up to the end of the shorter full page.
        ends = [page[-1].id for page in (ours, theirs) if len(page) == PAGE]
        if not ends:
            yield set(ours), set(theirs)
            return
        end = min(ends)
        both = [{each for each in page if each.id <= end} for page in (ours, theirs)]
        yield both[0], both[1]
        start = end + 1
