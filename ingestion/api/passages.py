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
from ingestion.api.serializers.library import (
    ChunkEditSerializer,
    ChunkSerializer,
    PlaceSerializer,
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
        """Also those that are disabled: here is where they are enabled again."""
        chunks = Chunk.objects.filter(version=self.document().current_id).order_by("ordinal")
        return chunks.select_related("edit").defer("lexemes", "terms")


class PassageViewSet(_OfDocument):
    """The passages of the version that is searched, in order, disabled ones too."""

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

        In place of the edit that it may have. Search finds the new text at once; later versions of
        the document keep the edit as long as it fits. 409 where the passage was replaced
        meanwhile; 503 where its embedding model is unavailable, and nothing was changed.
        """
        given = read_body(request, WishSerializer).validated_data
        wish = services.Wish(
            given.get("text", ""),
            given.get("disabled", False),
            tuple(given.get("questions", ())),
            given.get("note", ""),
        )
        self._edit(wish)
        return self.shown(self.passages().get(ordinal=chunk))

    @extend_schema(responses={204: None})
    @edit.mapping.delete
    def undo(self, request: Request, public_id: str, chunk: int) -> Response:
        """Undo a passage's hand edit.

        It is as it was parsed from then on.
        """
        self._edit(services.Wish())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _edit(self, wish: services.Wish) -> None:
        found = self.get_object()
        try:
            services.edit_chunk(found, wish, acting_user=actor(self.request))
        except Document.DoesNotExist as error:  # deleted since it was read above
            raise Http404 from error


class EditViewSet(_OfDocument):
    """The hand edits of a document, also those that fit no longer."""

    serializer_class = ChunkEditSerializer
    lookup_value_converter = "int"
    queryset = ChunkEdit.objects.none()

    def get_queryset(self) -> QuerySet[ChunkEdit]:
        return ChunkEdit.objects.filter(document=self.document()).order_by("ordinal", "pk")

    def destroy(self, request: Request, public_id: str, pk: int) -> Response:
        """Delete a hand edit.

        Where it is applied, its passage is as it was parsed from then on.
        """
        services.undo(self.get_object(), acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=PlaceSerializer)
    @action(detail=True, methods=["post"])
    def place(self, request: Request, public_id: str, pk: int) -> Response:
        """Place a hand edit that fits no longer.

        On the passage named. 409 where that one has an edit already.
        """
        form = read_body(request, PlaceSerializer)
        edit = self.get_object()
        chunk = get_object_or_404(self.passages(), ordinal=form.validated_data["chunk"])
        services.place(edit, chunk, acting_user=actor(request))
        return self.shown(self.get_object())
