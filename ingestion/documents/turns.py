"""Whose version is processed next, so that nobody's upload waits for all files of another person.

A message says that there is work in a queue, not which (docs/adr/0031-background-work.md).
"""

from __future__ import annotations

import time
from contextlib import suppress

from django.core.cache import cache
from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from common.jobs import due, free
from ingestion.models import DocumentVersion, Lane

TURN_SECONDS = 5.0
"""A longer document stops embedding after this time if another person waits. A guess: the time of
about 500 passages."""
# If others claim the first ones meanwhile, the next is taken: more than there are processes.
_CHOICES = 16
# Who had no turn for so long comes first, like somebody new.
_REMEMBERED = 3600


class TurnOver(Exception):
    """The document's turn is over; it goes on in its uploader's next one."""


def in_turn(version_id: int) -> list[int]:
    """The versions to process on a message for this one, the first in turn first.

    The uploader whose last turn began longest ago comes first, with the oldest of their versions.
    """
    lane = DocumentVersion.objects.filter(pk=version_id).values_list("lane", flat=True).first()
    queue = DocumentVersion.open_jobs().filter(lane=lane or Lane.INTERACTIVE)
    place = Window(RowNumber(), partition_by=F("document__added_by"), order_by="pk")
    rows = _waiting(queue, version_id).annotate(place=place).filter(place__lte=_CHOICES)
    uploaders = dict(rows.values_list("pk", "document__added_by"))
    last: dict[str, float] = {}
    with suppress(Exception):  # each cache raises its own errors; without it the oldest comes first
        last = cache.get_many(set(map(_key, uploaders.values())))
    return sorted(uploaders, key=lambda pk: (last.get(_key(uploaders[pk]), 0), pk))[:_CHOICES]


def begin(version: DocumentVersion) -> None:
    """Remember that the version's uploader has a turn now."""
    with suppress(Exception):  # as above
        cache.set(_key(version.document.added_by_id), time.time(), _REMEMBERED)


def others_wait(version: DocumentVersion) -> bool:
    """Whether a version of another person waits in the same queue."""
    queue = DocumentVersion.open_jobs().filter(lane=version.lane)
    return _waiting(queue).exclude(document__added_by=version.document.added_by_id).exists()


def _key(uploader: int | None) -> str:
    return f"last-turn-{uploader}"


def _waiting(queue: QuerySet[DocumentVersion], *own: int) -> QuerySet[DocumentVersion]:
    """The idle versions that have a message, and `own`."""
    now = timezone.now()
    return queue.filter(due(now), free(now), Q(enqueued_at__isnull=False) | Q(pk__in=own))
