"""A document's passages and their hand edits over HTTP, for users who may change documents."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion import services
from ingestion.api_requests import ActionPermission, actor, asked, posted
from ingestion.models import Chunk, ChunkEdit, Document
from ingestion.paging import PageParameters, Pages
from ingestion.serializers_passages import (
    ChunkEditSerializer,
    ChunkSerializer,
    PlaceSerializer,
    WishSerializer,
)

CHANGE = "ingestion.change_document"


class _OfDocument(GenericViewSet[Any]):
    """What the views of this module share: the document, and its passages as search has them."""

    def document(self) -> Document:
        readable = Document.objects.visible_to(self.request.user).only("pk", "current")
        return get_object_or_404(readable, public_id=self.kwargs["public_id"])

    def passages(self) -> QuerySet[Chunk]:
        """Also those that are disabled: here is where they are enabled again."""
        chunks = Chunk.objects.filter(version=self.document().current_id).order_by("ordinal")
        return chunks.select_related("edit").defer("lexemes", "terms")


class PassageViewSet(_OfDocument):
    """The passages of the version that is searched."""

    serializer_class = ChunkSerializer
    pagination_class = Pages
    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = {"list": CHANGE, "edit": CHANGE, "undo": CHANGE}
    queryset = Chunk.objects.none()

    @extend_schema(
        summary="List a document's passages",
        description="In their order, disabled ones too, each with its hand edit.",
        parameters=[PageParameters],
    )
    def list(self, request: Request, public_id: str) -> Response:
        asked(request, PageParameters)
        page = self.paginate_queryset(self.passages())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        summary="Edit a passage by hand",
        description="In place of the edit that it may have. Search finds the new text at once; "
        "later versions of the document keep the edit as long as it fits. 409 where the passage "
        "was replaced meanwhile; 503 where its embedding model is away, and nothing was changed.",
        request=WishSerializer,
        responses=ChunkSerializer,
    )
    def edit(self, request: Request, public_id: str, chunk: int) -> Response:
        given = posted(request, WishSerializer).validated_data
        wish = services.Wish(
            given.get("text", ""),
            given.get("disabled", False),
            tuple(given.get("questions", ())),
            given.get("note", ""),
        )
        self._edit(chunk, wish)
        return Response(self.get_serializer(self.passages().get(ordinal=chunk)).data)

    @extend_schema(
        summary="Undo a passage's hand edit",
        description="It is as it was parsed from then on.",
        responses={204: None},
    )
    def undo(self, request: Request, public_id: str, chunk: int) -> Response:
        self._edit(chunk, services.Wish())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _edit(self, ordinal: int, wish: services.Wish) -> None:
        found = get_object_or_404(self.passages(), ordinal=ordinal)
        try:
            services.edit_chunk(found, wish, acting_user=actor(self.request))
        except Document.DoesNotExist as error:  # deleted since it was read above
            raise Http404 from error


class EditViewSet(_OfDocument):
    """The hand edits of a document, also those that fit no longer."""

    serializer_class = ChunkEditSerializer
    pagination_class = Pages
    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": CHANGE,
        "destroy": CHANGE,
        "place": CHANGE,
    }
    queryset = ChunkEdit.objects.none()

    def get_queryset(self) -> QuerySet[ChunkEdit]:
        return ChunkEdit.objects.filter(document=self.document()).order_by("ordinal", "pk")

    @extend_schema(summary="List a document's hand edits", parameters=[PageParameters])
    def list(self, request: Request, public_id: str) -> Response:
        asked(request, PageParameters)
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        summary="Delete a hand edit",
        description="Where it is applied, its passage is as it was parsed from then on.",
        responses={204: None},
    )
    def destroy(self, request: Request, public_id: str, pk: int) -> Response:
        services.undo(get_object_or_404(self.get_queryset(), pk=pk), acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        summary="Place a hand edit that fits no longer",
        description="On the passage named. 409 where that one has an edit already.",
        request=PlaceSerializer,
        responses=ChunkEditSerializer,
    )
    def place(self, request: Request, public_id: str, pk: int) -> Response:
        form = posted(request, PlaceSerializer)
        edit = get_object_or_404(self.get_queryset(), pk=pk)
        chunk = get_object_or_404(self.passages(), ordinal=form.validated_data["chunk"])
        services.place(edit, chunk, acting_user=actor(request))
        return Response(self.get_serializer(get_object_or_404(self.get_queryset(), pk=pk)).data)
