"""From a request to a question to be answered."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request

from common.api.serializers import ChoiceField
from search.analytics.privacy import budget_key, is_recorded, visitor_of
from search.answers.domain import Mode
from search.answers.models import Thread
from search.answers.request import AnswerRequest
from search.api.parameters import QuestionParameters
from search.query import MAX_QUERY_CHARS

EVENT_STREAM = "text/event-stream"


class AnswerParameters(QuestionParameters):
    """A question, how it is to be answered, and in which conversation."""

    mode = ChoiceField(
        choices=[mode.value for mode in Mode],
        required=False,
        help_text="`instant`: one search, and quotes or one call of the model. `auto`: more if "
        "the confidence is low. `thinking`: several searches and one repair. By default the "
        "answer profile's.",
    )
    thread = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="One of your threads. The question follows those asked there before.",
    )
    searched_for = serializers.CharField(
        required=False,
        max_length=MAX_QUERY_CHARS,
        help_text="Search for this in place of a standalone question made from `q` and the thread.",
    )
    stream = serializers.BooleanField(
        default=False,
        help_text="Send the answer as events while it is written; so does the header "
        f"`Accept: {EVENT_STREAM}`.",
    )
    texts = serializers.BooleanField(
        default=True, help_text="Whether each source includes the text of its passage."
    )


class AnyNegotiation(DefaultContentNegotiation):
    """Answer in JSON whatever `Accept` says: the view reads it, and errors are always JSON."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


def wants_stream(request: Request, parameters: AnswerParameters) -> bool:
    return bool(
        parameters.validated_data["stream"] or EVENT_STREAM in request.headers.get("Accept", "")
    )


def asked_by(request: Request, parameters: AnswerParameters) -> AnswerRequest:
    """The question of valid parameters. Raises Http404 for a thread that is not the asker's."""
    given = parameters.validated_data
    mode = given.get("mode")
    thread = _own_thread(request, given.get("thread"))
    return AnswerRequest(
        question=given["q"],
        viewer=request.user,
        visitor=visitor_of(request).key,
        budget_key=budget_key(request),
        mode=Mode(mode) if mode else None,
        filters=parameters.filters,
        choices=parameters.choices,
        thread=thread,
        channel="api",
        # A conversation consists of its answers.
        is_recorded=thread is not None or is_recorded(request),
        searched_for=given.get("searched_for") or None,
    )


def _own_thread(request: Request, public_id: UUID | None) -> Thread | None:
    if public_id is None:
        return None
    thread = Thread.objects.owned_by(request.user).filter(public_id=public_id).first()
    if thread is None:
        raise Http404
    return thread
