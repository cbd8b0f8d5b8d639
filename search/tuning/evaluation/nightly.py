"""Scheduled quality runs: measure the golden set once a day, and alert when it gets worse.

An alert goes to the log, to webhooks, and by mail, which is retried.
"""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from ingestion.webhooks.sending import record_fall
from search.models import SearchProfile
from search.presentation.labels import measure_label
from search.tuning.evaluation import golden_runs
from search.tuning.models import Alert, EvaluationRun, GoldenQuery, PublishGate, QualityRun

logger = logging.getLogger(__name__)

Status, RunState = QualityRun.Status, EvaluationRun.State

# A run that is later than this is skipped: the next one is near.
LATE = timedelta(hours=6)
MAX_ATTEMPTS = 8
# The delay after the first failed attempt; it doubles each time, about two hours in all.
PAUSE = timedelta(minutes=1)
MAX_LINES = 20


@dataclass(frozen=True, slots=True)
class Fall:
    """The change of a measure between two runs, over the queries that both measured.

    `queries` are those whose measure fell, the largest fall first, as (text, before, now). `broken`
    are the queries whose must-be-first document was first and no longer is.
    """

    measure: str
    before: float
    now: float
    queries: tuple[tuple[str, float, float], ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def amount(self) -> float:
        return self.before - self.now


def run_if_due(*, now: datetime | None = None) -> QualityRun | None:
    """Start the quality run that is due; return None if none is due, or nothing can be measured.

    Starts at most one run a day, also with concurrent calls.
    """
    now = timezone.localtime(now)
    due = due_at(now)
    if due is None or not due <= now < due + LATE:
        return None
    active = SearchProfile.active()
    has_queries = GoldenQuery.objects.filter(enabled=True).exists()
    if active is None or not has_queries or QualityRun.objects.filter(date=due.date()).exists():
        return None
    try:
        with transaction.atomic():
            run = golden_runs.start(active, acting_user=None)
            return QualityRun.objects.create(date=due.date(), run=run)
    except IntegrityError:
        return None  # another process has just started it


def due_at(now: datetime) -> datetime | None:
    """The latest time up to `now` at which a run was due; None if quality runs are off."""
    if not settings.NIGHTLY_RUN_AT:
        return None
    due = datetime.combine(now.date(), time.fromisoformat(settings.NIGHTLY_RUN_AT), now.tzinfo)
    return due if due <= now else due - timedelta(days=1)


def judge() -> int:
    """Compare the finished quality runs with earlier ones, oldest first; return their number."""
    finished = QualityRun.objects.filter(
        status=Status.WAITING, run__state__in=(RunState.DONE, RunState.FAILED, RunState.CANCELLED)
    )
    runs = list(finished.select_related("run__profile").order_by("date"))
    for run in runs:
        with transaction.atomic():
            _judge(run)
    return len(runs)


def _judge(quality: QualityRun) -> None:
    if quality.run.state != RunState.DONE:
        quality.status = Status.FAILED
        logger.warning("The quality run of %s failed: %s", quality.date, quality.run.error)
        quality.save(update_fields=["status"])
        return
    good = (
        QualityRun.objects.filter(date__lt=quality.date, status=Status.GOOD)
        .order_by("-date")
        .select_related("run")
        .first()
    )
    fall = compare(good.run, quality.run, measure=leading_measure()) if good else None
    quality.status = Status.FELL if fall and _is_bad(fall) else Status.GOOD
    quality.fall = fall.amount if fall else None
    quality.save(update_fields=["status", "fall"])
    if fall and good and quality.status == Status.FELL and _is_news(fall, good):
        findings = _findings(fall, quality, good)
        raise_alert(quality.run, subject=_subject(fall), findings=findings)


def _is_bad(fall: Fall) -> bool:
    return fall.amount > settings.NIGHTLY_MARGIN or bool(fall.broken)


def _is_news(fall: Fall, good: QualityRun) -> bool:
    """True if no alert was raised since the last good run, or it fell by another margin."""
    later = QualityRun.objects.filter(date__gt=good.date).exclude(run__alert=None)
    alerted = later.order_by("date").last()
    return alerted is None or fall.amount > (alerted.fall or 0.0) + float(settings.NIGHTLY_MARGIN)


def leading_measure() -> str:
    """The measure that the publish gate compares."""
    gate = PublishGate.objects.filter(pk=1).first() or PublishGate()
    return gate.measure


def compare(before: EvaluationRun, now: EvaluationRun, *, measure: str) -> Fall | None:
    """The change of `measure` between two runs; None if they measured no query in common."""
    rows = [
        (before.by_query[key], row) for key, row in now.by_query.items() if key in before.by_query
    ]
    measured = [
        (str(row["text"]), float(was), float(value))
        for old, row in rows
        if (was := old.get("measures", {}).get(measure)) is not None
        and (value := row.get("measures", {}).get(measure)) is not None
    ]
    broken = tuple(
        row["text"]
        for old, row in rows
        if _holds_first(old) and row.get("must") and not _holds_first(row)
    )
    if not measured:
        return Fall(measure, 0.0, 0.0, broken=broken) if broken else None
    fell = [each for each in measured if each[2] < each[1]]
    return Fall(
        measure,
        before=sum(was for _, was, _ in measured) / len(measured),
        now=sum(value for *_, value in measured) / len(measured),
        queries=tuple(sorted(fell, key=lambda row: (row[2] - row[1], row[0]))),
        broken=broken,
    )


def _holds_first(row: Mapping[str, Any]) -> bool:
    return bool(row.get("must")) and row.get("first") == row.get("must")


def _subject(fall: Fall) -> str:
    if fall.amount > settings.NIGHTLY_MARGIN:
        return gettext("Search got worse: %(measure)s fell from %(before).3f to %(now).3f") % {
            "measure": measure_label(fall.measure),
            "before": fall.before,
            "now": fall.now,
        }
    return ngettext(
        "Search got worse: %(count)d query lost its must-be-first document",
        "Search got worse: %(count)d queries lost their must-be-first documents",
        len(fall.broken),
    ) % {"count": len(fall.broken)}


def _findings(fall: Fall, quality: QualityRun, good: QualityRun) -> dict[str, Any]:
    return {
        "measure": fall.measure,
        "before": fall.before,
        "now": fall.now,
        "fall": fall.amount,
        "date": quality.date.isoformat(),
        "compared_with": good.date.isoformat(),
        "profile": str(quality.run.profile),
        "run": quality.run.pk,
        "queries": [
            {"query": text, "before": was, "now": value} for text, was, value in fall.queries
        ],
        "no_longer_first": list(fall.broken),
    }


def raise_alert(run: EvaluationRun, *, subject: str, findings: Mapping[str, Any]) -> Alert:
    """Log and announce the alert of a run, and queue its mail; or return the existing one."""
    alert, is_new = Alert.objects.get_or_create(
        run=run,
        defaults={
            "subject": subject,
            "findings": dict(findings),
            "to_mail": bool(settings.ALERT_EMAILS),
        },
    )
    if is_new:
        logger.error("%s. The admin shows the queries that fell.", alert.subject)
        # Without the queries: not everybody may read the questions of others.
        names = ("measure", "before", "now", "fall", "date", "compared_with", "profile", "run")
        record_fall(
            {name: findings[name] for name in names if name in findings},
            permission="tuning.view_evaluationrun",
        )
    return alert


def deliver(*, now: datetime | None = None) -> int:
    """Mail the alerts that are due; return how many were sent. Others are retried later."""
    now = now or timezone.now()
    waiting = Alert.objects.filter(to_mail=True, attempts__lt=MAX_ATTEMPTS)
    due = [
        alert.pk
        for alert in waiting.order_by("pk")
        if not alert.attempts or now >= alert.created + PAUSE * (2**alert.attempts - 1)
    ]
    return sum(_mail(pk) for pk in due)


@transaction.atomic
def _mail(pk: int) -> bool:
    alert = Alert.objects.select_for_update(skip_locked=True).filter(pk=pk).first()
    if alert is None:
        return False
    subject = f"[Steelyard] {alert.subject}"
    alert.attempts, alert.error = alert.attempts + 1, ""
    sent, errors = 0, list[OSError]()
    for address in settings.ALERT_EMAILS:
        try:  # one mail each: of several recipients Django does not say which were refused
            sent += EmailMessage(subject, text_of(alert), to=[address]).send()
        except OSError as error:
            logger.warning("An alert was not mailed: %s", error)
            errors.append(error)
    if errors and not (sent and all(isinstance(e, smtplib.SMTPRecipientsRefused) for e in errors)):
        alert.error = str(errors[-1])
    else:
        alert.to_mail = False
    alert.save(update_fields=["to_mail", "attempts", "error"])
    return not alert.error


def text_of(alert: Alert) -> str:
    """The message of an alert: the measure that fell, and the queries that got worse."""
    findings = alert.findings
    lines = [
        f"{alert.subject}.",
        "",
        gettext(
            "Nightly measurement of %(date)s, compared with %(compared_with)s; profile "
            "%(profile)s, run %(run)s."
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
            for row in findings["queries"][:MAX_LINES]
        ]
        more = len(findings["queries"]) - MAX_LINES
        if more > 0:
            lines.append("  " + gettext("and %(count)d more") % {"count": more})
    if findings["no_longer_first"]:
        lines += ["", gettext("The must-be-first document is no longer first for:")]
        lines += [f"  {query}" for query in findings["no_longer_first"][:MAX_LINES]]
    lines += [
        "",
        gettext(
            "The profile is unchanged or has passed the gate. Check the documents that were "
            "uploaded, replaced or deleted since."
        ),
    ]
    return "\n".join(lines)
