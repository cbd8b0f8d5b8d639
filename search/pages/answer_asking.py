"""From a request to a question: the form, permissions, rate limits, thread."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any, cast
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.db import transaction
from django.db.models import Subquery, Value
from django.db.models.functions import Greatest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import CSRFCheck

from common.accounts.models import User
from ingestion.models.visibility import Viewer
from search.analytics.pseudonyms import ROBOT, is_prefetched, is_recorded, visitor_of
from search.answers import recording, threads
from search.answers.budgets import budget_key
from search.answers.domain import MODEL_FAILED, Answered, Mode, State
from search.answers.models import Answer, AnswerSettings, Thread
from search.answers.request import AnswerRequest
from search.pages.facets import facets_for
from search.pages.search_form import FlagField, QueryField, SearchForm

# The same question of an asker within this time gets the answer that a model has written: reloads
# and returns from a document cost nothing. A guess.
SAME_ANSWER = timedelta(minutes=10)


class AskForm(SearchForm):
    """A question: a search with a mode and, for signed-in askers, a thread.

    `follows` is the answer that the question follows, `searched_for` the reader's own wording for
    the search. `again`: not an earlier answer.
    """

    def __init__(self, request: HttpRequest) -> None:
        data = request.POST if request.method == "POST" else request.GET
        super().__init__(data, cache(lambda: facets_for(request.user)))
        self.fields |= {
            "mode": forms.ChoiceField(
                choices=[("", "")] + [(mode.value, mode.value) for mode in Mode],
                required=False,
                error_messages={
                    "invalid_choice": _("“%(value)s” is not a mode. Ask without naming a mode.")
                },
            ),
            "thread": forms.UUIDField(required=False),
            "follows": forms.UUIDField(required=False),
            "searched_for": QueryField(required=False),
            "again": FlagField(),
        }

    @property
    def mode(self) -> Mode | None:
        value = self.cleaned_data["mode"]
        return Mode(value) if value else None


def is_own_request(request: HttpRequest) -> bool:
    """Whether a page of this site sent the request; also true for programs, which do not say.

    Browsers send Sec-Fetch-Site over HTTPS alone, and Origin with posts of other sites.
    """
    site = request.headers.get("Sec-Fetch-Site")
    sender = request.headers.get("Origin") or request.headers.get("Referer")
    is_own = site == "same-origin" if site else not sender or _is_here(sender, request)
    return is_own and _has_token(request)


def _is_here(address: str, request: HttpRequest) -> bool:
    """Whether the address is one of this host. Its scheme is not compared: a proxy may end TLS."""
    try:
        return urlsplit(address).netloc.lower() == request.get_host().lower()
    except ValueError:
        return False


def _is_opened_here(request: HttpRequest, *, may_write: bool) -> bool:
    """Whether a page of this site, or its reader, opened the address.

    If the browser does not say, only quotes are given: a model costs money, and needs the address
    of a page of this site.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site:
        return site in ("same-origin", "none")
    sender = request.headers.get("Referer")
    return _is_here(sender, request) if sender else not may_write


def may_start(request: HttpRequest, *, may_write: bool) -> bool:
    """Whether opening an address may start an answer: a person did it, not a robot or prefetch.

    Nor a link on another site, which must not spend this site's budget.
    """
    return (
        request.method != "HEAD"
        and _is_opened_here(request, may_write=may_write)
        and not is_prefetched(request)
        and not ROBOT.search(request.headers.get("User-Agent", ""))
    )


def _has_token(request: HttpRequest) -> bool:
    """Whether a signed-in user's request has a CSRF token; others have no cookie for one."""
    if not request.user.is_authenticated or request.method != "POST":
        return True
    check = CSRFCheck(_unused)
    check.process_request(request)
    return check.process_view(request, _unused, (), {}) is None


def _unused(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError


def answer_request_of(request: HttpRequest, form: AskForm) -> AnswerRequest:
    """The question of a valid form. Raises Http404 for a thread or answer that is not the asker's.

    The first follow-up of a signed-in user starts a thread, with the answer that it follows.
    """
    viewer = cast("Viewer", request.user)
    return AnswerRequest(
        question=form.query,
        viewer=viewer,
        visitor=visitor_of(request),
        budget_key=budget_key(request),
        mode=form.mode,
        filters=form.filters,
        choices=form.choices,
        thread=_thread(viewer, form.cleaned_data),
        is_recorded=is_recorded(request),
        searched_for=form.cleaned_data["searched_for"] or None,
    )


def _thread(viewer: Viewer, cleaned: dict[str, Any]) -> Thread | None:
    if cleaned["thread"]:
        return get_object_or_404(Thread.objects.owned_by(viewer), public_id=cleaned["thread"])
    if not cleaned["follows"]:
        return None
    if viewer is None or not viewer.is_authenticated:
        raise Http404
    return _thread_after(viewer, cleaned["follows"])


@transaction.atomic
def _thread_after(user: User, answer_id: Any) -> Thread:
    answers = Answer.objects.answers_of(user).select_for_update(of=("self",))
    before = get_object_or_404(answers.select_related("thread"), public_id=answer_id)
    if before.thread is None:
        before.thread = threads.start(user, before.question)
        before.save(update_fields=["thread"])
    return before.thread


def same_answer(answer_request: AnswerRequest, form: AskForm) -> Answered | None:
    """The answer that a model has just written to the asker's same question, or None.

    Only for questions without filters and threads, as others are stored without their filters.
    Quotes cost nothing and are chosen anew, as is everything after a change of the settings.
    """
    if (
        form.cleaned_data["again"]
        or answer_request.searched_for
        or answer_request.thread
        or form.carried
    ):
        return None
    if not settings.ANSWERS_GENERATED:
        return None
    own = Answer.objects.answers_of(answer_request.viewer, answer_request.visitor)
    rows = (
        recording.with_sources(answer_request.viewer)
        .filter(
            pk__in=own.values("pk"),
            question=answer_request.question,
            thread=None,
            state=State.DONE.value,
            at__gte=Greatest(
                Value(timezone.now() - SAME_ANSWER),
                Subquery(AnswerSettings.objects.values("changed")),
            ),
            channel=answer_request.channel,
        )
        .exclude(model="")
    )
    if answer_request.mode is not None:
        rows = rows.filter(asked_mode=answer_request.mode.value)
    row: Answer | None = rows.order_by("-at").first()
    if row is None or row.is_withheld or MODEL_FAILED & set(row.degraded) or not row.text:
        return None  # failures of the search alone are no reason to pay once more
    if any(each.version_id != each.document.current_id for each in row.sources.all()):
        return None  # a document has changed
    return recording.answered(row)
