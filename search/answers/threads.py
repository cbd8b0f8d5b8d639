"""Conversations: the threads of a signed-in user.

Nobody else reads a thread, staff included, unless its owner shares it with the signed-in users; and
each answer in it is withheld from a reader who may not read all of its sources.
`forget` deletes old ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.timezone import localtime
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.models.visibility import Viewer
from search.answers import recording
from search.answers.as_json import Absolute, answer_data
from search.answers.domain import Answered, State
from search.answers.models import Answer, ModelCall, Thread
from search.answers.rendering import linked_markdown, plain_line
from search.errors import NotPermitted
from search.query.parse import clean_text

TITLE_CHARS = 80
# Longer than any profile may give a model (10 minutes), for each of an answer's calls.
STALE = timedelta(hours=1)


def start(user: User, question: str) -> Thread:
    """Begin a thread; its title is its first question, shortened."""
    return Thread.objects.create(user=user, title=_title(question))


def rename(thread: Thread, title: str, *, acting_user: Viewer) -> None:
    """Give the thread another title; an empty one leaves it. Raises NotPermitted."""
    _check_owner(thread, acting_user)
    if _title(title):
        thread.title = _title(title)
        thread.save(update_fields=["title"])


def share(thread: Thread, shared: bool = True, *, acting_user: Viewer) -> None:
    """Share the thread with all signed-in users who have its address, or end that. Raises
    NotPermitted.
    """
    _check_owner(thread, acting_user)
    thread.shared = shared
    thread.save(update_fields=["shared"])


def delete(thread: Thread, *, acting_user: Viewer) -> None:
    """Delete the thread with its answers. What they cost stays recorded. Raises NotPermitted."""
    _check_owner(thread, acting_user)
    thread.delete()


def export(thread: Thread, viewer: Viewer, *, base: str = "") -> str:
    """The thread as Markdown, as the viewer may see it; `base` begins the links to documents."""
    parts = [f"# {plain_line(thread.title)}"]
    for row in _rows(thread, viewer):
        parts.extend(_as_markdown(recording.for_reader(row), row, base.rstrip("/")))
    return "\n\n".join(parts) + "\n"


def export_data(thread: Thread, viewer: Viewer, absolute: Absolute = str) -> dict[str, Any]:
    """The thread as a JSON object, with its answers in the form of `as_json`."""
    return {
        "id": str(thread.public_id),
        "title": thread.title,
        "created": thread.created.isoformat(),
        "updated": thread.updated.isoformat(),
        "shared": thread.shared,
        "answers": [
            {"at": row.at.isoformat(), **answer_data(recording.for_reader(row), absolute)}
            for row in _rows(thread, viewer)
        ],
    }


def _rows(thread: Thread, viewer: Viewer) -> list[Answer]:
    readable = Thread.objects.visible_to(viewer).filter(pk=thread.pk)
    return list(recording.with_sources(viewer).filter(thread__in=readable).order_by("at", "pk"))


def _check_owner(thread: Thread, acting_user: Viewer) -> None:
    if acting_user is None or not acting_user.is_active or thread.user_id != acting_user.pk:
        raise NotPermitted(gettext("Only its owner can change a thread."))


def _title(text: str) -> str:
    return Truncator(clean_text(text)).chars(TITLE_CHARS)


def _as_markdown(answer: Answered, row: Answer, base: str) -> Iterator[str]:
    yield "## " + (plain_line(answer.question) or gettext("A withheld answer"))
    yield f"*{date_format(localtime(row.at), 'DATETIME_FORMAT')}*"
    if answer.withheld:
        yield gettext("This answer is withheld: you may not read all of its sources.")
        return
    if answer.text:
        yield linked_markdown(answer, lambda path: base + path).rstrip()


def sweep_running(older_than: timedelta = STALE) -> int:
    """Mark unfinished answers of killed workers as failed; return their number.

    An answer that began longer ago than any profile allows has no worker. One statement.
    """
    running = Answer.objects.filter(state=State.RUNNING.value, at__lt=timezone.now() - older_than)
    return running.update(state=State.FAILED.value, error="interrupted")


def forget(now: datetime | None = None) -> int:
    """Delete answers older than ANSWERS_DAYS, and threads without newer ones; return the number of
    answers.

    Answers older than SEARCH_EVENTS_ANONYMISE_DAYS and the calls of models lose their visitors. The
    cost of deleted answers stays: see `ModelCall`.
    """
    now = now or timezone.now()
    anonymous = now - timedelta(days=settings.SEARCH_EVENTS_ANONYMISE_DAYS)
    for rows in (Answer.objects, ModelCall.objects):
        rows.filter(at__lt=anonymous).exclude(visitor="").update(visitor="")
    oldest = now - timedelta(days=settings.ANSWERS_DAYS)
    old = Answer.objects.filter(at__lt=oldest)
    count = old.count()
    old.delete()
    Thread.objects.filter(updated__lt=oldest, answers=None).delete()
    return count
