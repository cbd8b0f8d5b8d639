"""The whole audit trail as JSON lines: events, and the admin's log of changes, by time."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from datetime import datetime
from operator import itemgetter
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry

from common.audit.models import Event

AT_ONCE = 1_000
_FLAGS = {ADDITION: "added", CHANGE: "changed"}


def lines(*, since: datetime | None = None, until: datetime | None = None) -> Iterator[str]:
    """The events from `since` until before `until`, one JSON object a line, the oldest first."""
    both = heapq.merge(_events(since, until), _changes(since, until), key=itemgetter("at"))
    for one in both:
        shown = {**one, "at": one["at"].isoformat()}
        yield json.dumps(shown, ensure_ascii=False, default=str) + "\n"


def _events(since: datetime | None, until: datetime | None) -> Iterator[dict[str, Any]]:
    rows = _between(Event.objects.order_by("at", "pk"), "at", since, until)
    for row in rows.iterator(AT_ONCE):
        yield {
            "at": row.at,
            "kind": row.kind,
            "user": row.username,
            "user_id": row.user_id,
            "address": row.address,
            "subject": row.subject,
            "details": row.details,
        }


def _changes(since: datetime | None, until: datetime | None) -> Iterator[dict[str, Any]]:
    rows = LogEntry.objects.select_related("user", "content_type").order_by("action_time", "pk")
    for row in _between(rows, "action_time", since, until).iterator(AT_ONCE):
        yield {
            "at": row.action_time,
            "kind": _FLAGS.get(row.action_flag, "deleted"),
            "user": row.user.get_username(),
            "user_id": row.user_id,
            "address": "",
            "subject": row.object_repr,
            "details": {
                "type": str(row.content_type) if row.content_type else "",
                "id": row.object_id,
                "message": row.get_change_message(),
            },
        }


def _between(rows: Any, field: str, since: datetime | None, until: datetime | None) -> Any:
    if since is not None:
        rows = rows.filter(**{f"{field}__gte": since})
    return rows if until is None else rows.filter(**{f"{field}__lt": until})
