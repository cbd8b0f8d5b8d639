"""Create search events as searches would have left them, without searching."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from search.analytics.models import Interaction, SearchEvent
from search.query.query_key import fold_query

# Long enough ago that no more events of the visitor are expected.
SETTLED = timedelta(hours=1)


def make_event(query: str, *, visitor: str = "ann", **fields: Any) -> SearchEvent:
    """Create a search on the page by `visitor` an hour ago, with two documents as results."""
    values = {
        "at": timezone.now() - SETTLED, "channel": "page", "query": query,
        "folded": fold_query(query)[:500], "visitor": visitor, "query_class": "general",
        "profile_name": "default@1", "total": 2, "results": [uuid.uuid4(), uuid.uuid4()],
        "milliseconds": 10.0,
    }  # fmt: skip
    return SearchEvent.objects.create(**{**values, **fields})


def say(event: SearchEvent, kind: str, *, rank: int = 1, seconds: float | None = None) -> None:
    """Record an action of the visitor, or feedback on all results."""
    whole = kind in ("solved", "unsolved")
    Interaction.objects.create(
        event=event,
        kind=kind,
        document=None if whole else event.results[rank - 1],
        rank=None if whole else rank,
        seconds=seconds,
    )
    if kind == "click":
        SearchEvent.objects.filter(pk=event.pk).update(best_click=rank)


def minutes_ago(minutes: float) -> datetime:
    return timezone.now() - timedelta(minutes=minutes)
