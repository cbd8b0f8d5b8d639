"""Collections over HTTP, the concepts of their documents, and passages with their hand edits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import Http404, StreamingHttpResponse
from django_filters import filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.requests import actor, read_body
from common.api.viewsets import ApiViewSet, EditableViewSet, FilterSet
from ingestion import collections, services
from ingestion.api.serializers import (
    ChunkEditSerializer,
    ChunkSerializer,
    CollectionSerializer,
    WishSerializer,
    sees_groups,
)
from ingestion.exporting import writing
from ingestion.models import Chunk, ChunkEdit, Collection, Concept, Document
from ingestion.models.documents import open_to

# Settings used to process documents: a change takes effect when they are processed again.
READING_FIELDS = {"chunk_tokens", "overlap_tokens", "language"}


class CollectionViewSet(EditableViewSet[Collection]):
    """The collections that the user may read."""

    serializer_class = CollectionSerializer
    open_to_read = True
    lookup_field = "slug"
    lookup_value_converter = "slug"
    queryset = Collection.objects.none()

    def get_queryset(self) -> QuerySet[Collection]:
        readable = Q(documents__deleted_at=None) & open_to(self.request.user, "documents__")
        rows = Collection.objects.visible_to(self.request.user).annotate(
            document_count=Count("documents__pk", filter=readable),
            searchable_count=Count("documents__pk", readable & Q(documents__current__isnull=False)),
        )
        return rows.prefetch_related(*self._related()).order_by(
            "name"
        )  # a grouped query drops the model's own order

    def _related(self) -> tuple[str, ...]:
        return ("groups",) if sees_groups(self.request) else ()

    def save(self, form: Any) -> Iterable[str]:
        fields = dict(form.validated_data)
        groups = fields.pop("groups", None)
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

        Puts it in the bin with all its documents; an administrator can restore it until the grace
        period (DELETION_GRACE_DAYS) is over. Where it holds documents, deleting them must be
        permitted, too.
        """
        return super().destroy(request, *args, **kwargs)

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
        return writing.streamed(collection, request.user)


class ConceptSerializer(serializers.Serializer[dict[str, Any]]):
    """A characteristic phrase of documents that the user may read."""

    key = serializers.CharField(
        help_text="Its lexemes: the value of `concept` in searches and the list of documents."
    )
    name = serializers.CharField(source="label", help_text="A form in which the documents use it.")
    documents = serializers.IntegerField(help_text="The number of documents that have it.")
    occurrences = serializers.IntegerField(help_text="In these documents together.")


class ConceptFilter(FilterSet):  # type: ignore[misc]
    """Filters of the list of concepts."""

    q = filters.CharFilter(
        field_name="label__icontains",
        method="of_matching_keys",
        max_length=200,
        help_text="Part of a concept, without regard to case.",
    )
    document = filters.UUIDFilter(
        field_name="document__public_id",
        method="of_matching_keys",
        help_text="The id of a document: its concepts alone, counted over all documents.",
    )

    def of_matching_keys(self, queryset: Any, name: str, value: Any) -> QuerySet[Any]:
        """All rows with the matching keys, so that the counts cover the whole library."""
        keys = queryset.filter(**{name: value}).order_by().values("key")
        rows: QuerySet[Any] = queryset.filter(key__in=keys)
        return rows


class ConceptViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """The concepts of the documents that the user may read, those of most documents first."""

    serializer_class = ConceptSerializer
    filterset_class = ConceptFilter
    open_to_read = True
    queryset = Concept.objects.all()

    def filter_queryset(self, queryset: Any) -> QuerySet[Any]:
        """The filtered concepts, one row for each key."""
        rows: Any = super().filter_queryset(queryset)
        grouped: QuerySet[Any] = rows.counted()
        return grouped


class _OfDocument(mixins.ListModelMixin, ApiViewSet[Any]):
    """Base of the views below a document: the document of the address, and its current passages."""

    permission = "ingestion.change_document"

    def document(self) -> Document:
        readable = Document.objects.visible_to(self.request.user).only("pk", "current")
        return get_object_or_404(readable, public_id=self.kwargs["public_id"])

    def passages(self) -> QuerySet[Chunk]:
        """Includes disabled ones, so that they can be enabled again."""
        chunks = Chunk.objects.filter(version=self.document().current_id).order_by("ordinal")
        return chunks.select_related("edit").defer("lexemes", "terms")


class PassageViewSet(_OfDocument):
    """The passages of the searchable version, in order, including disabled ones."""

    serializer_class = ChunkSerializer
    lookup_field = "ordinal"
    lookup_url_kwarg = "chunk"
    lookup_value_converter = "int"
    queryset = Chunk.objects.none()

    def get_queryset(self) -> QuerySet[Chunk]:
        return self.passages()

    @extend_schema(request=WishSerializer)
    @action(detail=True, methods=["put"], error_statuses=(503,))
    def edit(self, request: Request, public_id: str, chunk: int) -> Response:
        """Edit a passage by hand.

        Replaces an existing edit. Search finds the new text immediately; later versions of the
        document keep the edit while a passage matches it. 409 if the passage has been replaced
        since; 503 if the embedding model is unavailable: nothing was changed.
        """
        data = read_body(request, WishSerializer).validated_data
        wish = services.Wish(
            data.get("text", ""),
            data.get("disabled", False),
            tuple(data.get("questions", ())),
            data.get("note", ""),
        )
        self._edit(wish)
        return self.respond(self.passages().get(ordinal=chunk))

    @extend_schema(responses={204: None})
    @edit.mapping.delete
    def undo(self, request: Request, public_id: str, chunk: int) -> Response:
        """Undo a passage's hand edit.

        Restores its parsed text.
        """
        self._edit(services.Wish())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _edit(self, wish: services.Wish) -> None:
        passage = self.get_object()
        services.edit_chunk(passage, wish, acting_user=actor(self.request))


class EditViewSet(_OfDocument):
    """The hand edits of a document, including those without a matching passage."""

    serializer_class = ChunkEditSerializer
    lookup_value_converter = "int"
    queryset = ChunkEdit.objects.none()

    def get_queryset(self) -> QuerySet[ChunkEdit]:
        return ChunkEdit.objects.filter(document=self.document()).order_by("ordinal", "pk")

    def destroy(self, request: Request, public_id: str, pk: int) -> Response:
        """Delete a hand edit.

        If it is applied, its passage has its parsed text again.
        """
        services.undo(self.get_object(), acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
