"""The audit trail: events are recorded, and exported with all other logs, as JSON lines by time.

Other apps keep histories of their own beside their pages: they `register` them here, so that one
export has everything.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from allauth.core import context
from django.conf import settings
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from common.accounts.models import User
from common.addresses import address_of
from common.audit.models import Event, Kind

AT_ONCE = 1_000
_FLAGS = {ADDITION: "added", CHANGE: "changed"}
# A row as an entry: kind, subject and details; username and address where it has them.
Entry = Callable[[Any], Mapping[str, Any]]
# Each log's model, the field with its rows' time, its entries, and the rows to select with a row.
_LOGS: list[tuple[type[Model], str, Entry, tuple[str, ...]]] = []


def record(
    kind: Kind,
    *,
    subject: object = "",
    user: User | AnonymousUser | None = None,
    request: HttpRequest | None = None,
    details: dict[str, Any] | None = None,
) -> None:
    """Write an event of `request`, or of the one in progress; none of a command.

    Without `user`, the request's user did it.
    """
    request = request or context.request
    actor = user or getattr(request, "user", None)
    actor = actor if isinstance(actor, User) and actor.pk else None
    facts = dict(details or {})
    Event.objects.create(
        kind=kind,
        user=actor,
        username=actor.get_username() if actor else "",
        address=address_of(request)[:64] if request else "",
        subject=str(subject)[:200],
        details=facts if request else {**facts, "by": "command"},
    )


def forget(*, now: datetime | None = None) -> int:
    """Delete the events older than AUDIT_DAYS; return how many."""
    before = (now or timezone.now()) - timedelta(days=settings.AUDIT_DAYS)
    deleted, _ = Event.objects.filter(at__lt=before).delete()
    return deleted


def register(model: type[Model], entry: Entry, *related: str, at: str = "at") -> None:
    """Add the rows of a model with a `user` to the trail: an app calls it when it is ready."""
    _LOGS.append((model, at, entry, related))


def lines(*, since: datetime | None = None, until: datetime | None = None) -> Iterator[str]:
    """The entries from `since` until before `until`, one JSON object a line, the oldest first."""
    logs = (_entries(*log, since, until) for log in _LOGS)
    for one in heapq.merge(*logs, key=itemgetter("at")):
        entry = {**one, "at": one["at"].isoformat()}
        yield json.dumps(entry, ensure_ascii=False, default=str) + "\n"


def _entries(
    model: type[Model],
    at: str,
    entry: Entry,
    related: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
) -> Iterator[dict[str, Any]]:
    rows: Any = model._default_manager.select_related("user", *related).order_by(at, "pk")
    if since is not None:
        rows = rows.filter(**{f"{at}__gte": since})
    if until is not None:
        rows = rows.filter(**{f"{at}__lt": until})
    for row in rows.iterator(AT_ONCE):
        facts = {"user": row.user.get_username() if row.user else "", "address": "", **entry(row)}
        order = ("kind", "user", "address", "subject", "details")
        yield {"at": getattr(row, at), "user_id": row.user_id} | {key: facts[key] for key in order}


def _event(row: Event) -> Mapping[str, Any]:
    fields = ("kind", "address", "subject", "details")
    return {"user": row.username, **{name: getattr(row, name) for name in fields}}


def _change(row: LogEntry) -> Mapping[str, Any]:
    """A change in the admin, or by a service that writes into the admin's log."""
    kind = str(row.content_type) if row.content_type else ""
    message = row.get_change_message()
    return {
        "kind": _FLAGS.get(row.action_flag, "deleted"),
        "subject": row.object_repr,
        "details": {"type": kind, "id": row.object_id, "message": message},
    }


register(Event, _event)
register(LogEntry, _change, "content_type", at="action_time")
