"""The library's settings over HTTP: identifier patterns and embedding spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import transaction
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.errors import Conflict
from common.api.requests import actor
from common.api.serializers import CleanSerializer, refuse_unknown
from common.api.viewsets import ApiViewSet, EditableViewSet
from ingestion.api.serializers.library import SpaceListSerializer, SpaceSerializer
from ingestion.audit import log
from ingestion.errors import IngestionError
from ingestion.models import EmbeddingSpace, IdentifierPattern
from ingestion.models.patterns import INDEXING_FIELDS
from ingestion.spaces import changes
from ingestion.spaces.report import report_on, reports_on


class IdentifierPatternSerializer(CleanSerializer[IdentifierPattern]):
    """One kind of identifier. Each of the examples must be recognised as a whole."""

    examples = serializers.ListField(
        child=serializers.CharField(max_length=200), allow_empty=False, max_length=100
    )
    counter_examples = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=100
    )

    class Meta:
        model = IdentifierPattern
        fields = (
            "id", "name", "regex", "normaliser", "examples", "counter_examples", "position",
            "enabled", "warnings",
        )  # fmt: skip


class IdentifierPatternViewSet(EditableViewSet[IdentifierPattern]):
    """The identifier patterns, in the order in which they are tried.

    A changed pattern applies to questions immediately, and to documents when they are reprocessed.
    """

    serializer_class = IdentifierPatternSerializer
    lookup_value_converter = "int"
    queryset = IdentifierPattern.objects.all()

    @transaction.atomic
    def save(self, form: Any) -> Iterable[str]:
        changed = sorted(form.validated_data)
        form.row.save()
        is_new = form.instance is None
        message = "Added" if is_new else f"Changed {' and '.join(changed) or 'nothing'}"
        log(actor(self.request), form.row, ADDITION if is_new else CHANGE, message)
        return form.row.surprises(rereads=is_new or bool(INDEXING_FIELDS & set(changed)))  # type: ignore[no-any-return]

    @transaction.atomic
    def remove(self, row: IdentifierPattern) -> None:
        log(actor(self.request), row, DELETION, "Deleted")
        row.delete()


CHANGE_SPACES = "ingestion.change_embeddingspace"
DONE = {202: OpenApiResponse(SpaceSerializer, "The current state of the space.")}


class SpaceViewSet(ApiViewSet[EmbeddingSpace]):
    """Embedding spaces, for users with the permissions that the admin asks for."""

    serializer_class = SpaceSerializer  # type: ignore[assignment]  # of a report on the row
    pagination_class = None  # there are never many
    lookup_value_converter = "int"
    queryset = EmbeddingSpace.objects.order_by("pk")

    @extend_schema(responses=SpaceListSerializer)
    def list(self, request: Request) -> Response:
        refuse_unknown(request.query_params, ())
        reports = reports_on(self.get_queryset())
        return Response(SpaceListSerializer({"results": reports}).data)

    def retrieve(self, request: Request, pk: int) -> Response:
        return Response(SpaceSerializer(report_on(self.get_object())).data)

    @extend_schema(responses=DONE)
    @action(detail=True, methods=["post"])
    @requires(CHANGE_SPACES)
    def backfill(self, request: Request, pk: int) -> Response:
        """Fill an embedding space.

        In the background; also resumes after a pause or an error.
        """
        return self._do(changes.start)

    @extend_schema(responses=DONE)
    @action(detail=True, methods=["post"])
    @requires(CHANGE_SPACES)
    def pause(self, request: Request, pk: int) -> Response:
        """Pause filling an embedding space."""
        return self._do(changes.pause)

    @extend_schema(responses=DONE)
    @action(detail=True, methods=["post"])
    @requires(CHANGE_SPACES)
    def activate(self, request: Request, pk: int) -> Response:
        """Activate an embedding space.

        The next search uses it. The previous one is kept and can be activated again. 409, with the
        reasons, while vectors or its index are missing.
        """
        return self._do(changes.activate)

    @extend_schema(responses=DONE)
    def destroy(self, request: Request, pk: int) -> Response:
        """Remove an embedding space.

        With its vectors and its index, in the background. 409 for the active one.
        """
        return self._do(changes.drop)

    def _do(self, change: Callable[..., object]) -> Response:
        space = self.get_object()
        try:
            change(space, acting_user=actor(self.request))
        except IngestionError as error:
            raise Conflict(str(error)) from error
        space.refresh_from_db()
        return Response(SpaceSerializer(report_on(space)).data, status.HTTP_202_ACCEPTED)
