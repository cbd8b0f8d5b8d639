"""The files that are being read now, for the line on every page."""

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
CACHE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class UnderWay:
    """The number of files received together of which some are unfinished, and the processed share.

    `share` is of their bytes, in [0, 1].
    """

    files: int
    share: float


def note_under_way() -> None:
    """Count the files being read and store the result, for everyone and for superusers."""
    try:
        cached: dict[str, Any] = cache.get(KEY) or {}
        first = DocumentVersion.open_jobs().aggregate(first=Min("pk"))["first"]
        if first is None:
            if cached:
                cache.delete(KEY)
            return
        # Finished files that were received together with these count until all are finished.
        first = min(first, cached.get("first", first))
        cache.set(KEY, {"first": first} | _counted(first), CACHE_SECONDS)
    except Exception:  # each cache raises its own errors; none may fail the sweep
        logger.warning("Cannot store the progress of the files that are being read", exc_info=True)


def under_way(viewer: Any) -> UnderWay | None:
    """The files being read that `viewer` may know of; None if there are none.

    Readers see the number of files in public collections only.
    """
    try:
        cached = cache.get(KEY)
    except Exception:  # as above; none may fail a page
        return None
    if not isinstance(cached, dict):
        return None
    note = cached.get("all" if viewer.is_superuser else "public")
    return note if isinstance(note, UnderWay) else None


def _counted(first: int) -> dict[str, UnderWay | None]:
    """The counts of the versions with primary keys from `first` on."""
    progress = Case(
        When(state__in=UNFINISHED, then=F("progress")),
        default=Value(1.0),
        output_field=FloatField(),
    )
    rows = (
        DocumentVersion.objects.filter(pk__gte=first, document__deleted_at=None)
        .exclude(state=State.SUPERSEDED)
        .values(visibility=F("document__collection__visibility"), own=F("document__audience"))
        .annotate(
            files=Count("pk"),
            unfinished=Count("pk", filter=Q(state__in=UNFINISHED)),
            bytes=Sum("size"),
            read=Sum(F("size") * progress),
        )
    )
    counts = list(rows)
    public = [row for row in counts if row["visibility"] == Visibility.PUBLIC and not row["own"]]
    return {"all": _summed(counts), "public": _summed(public)}


def _summed(rows: Sequence[Mapping[str, Any]]) -> UnderWay | None:
    if not any(row["unfinished"] for row in rows):
        return None
    size = sum(row["bytes"] for row in rows)
    share = sum(row["read"] for row in rows) / size if size else 0.0
    return UnderWay(files=sum(row["files"] for row in rows), share=min(share, 1.0))
