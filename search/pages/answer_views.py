"""The views of answers: the stream, the whole answer, one answer by its address, feedback."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common import UserError
from common.api.throttles import seconds_to_wait
from common.database import in_thread
from ingestion.models.visibility import Viewer
from search.analytics.pseudonyms import visitor_of
from search.answers import answering, recording
from search.answers import feedback as feedbacks
from search.answers.as_json import NAMES, event_data
from search.answers.domain import Answered, Done, Event, Failed, Sources, State
from search.answers.models import Answer, AnswerFeedback
from search.answers.request import AnswerRequest
from search.answers.streaming import error_frame, frame, stream
from search.pages.answer_asking import (
    AskForm,
    answer_request_of,
    is_own_request,
    may_start,
    same_answer,
)
from search.pages.answer_cards import (
    answer_card,
    answer_fragment,
    context_of,
    step_label,
    stored_card,
)
from search.pages.threads import own_threads

THREADS = 5  # of the reader, below the box of the page for a question; a guess


class AskProblem(UserError):
    """A question that is not answered, and the status of its response."""

    def __init__(self, message: str, status: int, retry_after: int | None = None) -> None:
        super().__init__(message, retry_after)
        self.status = status


# Neither view needs a cookie of readers who are not signed in; `is_own_request` checks the token of
# those who are, and that a page of this site sent the request.
@csrf_exempt
@require_POST
def events(request: HttpRequest) -> HttpResponseBase:
    """The events of an answer. `done` also has its HTML, in place of the text until then."""
    form = AskForm(request)
    try:
        answer_request = _read_question(request, form)
        response = stream(_frames(request, form, answer_request), failed=error_frame)
    except UserError as error:
        return HttpResponse(
            str(error), status=error.status, content_type="text/plain", headers=error.headers
        )
    patch_cache_control(response, private=True)
    return response


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def whole(request: HttpRequest) -> HttpResponse:
    """A page with the whole answer: what the stream gives, for browsers without scripts."""
    form = AskForm(request)
    context: dict[str, Any] = {"form": form}
    may_write = settings.ANSWERS_GENERATED
    may_answer = request.method == "POST" or may_start(request, may_write=may_write)
    if not form.is_valid() or not form.query or not may_answer:
        context["problems"] = form.problems
        if request.user.is_authenticated:
            context["threads"] = own_threads(request)[:THREADS]
        return render(
            request, "search/answers/page.html", context, status=400 if form.problems else 200
        )
    try:
        answer_request = _read_question(request, form, is_opened=request.method != "POST")
        answered = same_answer(answer_request, form) or _final_answer(answer_request)
    except UserError as error:
        context["problems"] = [str(error)]
        page = render_to_string("search/answers/page.html", context, request)
        return HttpResponse(page, status=error.status, headers=error.headers)
    if answer_request.thread is not None and answer_request.is_recorded:
        address = reverse("search:thread", args=(answer_request.thread.public_id,))
        return redirect(f"{address}#answer-{answered.id[:8]}")
    if answer_request.is_recorded and _is_stored(answered):
        return redirect("search:answer", answered.id)
    card = answer_card(answered, request, is_stored=False, carried=form.carried)
    return render(request, "search/answers/page.html", context | context_of(card))


@never_cache
@require_safe
def answer(request: HttpRequest, answer_id: UUID) -> HttpResponse:
    """One answer, for its asker and the readers of its thread; withheld if a source is hidden."""
    card = stored_card(_own(request, answer_id), request)
    return render(request, "search/answers/page.html", context_of(card))


class FeedbackForm(forms.Form):
    helpful = forms.TypedChoiceField(
        choices=[("1", "yes"), ("0", "no")], coerce=lambda value: value == "1"
    )
    reason = forms.ChoiceField(choices=[("", ""), *AnswerFeedback.Reason.choices], required=False)
    source = forms.IntegerField(required=False, min_value=1, max_value=1000)
    note = forms.CharField(required=False, max_length=1000)


@csrf_exempt
@require_POST
def feedback(request: HttpRequest, answer_id: UUID) -> HttpResponse:
    """Save the asker's feedback; respond to scripts with an empty response, else with a page."""
    if not is_own_request(request):
        return HttpResponse(status=403)
    form = FeedbackForm(request.POST)
    if not form.is_valid():
        return HttpResponse(gettext("Invalid report."), status=400, content_type="text/plain")
    row = _own(request, answer_id)
    if row.is_withheld:
        raise Http404
    data, viewer = form.cleaned_data, cast("Viewer", request.user)
    try:
        feedbacks.give(row, viewer=viewer, visitor=visitor_of(request), **data)
    except UserError as error:
        return HttpResponse(str(error), status=400, content_type="text/plain")
    if request.POST.get("quietly"):
        return HttpResponse(status=204)
    card = stored_card(row, request)
    asks_why = not data["helpful"] and not data["reason"]
    context = {**context_of(card), "row": row, "asks_why": asks_why}
    return render(request, "search/answers/feedback_thanks.html", context)


def _read_question(
    request: HttpRequest, form: AskForm, *, is_opened: bool = False
) -> AnswerRequest:
    """The question of a request. Raises UserError or Http404 if it is not to be answered."""
    if not is_opened and not is_own_request(request):
        raise AskProblem(gettext("Ask on this site: the request came from elsewhere."), 403)
    if not form.is_valid():
        raise AskProblem(" ".join(form.problems), 400)
    if not form.query:
        raise AskProblem(gettext("Type a question."), 400)
    wait = seconds_to_wait(request)
    if wait:
        message = gettext("Too many questions. Ask again in %(wait)d s.") % {"wait": wait}
        raise AskProblem(message, 429, wait)
    return answer_request_of(request, form)


async def _frames(
    request: HttpRequest, form: AskForm, answer_request: AnswerRequest
) -> AsyncGenerator[str]:
    ended = await in_thread(lambda: same_answer(answer_request, form))
    is_stored = ended is not None
    if ended is not None:
        yield frame("sources", event_data(Sources(ended.context), texts=False))
    else:
        making = cast("AsyncGenerator[Event]", answering.events(answer_request))
        async with aclosing(making):
            async for event in making:
                ended = event.answer if isinstance(event, Done | Failed) else None
                if ended is not None and ended.text:
                    break
                data = event_data(event, texts=False)
                if NAMES[type(event)] == "step":
                    data["label"] = step_label(data["name"])
                yield frame(NAMES[type(event)], data)
    if ended is None or not ended.text:
        return
    is_stored = is_stored or (answer_request.is_recorded and _is_stored(ended))
    make = partial(answer_card, ended, request, is_stored=is_stored, carried=form.carried)
    card = await in_thread(make)
    html = await in_thread(lambda: answer_fragment(card, request))
    yield frame("done", {"id": ended.id, "thread": ended.thread or None, "html": html})


def _final_answer(answer_request: AnswerRequest) -> Answered:
    """The answer at its end. Raises AskProblem if it failed without a text, and Busy."""
    end = answering.final_event(answer_request)
    if end.answer is None or (isinstance(end, Failed) and not end.answer.text):
        raise AskProblem(end.message if isinstance(end, Failed) else "", 503)
    return end.answer


def _is_stored(answered: Answered) -> bool:
    return answered.state in (State.DONE, State.REFUSED)


def _own(request: HttpRequest, answer_id: UUID) -> Answer:
    """The answer, if the visitor asked for it or may read its thread. Raises Http404 otherwise."""
    viewer = cast("Viewer", request.user)
    row = recording.readable(str(answer_id), viewer, visitor_of(request))
    if row is None:
        raise Http404
    return row
