"""Deliver alerts to the log, by mail and to a webhook, with retries."""

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
from django.utils.translation import gettext

from ingestion.webhooks.sending import record_fall
from search.presentation.labels import measure_label
from search.tuning.models import Alert, EvaluationRun

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
# The delay after the first failed attempt; it doubles each time, about two hours in all.
PAUSE = timedelta(minutes=1)
SHOWN = 20


class NotDelivered(Exception):
    """A delivery channel failed."""


def raise_alert(run: EvaluationRun, *, subject: str, findings: Mapping[str, Any]) -> Alert:
    """Create the alert of a run for delivery, or return the existing one."""
    alert, is_new = Alert.objects.get_or_create(
        run=run, defaults={"subject": subject, "findings": dict(findings), "wanted": _wanted()}
    )
    if is_new:
        # Without the queries: not everybody may read the questions of others.
        names = ("measure", "before", "now", "fall", "date", "compared_with", "profile", "run")
        record_fall(
            {name: findings[name] for name in names if name in findings},
            permission="tuning.view_evaluationrun",
        )
    return alert


def deliver(*, now: datetime | None = None) -> int:
    """Deliver the due alerts; return how many are now complete. Others are retried later."""
    now = now or timezone.now()
    waiting = Alert.objects.filter(attempts__lt=MAX_ATTEMPTS).order_by("pk")
    due = [
        alert.pk
        for alert in waiting
        if set(alert.wanted) > set(alert.delivered) and _is_due(alert, now)
    ]
    return sum(_deliver(pk) for pk in due)


def _wanted() -> list[str]:
    channels = ["log"]
    if settings.ALERT_EMAILS:
        channels.append("mail")
    if settings.ALERT_WEBHOOK_URL:
        channels.append("webhook")
    return channels


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
    for channel in alert.wanted:
        if channel in alert.delivered:
            continue
        try:
            CHANNELS[channel](alert)
            alert.delivered = [*alert.delivered, channel]
        except NotDelivered as error:
            errors.append(f"{channel}: {error}")
            logger.warning("An alert was not delivered by %s: %s", channel, error)
    alert.attempts += 1
    alert.error = "; ".join(errors)
    alert.save(update_fields=["delivered", "attempts", "error"])
    return not errors


def _log(alert: Alert) -> None:
    logger.error("%s. The admin shows the queries that fell.", alert.subject)
    logger.debug("%s", text_of(alert))


def _mail(alert: Alert) -> None:
    subject = f"[Steelyard] {alert.subject}"
    message = EmailMessage(subject, text_of(alert), to=settings.ALERT_EMAILS)
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as error:
        raise NotDelivered(str(error)) from error


def _webhook(alert: Alert) -> None:
    body = {"event": "search_quality_fell", "subject": alert.subject, **alert.findings}
    request = urllib.request.Request(  # noqa: S310 -- a setting of the administrator
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


CHANNELS: Mapping[str, Callable[[Alert], None]] = {
    "log": _log,
    "mail": _mail,
    "webhook": _webhook,
}


def text_of(alert: Alert) -> str:
    """The message of an alert: the measure that fell, and the queries that got worse."""
    findings = alert.findings
    lines = [
        f"{alert.subject}.",
        "",
        gettext(
            "Quality run of %(date)s, compared with %(compared_with)s; profile %(profile)s, "
            "run %(run)s."
        )
        % {name: findings[name] for name in ("date", "compared_with", "profile", "run")},
    ]
    if findings["queries"]:
        lines += [
            "",
            gettext("Queries whose %(measure)s fell:")
            % {"measure": measure_label(findings["measure"])},
        ]
        lines += [
            f"  {row['before']:.3f} -> {row['now']:.3f}  {row['query']}"
            for row in findings["queries"][:SHOWN]
        ]
        more = len(findings["queries"]) - SHOWN
        if more > 0:
            lines.append("  " + gettext("and %(count)d more") % {"count": more})
    if findings["no_longer_first"]:
        lines += ["", gettext("The must-be-first document is no longer first for:")]
        lines += [f"  {query}" for query in findings["no_longer_first"][:SHOWN]]
    lines += [
        "",
        gettext(
            "The profile is unchanged or has passed the gate. Check the documents that were "
            "uploaded, replaced or deleted since."
        ),
    ]
    return "\n".join(lines)
