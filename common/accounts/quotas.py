"""How much a user and a token may do in a day: searches, answers, uploads, bytes up and down.

Counted in the database, in one statement each, and only where a limit is set. A day ends at
midnight in TIME_ZONE. Visitors who are not signed in have rates by address instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common import UserError
from common.accounts.models import Usage, User

SEARCHES, ANSWERS, UPLOADS, BYTES = "searches", "answers", "uploads", "bytes"
DOWNLOADED = "downloaded"
NAMES = {
    SEARCHES: _("searches"),
    ANSWERS: _("answers"),
    UPLOADS: _("uploads"),
    BYTES: _("bytes uploaded"),
    DOWNLOADED: _("bytes downloaded"),
}
DAYS_KEPT = 31


class QuotaExceeded(UserError):
    """The user or the token has used up what it may do in a day."""

    code = "quota_exceeded"

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Shown:
    """One quota of today as its owner sees it."""

    name: str
    used: int
    limit: int


def spend(user: Any, kind: str, amount: int = 1) -> None:
    """Count `amount` for the user, and for the token of the request, if it has limits.

    Raises QuotaExceeded, and counts nothing, if it does not fit into what is left of today.
    """
    if not isinstance(user, User) or user.pk is None:
        return
    limits = ((settings.QUOTAS_USER, ""), (settings.QUOTAS_TOKEN, user.token_used))
    for quotas, token in limits:
        limit = quotas.get(kind, 0)
        if limit and (token or quotas is settings.QUOTAS_USER):
            _spend(user, token, kind, amount, limit)


def used_today(user: User) -> list[Shown]:
    """The user's quotas that have a limit, without those of their tokens."""
    limits = {kind: limit for kind, limit in settings.QUOTAS_USER.items() if limit}
    if not limits:
        return []
    row = Usage.objects.filter(user=user.pk, token="", day=_today()).first()
    return [
        Shown(str(NAMES[kind]), getattr(row, kind) if row else 0, limit)
        for kind, limit in limits.items()
    ]


def forget() -> int:
    """Delete the counts of earlier months; return how many."""
    deleted, _ = Usage.objects.filter(day__lt=_today() - timedelta(days=DAYS_KEPT)).delete()
    return deleted


def _spend(user: User, token: str, kind: str, amount: int, limit: int) -> None:
    day = _today()
    rows = Usage.objects.filter(user=user.pk, token=token, day=day)
    fitting = rows.filter(**{f"{kind}__lte": limit - amount})
    if fitting.update(**{kind: F(kind) + amount}):
        return
    _, created = Usage.objects.get_or_create(user_id=user.pk, token=token, day=day)
    if created and fitting.update(**{kind: F(kind) + amount}):
        return
    raise _exceeded(kind, limit, is_token=bool(token))


def _exceeded(kind: str, limit: int, *, is_token: bool) -> QuotaExceeded:
    midnight = timezone.make_aware(datetime.combine(_today() + timedelta(days=1), time.min))
    sentence = (
        gettext("This token's daily quota of %(limit)s %(what)s is used up. It resets on %(when)s.")
        if is_token
        else gettext("Your daily quota of %(limit)s %(what)s is used up. It resets on %(when)s.")
    )
    message = sentence % {
        "limit": f"{limit:,}",
        "what": NAMES[kind],
        "when": date_format(timezone.localtime(midnight), "DATETIME_FORMAT"),
    }
    return QuotaExceeded(message, max(1, int((midnight - timezone.now()).total_seconds())))


def _today() -> date:
    return timezone.localdate()
