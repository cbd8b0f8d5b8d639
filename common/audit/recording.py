"""Write events, and delete those that are too old."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from allauth.core import context
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone

from common.accounts.models import User
from common.addresses import address_of
from common.audit.models import Event, Kind

logger = logging.getLogger(__name__)


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
    found = dict(details or {})
    Event.objects.create(
        kind=kind,
        user=actor,
        username=actor.get_username() if actor else "",
        address=address_of(request)[:64] if request else "",
        subject=str(subject)[:200],
        details=found if request else {**found, "by": "command"},
    )


def forget(*, now: datetime | None = None) -> int:
    """Delete the events older than AUDIT_DAYS; return how many."""
    before = (now or timezone.now()) - timedelta(days=settings.AUDIT_DAYS)
    deleted, _ = Event.objects.filter(at__lt=before).delete()
    return deleted
