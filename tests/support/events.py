"""Makes search events without searching, as searches would have left them."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from search.analytics.models import Interaction, SearchEvent
from search.query.expand import fold_query

# Long enough ago that nothing more is expected of the visitor.
SETTLED = timedelta(hours=1)


def make_event(query: str, *, visitor: str = "ann", **fields: Any) -> SearchEvent:
    """A search on the page by `visitor` an hour ago that found two documents."""
    values = {
        "at": timezone.now() - SETTLED,
        "channel": "page",
        "query": query,
        "folded": fold_query(query),
        "visitor": visitor,
        "query_class": "general",
        "profile_name": "default@1",
        "total": 2,
        "results": [uuid.uuid4(), uuid.uuid4()],
        "milliseconds": 10.0,
    }
    return SearchEvent.objects.create(**{**values, **fields})


def say(event: SearchEvent, kind: str, *, rank: int = 1, seconds: float | None = None) -> None:
    """What the visitor did, or said of all results."""
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
