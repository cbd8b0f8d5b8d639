"""Embedding spaces over HTTP, for those who may look after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_requests import ActionPermission, Conflict, actor
from ingestion.errors import IngestionError
from ingestion.models import EmbeddingSpace
from ingestion.spaces import changes
from ingestion.spaces.index import IndexState
from ingestion.spaces.report import Report, report_on, reports_on


class SpaceIndexSerializer(serializers.Serializer[Any]):
    """The space's vector index. `phase` and `share` are Postgres' own while it is built."""

    state = serializers.ChoiceField(choices=[state.value for state in IndexState])
    phase = serializers.CharField()
    share = serializers.FloatField(allow_null=True)


class SpaceSerializer(serializers.Serializer[Report]):
    """An embedding space and how far it is.

    `share` of the passages have a vector in it. `missing` and `missing_tokens` are what is still
    to be embedded; `cost` and `spent` follow from the price of a million tokens: estimates.
    """

    id = serializers.IntegerField(source="space.pk")
    name = serializers.CharField(source="space.name")
    fingerprint = serializers.CharField(source="space.fingerprint")
    state = serializers.ChoiceField(choices=EmbeddingSpace.State.choices, source="space.state")
    dimensions = serializers.IntegerField(source="space.dimensions")
    max_tokens = serializers.IntegerField(source="space.max_tokens")
    languages = serializers.ListField(child=serializers.CharField(), source="space.languages")
    index = SpaceIndexSerializer()
    share = serializers.FloatField()
    missing = serializers.IntegerField()
    missing_tokens = serializers.IntegerField()
    paused = serializers.BooleanField(source="space.paused")
    worked_on = serializers.BooleanField(source="is_worked_on")
    ready = serializers.BooleanField(
        source="is_ready", help_text="It is filled and indexed, and waits to be activated."
    )
    error = serializers.CharField(source="space.error")
    requests_per_minute = serializers.IntegerField(source="space.requests_per_minute")
    tokens_per_minute = serializers.IntegerField(source="space.tokens_per_minute")
    price = serializers.DecimalField(max_digits=12, decimal_places=6, source="space.price")
    cost = serializers.SerializerMethodField()
    tokens_spent = serializers.IntegerField(source="space.tokens_spent")
    spent = serializers.SerializerMethodField()
    created = serializers.DateTimeField(source="space.created")
    activated = serializers.DateTimeField(source="space.activated_at", allow_null=True)
    remarks = serializers.ListField(child=serializers.CharField())

    @extend_schema_field(serializers.DecimalField(max_digits=14, decimal_places=4))
    def get_cost(self, report: Report) -> str:
        return f"{report.cost:.4f}"

    @extend_schema_field(serializers.DecimalField(max_digits=14, decimal_places=4))
    def get_spent(self, report: Report) -> str:
        return f"{report.spent:.4f}"


class SpaceListSerializer(serializers.Serializer[Any]):
    """All embedding spaces: there are never many."""

    results = SpaceSerializer(many=True)


DONE = {202: OpenApiResponse(SpaceSerializer, "The space as it stands now.")}


class SpaceViewSet(GenericViewSet[EmbeddingSpace]):
    """Embedding spaces, for users with the permissions that the admin asks for."""

    serializer_class = SpaceSerializer  # type: ignore[assignment]  # of a report on the row
    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "ingestion.view_embeddingspace",
        "retrieve": "ingestion.view_embeddingspace",
        "backfill": "ingestion.change_embeddingspace",
        "pause": "ingestion.change_embeddingspace",
        "activate": "ingestion.change_embeddingspace",
        "destroy": "ingestion.delete_embeddingspace",
    }
    queryset = EmbeddingSpace.objects.none()

    def get_queryset(self) -> QuerySet[EmbeddingSpace]:
        return EmbeddingSpace.objects.order_by("pk")

    @extend_schema(summary="List embedding spaces", responses=SpaceListSerializer)
    def list(self, request: Request) -> Response:
        reports = reports_on(self.get_queryset())
        return Response(SpaceListSerializer({"results": reports}).data)

    @extend_schema(summary="Show an embedding space")
    def retrieve(self, request: Request, pk: int) -> Response:
        return Response(SpaceSerializer(report_on(self._space(pk))).data)

    @extend_schema(
        summary="Fill an embedding space",
        description="In the background; again after a pause or a fault.",
        request=None,
        responses=DONE,
    )
    def backfill(self, request: Request, pk: int) -> Response:
        return self._do(request, pk, changes.start)

    @extend_schema(summary="Pause filling an embedding space", request=None, responses=DONE)
    def pause(self, request: Request, pk: int) -> Response:
        return self._do(request, pk, changes.pause)

    @extend_schema(
        summary="Activate an embedding space",
        description="The next search uses it; the one before it is kept, and activating that again "
        "goes back. 409, with the reasons, while it lacks vectors or its index.",
        request=None,
        responses=DONE,
    )
    def activate(self, request: Request, pk: int) -> Response:
        return self._do(request, pk, changes.activate)

    @extend_schema(
        summary="Remove an embedding space",
        description="With its vectors and its index, in the background. 409 for the active one.",
        responses=DONE,
    )
    def destroy(self, request: Request, pk: int) -> Response:
        return self._do(request, pk, changes.drop)

    def _do(self, request: Request, pk: int, action: Callable[..., object]) -> Response:
        space = self._space(pk)
        try:
            action(space, acting_user=actor(request))
        except IngestionError as error:
            raise Conflict(str(error)) from error
        space.refresh_from_db()
        return Response(SpaceSerializer(report_on(space)).data, status.HTTP_202_ACCEPTED)

    def _space(self, pk: int) -> EmbeddingSpace:
        return get_object_or_404(self.get_queryset(), pk=pk)
