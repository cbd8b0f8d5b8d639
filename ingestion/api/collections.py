"""Collections over HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.requests import actor
from common.api.views import AnyNegotiation
from common.api.viewsets import EditableViewSet
from ingestion import collections, services
from ingestion.api.bin import BinListParameters, BinViewSet
from ingestion.api.serializers import CollectionSerializer, sees_groups
from ingestion.exporting import writing
from ingestion.models import Collection
from ingestion.models.visibility import open_to

# Settings used to process documents: a change takes effect when they are processed again.
READING_FIELDS = {"chunk_tokens", "overlap_tokens", "language"}


CHANGE = "ingestion.change_collection"


class CollectionViewSet(BinViewSet[Collection], EditableViewSet[Collection]):
    """The collections that the user may read."""

    serializer_class = CollectionSerializer
    list_parameters = BinListParameters
    open_to_read = True
    change = CHANGE
    lookup_field = "slug"
    lookup_value_converter = "slug"
    queryset = Collection.objects.none()

    def get_queryset(self) -> QuerySet[Collection]:
        readable = Q(documents__deleted_at=None) & open_to(self.request.user, "documents__")
        rows = Collection.objects.visible_to(self.request.user)
        if self.is_for_bin():
            rows = Collection.objects.exclude(deleted_at=None).open_to(self.request.user)
        rows = rows.annotate(
            document_count=Count("documents__pk", filter=readable),
            searchable_count=Count("documents__pk", readable & Q(documents__current__isnull=False)),
        )
        if sees_groups(self.request):
            rows = rows.prefetch_related("groups")
        return rows.order_by("name")  # a grouped query drops the model's own order

    def get_object(self) -> Collection:
        """The collection of the address; of several in the bin, the one that came there last."""
        row = self.get_queryset().filter(slug=self.kwargs["slug"]).order_by("-deleted_at").first()
        if row is None:
            raise Http404
        return row

    def restore(self, row: Collection) -> None:
        services.restore_collection(row, acting_user=actor(self.request))

    def save(self, form: Any) -> Iterable[str]:
        fields = dict(form.validated_data)
        groups = fields.pop("groups", None)
        fields.pop("deleted", None)  # false, of a new one
        collections.save(form.row, fields, groups, acting_user=actor(self.request))
        unread = form.instance is not None and READING_FIELDS & fields.keys()
        if unread and form.row.documents.visible_to(self.request.user).exists():
            yield (
                "Its documents keep their passages until they are processed again, in the admin or "
                "one by one."
            )

    def remove(self, row: Collection) -> None:
        may_delete = self.request.user.has_perm("ingestion.delete_document")
        if not may_delete and row.documents.undeleted().exists():
            raise PermissionDenied("It contains documents, and you may not delete documents.")
        services.delete_collection(row, acting_user=actor(self.request))

    def destroy(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Delete a collection.

        Puts it in the bin with all its documents; PATCH takes it out again until the grace period
        (DELETION_GRACE_DAYS) is over. Where it holds documents, deleting them must be permitted,
        too.
        """
        return super().destroy(request, *args, **kwargs)

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    @action(detail=True, content_negotiation_class=AnyNegotiation)
    @requires(CHANGE)
    def export(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Export a collection as a ZIP archive.

        Originals, titles, hand edits, golden queries, judgements and pins, as
        `manage.py import_collection` reads them.
        """
        collection = self.get_object()
        if not writing.may_export(request.user, collection):
            raise Http404
        return writing.streamed(collection, request.user)
