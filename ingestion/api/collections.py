"""Collections over HTTP, and each of them as a file."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet
from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from common.api.permissions import requires
from common.api.viewsets import ReadViewSet
from ingestion.api.serializers.documents import CollectionSerializer
from ingestion.exporting import writing
from ingestion.models import Collection


class CollectionViewSet(ReadViewSet[Collection]):
    """The collections that the user may read."""

    serializer_class = CollectionSerializer
    open_to_read = True
    lookup_field = "slug"
    lookup_value_converter = "slug"
    queryset = Collection.objects.none()

    def get_queryset(self) -> QuerySet[Collection]:
        found = Collection.objects.visible_to(self.request.user).annotate(
            document_count=Count("documents__pk", filter=Q(documents__deleted_at=None)),
            searchable_count=Count(
                "documents__pk",
                filter=Q(documents__deleted_at=None, documents__current__isnull=False),
            ),
        )
        return found.order_by("name")  # a grouped query drops the model's own order

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    @action(detail=True)
    @requires("ingestion.change_collection")
    def export(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Export a collection as a ZIP archive.

        Originals, titles, hand edits, golden queries, judgements and pins, as
        `manage.py import_collection` reads them.
        """
        collection = self.get_object()
        if not writing.may_export(request.user, collection):
            raise Http404
        return writing.streamed(collection)
