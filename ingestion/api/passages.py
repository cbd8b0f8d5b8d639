"""Passages of documents over HTTP, and their hand edits."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.requests import actor, read_body
from common.api.viewsets import ApiViewSet
from ingestion import services
from ingestion.api.serializers import ChunkEditSerializer, ChunkSerializer, WishSerializer
from ingestion.models import Chunk, ChunkEdit, Document


class _OfDocument(mixins.ListModelMixin, ApiViewSet[Any]):
    """Base of the views below a document: the document of the address, and its current passages."""

    permission = "ingestion.change_document"

    def document(self) -> Document:
        readable = Document.objects.visible_to(self.request.user).only("pk", "current")
        return get_object_or_404(readable, public_id=self.kwargs["public_id"])


class PassageViewSet(mixins.RetrieveModelMixin, _OfDocument):
    """The passages of the searchable version, in order, including disabled ones."""

    serializer_class = ChunkSerializer
    lookup_field = "ordinal"
    lookup_url_kwarg = "chunk"
    error_statuses = (503,)
    queryset = Chunk.objects.none()

    def get_queryset(self) -> QuerySet[Chunk]:
        chunks = Chunk.objects.filter(version=self.document().current_id).order_by("ordinal")
        return chunks.select_related("edit").defer("lexemes", "terms")

    @extend_schema(request=WishSerializer)
    def update(self, request: Request, public_id: str, chunk: int) -> Response:
        """Edit a passage by hand.

        Replaces an existing edit; without any field the passage is as parsed. Search finds the new
        text immediately; later versions of the document keep the edit while a passage matches it.
        409 if the passage has been replaced since; 503 if the embedding model is unavailable:
        nothing was changed.
        """
        data = read_body(request, WishSerializer).validated_data
        self._edit(services.Wish(**{**data, "questions": tuple(data.get("questions", ()))}))
        return self.respond(self.get_object())

    def undo(self, request: Request, public_id: str, chunk: int) -> Response:
        """Undo a passage's hand edit, as 0.2 did."""
        self._edit(services.Wish())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _edit(self, wish: services.Wish) -> None:
        services.edit_chunk(self.get_object(), wish, acting_user=actor(self.request))


class EditViewSet(mixins.RetrieveModelMixin, _OfDocument):
    """The hand edits of a document, including those without a matching passage."""

    serializer_class = ChunkEditSerializer
    queryset = ChunkEdit.objects.none()

    def get_queryset(self) -> QuerySet[ChunkEdit]:
        return ChunkEdit.objects.filter(document=self.document()).order_by("ordinal", "pk")

    def destroy(self, request: Request, public_id: str, pk: int) -> Response:
        """Delete a hand edit.

        If it is applied, its passage has its parsed text again.
        """
        services.undo(self.get_object(), acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
