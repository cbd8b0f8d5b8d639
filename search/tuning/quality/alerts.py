"""A warning goes out: to the log, by mail, to a web address; and again where it did not arrive."""

from __future__ import annotations

import json
import logging
import smtplib
import urllib.request
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone

from search.tuning.models import Alert, EvaluationRun

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
# After the first failed attempt; then twice as long each time, some two hours in all.
PAUSE = timedelta(minutes=1)
SHOWN = 20


class NotDelivered(Exception):
    """One way did not take the warning."""


def raise_alert(run: EvaluationRun, *, subject: str, findings: Mapping[str, Any]) -> Alert:
    """The alert of a run, kept and still to be delivered; the one there is where there is one."""
    alert, _ = Alert.objects.get_or_create(
        run=run, defaults={"subject": subject, "findings": dict(findings), "wanted": _wanted()}
    )
    return alert


def deliver(*, now: datetime | None = None) -> int:
    """How many alerts have gone all their ways by this call; the others are tried again later."""
    now = now or timezone.now()
    waiting = Alert.objects.filter(attempts__lt=MAX_ATTEMPTS).order_by("pk")
    due = [
        alert.pk
        for alert in waiting
        if set(alert.wanted) > set(alert.delivered) and _is_due(alert, now)
    ]
    return sum(_deliver(pk) for pk in due)


def _wanted() -> list[str]:
    ways = ["log"]
    if settings.ALERT_EMAILS:
        ways.append("mail")
    if settings.ALERT_WEBHOOK_URL:
        ways.append("webhook")
    return ways


def _is_due(alert: Alert, now: datetime) -> bool:
    if not alert.attempts:
        return True
    return bool(now >= alert.created + PAUSE * (2**alert.attempts - 1))


@transaction.atomic
def _deliver(pk: int) -> bool:
    alert = Alert.objects.select_for_update(skip_locked=True).filter(pk=pk).first()
    if alert is None:
        return False
    errors = []
    for way in alert.wanted:
        if way in alert.delivered:
            continue
        try:
            WAYS[way](alert)
            alert.delivered = [*alert.delivered, way]
        except NotDelivered as error:
            errors.append(f"{way}: {error}")
            logger.warning("An alert was not delivered by %s: %s", way, error)
    alert.attempts += 1
    alert.error = "; ".join(errors)
    alert.save(update_fields=["delivered", "attempts", "error"])
    return not errors


def _log(alert: Alert) -> None:
    logger.error("%s", text_of(alert))


def _mail(alert: Alert) -> None:
    subject = f"[Steelyard] {alert.subject}"
    message = EmailMessage(subject, text_of(alert), to=settings.ALERT_EMAILS)
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as error:
        raise NotDelivered(str(error)) from error


def _webhook(alert: Alert) -> None:
    body = {"event": "search_quality_fell", "subject": alert.subject, **alert.findings}
    request = urllib.request.Request(  # noqa: S310 -- the administrator's own setting
        settings.ALERT_WEBHOOK_URL,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "Steelyard"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=settings.ALERT_TIMEOUT):  # noqa: S310
            pass
    except (OSError, ValueError) as error:  # URLError and HTTPError are OSErrors
        raise NotDelivered(str(error)) from error


WAYS: Mapping[str, Callable[[Alert], None]] = {"log": _log, "mail": _mail, "webhook": _webhook}


def text_of(alert: Alert) -> str:
    """The warning for people: what fell, and the queries that did."""
    found = alert.findings
    lines = [
        f"{alert.subject}.",
        "",
        f"Night of {found['night']}, compared with {found['compared_with']}; profile "
        f"{found['profile']}, run {found['run']}.",
    ]
    if found["queries"]:
        lines += ["", f"Queries whose {found['measure']} fell:"]
        lines += [
            f"  {row['before']:.3f} -> {row['now']:.3f}  {row['query']}"
            for row in found["queries"][:SHOWN]
        ]
        more = len(found["queries"]) - SHOWN
        lines += [f"  and {more} more"] if more > 0 else []
    if found["no_longer_first"]:
        lines += ["", "The document that must be first is no longer first for:"]
        lines += [f"  {query}" for query in found["no_longer_first"][:SHOWN]]
    lines += [
        "",
        "The profile is the same or has passed the gate: look at what was uploaded, replaced or "
        "deleted since.",
    ]
    return "\n".join(lines)
