"""Watched folders over HTTP: how they stand."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_requests import ActionPermission, asked
from ingestion.models import Collection, WatchedFolder
from ingestion.paging import PageParameters, Pages


class WatchedFolderSerializer(serializers.ModelSerializer[WatchedFolder]):
    """A folder of the server that a collection mirrors. `counts` are the last look's."""

    collection = serializers.SlugRelatedField[Collection](slug_field="slug", read_only=True)
    counts = serializers.DictField(
        source="last_counts", child=serializers.IntegerField(), read_only=True
    )

    class Meta:
        model = WatchedFolder
        fields = (
            "id", "collection", "path", "include", "exclude", "recursive", "enabled",
            "poll_seconds", "deletion", "state", "message", "last_scan", "counts", "created",
        )  # fmt: skip
        read_only_fields = fields


class WatchedFolderViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[WatchedFolder]
):
    """The watched folders of the collections that the user may read."""

    serializer_class = WatchedFolderSerializer
    pagination_class = Pages
    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = dict.fromkeys(
        ("list", "retrieve"), "ingestion.view_watchedfolder"
    )
    lookup_url_kwarg = "number"
    queryset = WatchedFolder.objects.none()

    def get_queryset(self) -> Any:
        return WatchedFolder.objects.visible_to(self.request.user).select_related("collection")

    @extend_schema(summary="List watched folders", parameters=[PageParameters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        asked(request, PageParameters)
        return super().list(request, *args, **kwargs)

    @extend_schema(summary="Show a watched folder")
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().retrieve(request, *args, **kwargs)
