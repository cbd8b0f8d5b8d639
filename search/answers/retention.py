"""The end of stored answers: interrupted ones, and those that are too old."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from search.answers.domain import State
from search.answers.models import Answer, ModelCall, Thread

# Longer than any profile may give a model (10 minutes), for each of an answer's calls.
STALE = timedelta(hours=1)


def sweep_running(older_than: timedelta = STALE) -> int:
    """Mark answers that began so long ago and have no end as failed; return their number.

    Their worker was killed. One statement.
    """
    running = Answer.objects.filter(state=State.RUNNING.value, at__lt=timezone.now() - older_than)
    return running.update(state=State.FAILED.value, error="interrupted")


def forget(now: datetime | None = None) -> int:
    """Delete the answers, and then the threads without any newer, that are older than ANSWERS_DAYS.

    Those older than SEARCH_EVENTS_ANONYMISE_DAYS, and the calls of models, lose their visitors.
    Returns the number of deleted answers. What they cost stays: see `ModelCall`.
    """
    now = now or timezone.now()
    _forget_visitors(now - timedelta(days=settings.SEARCH_EVENTS_ANONYMISE_DAYS))
    oldest = now - timedelta(days=settings.ANSWERS_DAYS)
    old = Answer.objects.filter(at__lt=oldest)
    count = old.count()
    old.delete()
    Thread.objects.filter(updated__lt=oldest, answers=None).delete()
    return count


def _forget_visitors(before: datetime) -> None:
    for rows in (Answer.objects, ModelCall.objects):
        rows.filter(at__lt=before).exclude(visitor="").update(visitor="")
