"""What changed becomes a row of the outbox, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings

from search.parts.qdrant.models import PointChange


def record_change(*, versions: Iterable[int], **_signal: Any) -> None:
    """Note the versions whose searchable chunks changed; nothing on a site without an engine."""
    if settings.QDRANT_URL:
        PointChange.objects.bulk_create([PointChange(version=each) for each in versions])
