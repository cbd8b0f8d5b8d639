"""How far the files being read are, for the search page and the admin's front page.

Beat's sweep counts and stores the figures in the cache; pages only look there, without a query.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Case, Count, F, FloatField, Min, Q, Sum, Value, When

from ingestion.models import DocumentVersion, State, Visibility
from ingestion.models.versions import UNFINISHED

logger = logging.getLogger(__name__)

KEY = "files-under-way"
# Seconds; beat counts every ten. A line about files that nobody counts any more would be wrong.
KEPT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Files that were received together, some of which are unfinished, and the share that is done.

    `share` is of their bytes, in [0, 1].
    """

    files: int
    share: float


def note_under_way() -> None:
    """Count the files being read and store the result, for everyone and for superusers."""
    try:
        held: dict[str, Any] = cache.get(KEY) or {}
        first = DocumentVersion.open_jobs().aggregate(first=Min("pk"))["first"]
        if first is None:
            if held:
                cache.delete(KEY)
            return
        # What was received with them and is finished counts until the last one is.
        first = min(first, held.get("first", first))
        cache.set(KEY, {"first": first} | _counted(first), KEPT_SECONDS)
    except Exception:  # each cache raises its own errors; none may fail the sweep
        logger.warning("Cannot store how far the files being read are", exc_info=True)


def under_way(viewer: Any) -> UnderWay | None:
    """The files being read that `viewer` may know of; None if there are none.

    Readers learn of files in public collections only: the number of others is not theirs to know.
    """
    try:
        held = cache.get(KEY)
    except Exception:  # as above; none may fail a page
        return None
    if not isinstance(held, dict):
        return None
    found = held.get("all" if viewer.is_superuser else "public")
    return found if isinstance(found, UnderWay) else None


def _counted(first: int) -> dict[str, UnderWay | None]:
    """The figures of the versions from the key `first` on."""
    done = Case(
        When(state__in=UNFINISHED, then=F("progress")),
        default=Value(1.0),
        output_field=FloatField(),
    )
    rows = (
        DocumentVersion.objects.filter(pk__gte=first, document__deleted_at=None)
        .exclude(state=State.SUPERSEDED)
        .values(visibility=F("document__collection__visibility"))
        .annotate(
            files=Count("pk"),
            unfinished=Count("pk", filter=Q(state__in=UNFINISHED)),
            bytes=Sum("size"),
            read=Sum(F("size") * done),
        )
    )
    found = list(rows)
    public = [row for row in found if row["visibility"] == Visibility.PUBLIC]
    return {"all": _summed(found), "public": _summed(public)}


def _summed(rows: Sequence[Mapping[str, Any]]) -> UnderWay | None:
    if not any(row["unfinished"] for row in rows):
        return None
    size = sum(row["bytes"] for row in rows)
    share = sum(row["read"] for row in rows) / size if size else 0.0
    return UnderWay(files=sum(row["files"] for row in rows), share=min(share, 1.0))
