"""A document's passages and their hand edits over HTTP, for users who may change documents."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.requests import actor, read_body
from common.api.viewsets import ApiViewSet
from ingestion import services
from ingestion.api.serializers import (
    ChunkEditSerializer,
    ChunkSerializer,
    WishSerializer,
)
from ingestion.models import Chunk, ChunkEdit, Document


class _OfDocument(mixins.ListModelMixin, ApiViewSet[Any]):
    """The document that the address names, and its passages as search has them."""

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
        return self.shown(self.passages().get(ordinal=chunk))

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
        try:
            services.edit_chunk(passage, wish, acting_user=actor(self.request))
        except Document.DoesNotExist as error:  # deleted since it was read above
            raise Http404 from error


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
