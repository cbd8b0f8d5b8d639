"""Quotas: what users and tokens may use a day, and what they have used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F
from django.utils import timezone
from django.utils.formats import date_format, number_format
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
RETENTION_DAYS = 31


class QuotaExceeded(UserError):
    """The user or the token has used up a daily quota."""

    code = "quota_exceeded"
    status = 429


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """One quota of today as its owner sees it."""

    name: str
    used: int
    limit: int


def spend(user: Any, kind: str, amount: int = 1) -> None:
    """Count `amount` for the user, and for the token of the request, if it has limits.

    Raises QuotaExceeded, and counts nothing, if `amount` exceeds the remaining quota of today.
    """
    if not isinstance(user, User) or user.pk is None:
        return
    limits = ((settings.QUOTAS_USER, ""), (settings.QUOTAS_TOKEN, user.token_used))
    for quotas, token in limits:
        limit = quotas.get(kind, 0)
        if limit and (token or quotas is settings.QUOTAS_USER):
            _spend(user, token, kind, amount, limit)


def used_today(user: User) -> list[QuotaUse]:
    """Today's use of the user's limited quotas; the quotas of their tokens are not included."""
    limits = {kind: limit for kind, limit in settings.QUOTAS_USER.items() if limit}
    if not limits:
        return []
    row = Usage.objects.filter(user=user.pk, token="", day=_today()).first()
    return [
        QuotaUse(str(NAMES[kind]), getattr(row, kind) if row else 0, limit)
        for kind, limit in limits.items()
    ]


def forget() -> int:
    """Delete the counts of earlier months; return how many."""
    deleted, _ = Usage.objects.filter(day__lt=_today() - timedelta(days=RETENTION_DAYS)).delete()
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
        "limit": number_format(limit, force_grouping=True),
        "what": NAMES[kind],
        "when": date_format(timezone.localtime(midnight), "DATETIME_FORMAT"),
    }
    return QuotaExceeded(message, max(1, int((midnight - timezone.now()).total_seconds())))


def _today() -> date:
    return timezone.localdate()
