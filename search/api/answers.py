"""Answers in the API: generated, read back and rated."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.exceptions import NotAcceptable, ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.mediatypes import media_type_matches

from common.api.access import OPEN, requires
from common.api.idempotency import HEADER
from common.api.requests import Rank, location, read_body
from common.api.throttles import AnonymousAnswersThrottle, UserAnswersThrottle
from common.api.viewsets import ApiViewSet
from search.analytics.pseudonyms import is_recorded, visitor_of
from search.answers import answering, feedback, recording
from search.answers.as_json import add_rectangles, answer_data, event_data
from search.answers.budgets import budget_key
from search.answers.domain import Mode
from search.answers.models import Answer, Thread
from search.answers.request import AnswerRequest
from search.answers.streaming import sse
from search.api.answer_forms import (
    EVENT_STREAM,
    AnswerSerializer,
    AnswerSummarySerializer,
    AskParameters,
    FeedbackSerializer,
    GiveFeedbackSerializer,
    StoredAnswerSerializer,
    stored,
    summary,
)


def answer_request(request: Request, parameters: AskParameters) -> AnswerRequest:
    """The question of valid parameters. Raises Http404 for a thread that is not the asker's."""
    data = parameters.validated_data
    mode, thread_id = data.get("mode"), data.get("thread")
    own = Thread.objects.owned_by(request.user)
    thread = get_object_or_404(own, public_id=thread_id) if thread_id else None
    return AnswerRequest(
        question=data["query"],
        viewer=request.user,
        visitor=visitor_of(request),
        budget_key=budget_key(request),
        mode=Mode(mode) if mode else None,
        filters=parameters.filters,
        choices=parameters.choices,
        thread=thread,
        channel="api",
        # A conversation consists of its answers.
        is_recorded=thread is not None or is_recorded(request),
        searched_for=data.get("searched_for") or None,
        abstain_below=data.get("abstain_below"),
    )


class AnswerViewSet(ApiViewSet[Answer]):
    """Answers to questions, with the sources that every sentence stands on."""

    serializer_class = StoredAnswerSerializer
    rank = Rank.SEARCH
    permission = OPEN
    lookup_url_kwarg = "answer_id"
    lookup_value_converter = "uuid"
    queryset = Answer.objects.none()

    @property
    def error_statuses(self) -> tuple[int, ...]:  # type: ignore[override]
        return (404, 503) if getattr(self, "action", "") == "create" else ()

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # `create` reads `Accept` itself: one of its two types is no renderer's.
        return super().perform_content_negotiation(request, force or self.action == "create")

    def get_throttles(self) -> list[Any]:
        throttles = super().get_throttles()
        if self.action == "create":
            throttles += [AnonymousAnswersThrottle(), UserAnswersThrottle()]
        return throttles

    def get_queryset(self) -> QuerySet[Answer]:
        own = Answer.objects.with_readable_sources(self.request.user)
        own = own.answers_of(self.request.user).select_related("thread")
        return own.order_by("-at", "-pk")

    @extend_schema(
        request=AskParameters,
        responses={
            (200, "application/json"): AnswerSerializer,
            (200, EVENT_STREAM): OpenApiResponse(
                OpenApiTypes.STR,
                "The events `step`, `sources`, `token`, `citation`, `check`, `done` and `error`.",
            ),
        },
    )
    def create(self, request: Request) -> HttpResponseBase:
        """Answer a question.

        From what you may read, each sentence with its sources and whether they bear it out. With
        `stream`, or `Accept: text/event-stream`, as events while it is written. Nothing that you
        may read seems to answer: `state` is `refused`. The answer is stored, for you alone.
        """
        parameters = read_body(request, AskParameters)
        question = answer_request(request, parameters)
        form = {"texts": parameters.validated_data["texts"], "absolute": request.build_absolute_uri}
        accepts = request.accepted_types_by_precedence
        events, whole = (
            next((each.quality for each in accepts if media_type_matches(kind, str(each))), 0)
            for kind in (EVENT_STREAM, JSONRenderer.media_type)
        )
        if not events and not whole:
            raise NotAcceptable
        streams = parameters.validated_data.get("stream", events > whole)
        if HEADER in request.headers and (streams or not question.is_recorded):
            raise ValidationError({HEADER: ["A stream and what is not stored have no repetition."]})
        if streams and parameters.validated_data["rectangles"]:
            raise ValidationError({"rectangles": ["A stream has none."]})
        if streams:
            return sse(answering.events(question), partial(event_data, **form))
        answered = answering.answer(question)
        data = answer_data(answered, **form)
        if parameters.validated_data["rectangles"]:
            add_rectangles(data, answered.context, viewer=request.user)
        place = location(request, "answer-detail", data["id"])["Location"]
        return Response(data, headers={"Content-Location": place} if question.is_recorded else None)

    @extend_schema(responses=AnswerSummarySerializer(many=True))
    def list(self, request: Request) -> Response:
        """List your answers.

        The newest first. Without signing in the list is empty: visitors of one address share it.
        """
        rows: Any = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response([summary(row) for row in rows])

    def retrieve(self, request: Request, answer_id: str) -> Response:
        """Show an answer of yours, or of a shared thread.

        If you may no longer read one of its sources, it is `withheld`.
        """
        row = self._readable(request, answer_id)
        return Response(stored([row], request)[0])

    @extend_schema(responses={201: FeedbackSerializer})
    @action(detail=True, methods=["post"], url_path="feedback", body=GiveFeedbackSerializer)
    @requires(OPEN)
    def rate(self, request: Request, answer_id: str) -> Response:
        """Say whether an answer helped.

        The last word of each reader counts. A complaint shows the question to administrators who
        may read all sources of the answer.
        """
        row = self._readable(request, answer_id)
        if row.is_withheld:
            raise Http404
        rating = feedback.give(
            row,
            viewer=request.user,
            visitor=visitor_of(request),
            **read_body(request, GiveFeedbackSerializer).validated_data,
        )
        headers = location(request, "answer-detail", row.public_id)
        return Response(FeedbackSerializer(rating).data, status.HTTP_201_CREATED, headers=headers)

    @extend_schema(request=None, responses={204: OpenApiResponse(description="It is gone.")})
    @rate.mapping.delete
    @requires(OPEN)
    def take_back(self, request: Request, answer_id: str) -> Response:
        """Take your feedback back."""
        row = self._readable(request, answer_id)
        feedback.take_back(row, visitor=visitor_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _readable(self, request: Request, answer_id: str) -> Answer:
        row = recording.readable(str(answer_id), request.user, visitor_of(request))
        if row is None:
            raise Http404
        return row
