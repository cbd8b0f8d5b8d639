"""What was done with the results of a search, reported by whoever searched."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.api.requests import Rank, read_body
from common.api.serializers import ChoiceField, Parameters
from search.analytics.interactions import MAX_SECONDS, Said, record_interaction
from search.analytics.models import Interaction
from search.errors import UnknownSearch


class InteractionSerializer(Parameters):
    """An interaction with a result, or feedback on the search (`solved`, `unsolved`)."""

    kind = ChoiceField(
        choices=Interaction.Kind.choices,
        help_text="`click`, `dwell` (with `seconds`), `up` and `down` name a document; `solved` "
        "and `unsolved` say whether the search answered the question.",
    )
    document = serializers.UUIDField(
        required=False, allow_null=True, help_text="One of the documents found, by its id."
    )
    seconds = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=86_400,
        help_text=f"For `dwell`: how long it was read; counted up to {MAX_SECONDS:g}.",
    )
    undo = serializers.BooleanField(
        default=False, help_text="Takes a thumb or an answer back instead."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["kind"] == Interaction.Kind.DWELL and attrs.get("seconds") is None:
            raise serializers.ValidationError({"seconds": "Say how long it was read."})
        return attrs

    @property
    def said(self) -> Said:
        given = self.validated_data
        return Said(
            kind=Interaction.Kind(given["kind"]),
            document=given.get("document"),
            seconds=given.get("seconds"),
            undo=given["undo"],
        )


class InteractionView(APIView):
    """Interactions with the results of a search."""

    permission_classes = (AllowAny,)
    rank = Rank.SEARCH
    needs_scope = "read"

    @extend_schema(
        operation_id="search_interaction",
        request=InteractionSerializer,
        responses={204: OpenApiResponse(description="It is noted.")},
    )
    def post(self, request: Request, search_id: UUID) -> Response:
        """Report a click, reading time, a thumb or an answer.

        For the search that `search_id` named in its answer, within a day, and only by who
        searched: the same user, or without one the same address and program. Reporting the same
        again changes nothing; a thumb down takes a thumb up back, and the other way round.
        """
        report = read_body(request, InteractionSerializer)
        try:
            record_interaction(request, search_id, report.said)
        except UnknownSearch as error:
            raise Http404 from error
        return Response(status=status.HTTP_204_NO_CONTENT)
