"""Embedding spaces over HTTP, for those who may look after them."""

from __future__ import annotations

from collections.abc import Callable

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.errors import Conflict
from common.api.permissions import requires
from common.api.requests import actor
from common.api.viewsets import ApiViewSet
from ingestion.api.serializers.spaces import SpaceListSerializer, SpaceSerializer
from ingestion.errors import IngestionError
from ingestion.models import EmbeddingSpace
from ingestion.spaces import changes
from ingestion.spaces.report import report_on, reports_on

CHANGE = "ingestion.change_embeddingspace"
DONE = {202: OpenApiResponse(SpaceSerializer, "The space as it stands now.")}


class SpaceViewSet(ApiViewSet[EmbeddingSpace]):
    """Embedding spaces, for users with the permissions that the admin asks for."""

    serializer_class = SpaceSerializer  # type: ignore[assignment]  # of a report on the row
    pagination_class = None  # there are never many
    lookup_value_converter = "int"
    queryset = EmbeddingSpace.objects.order_by("pk")

    @extend_schema(responses=SpaceListSerializer)
    def list(self, request: Request) -> Response:
        reports = reports_on(self.get_queryset())
        return Response(SpaceListSerializer({"results": reports}).data)

    def retrieve(self, request: Request, pk: int) -> Response:
        return Response(SpaceSerializer(report_on(self.get_object())).data)

    @extend_schema(responses=DONE)
    @action(detail=True, methods=["post"])
    @requires(CHANGE)
    def backfill(self, request: Request, pk: int) -> Response:
        """Fill an embedding space.

        In the background; again after a pause or a fault.
        """
        return self._do(changes.start)

    @extend_schema(responses=DONE)
    @action(detail=True, methods=["post"])
    @requires(CHANGE)
    def pause(self, request: Request, pk: int) -> Response:
        """Pause filling an embedding space."""
        return self._do(changes.pause)

    @extend_schema(responses=DONE)
    @action(detail=True, methods=["post"])
    @requires(CHANGE)
    def activate(self, request: Request, pk: int) -> Response:
        """Activate an embedding space.

        The next search uses it; the one before it is kept, and activating that again goes back.
        409, with the reasons, while it lacks vectors or its index.
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
