"""Documents and collections over HTTP. Every view starts from `visible_to` and calls a service."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import mixins, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion import services
from ingestion.api_requests import (
    ActionPermission,
    Conflict,
    UploadParser,
    actor,
    asked,
    location,
    posted,
)
from ingestion.models import Collection, Document, DocumentVersion
from ingestion.models.library import DocumentQuerySet
from ingestion.paging import PageParameters, Pages
from ingestion.serializers import (
    CollectionSerializer,
    DocumentDetailSerializer,
    DocumentParameters,
    DocumentSerializer,
    DocumentUploadSerializer,
    FileUploadSerializer,
    ReceiptSerializer,
    VersionSerializer,
)


class CollectionViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Collection]
):
    """The collections that the user may read."""

    serializer_class = CollectionSerializer
    pagination_class = Pages
    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = {"list": "", "retrieve": ""}
    lookup_field = "slug"
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

    @extend_schema(summary="List collections", parameters=[PageParameters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        asked(request, PageParameters)
        return super().list(request, *args, **kwargs)

    @extend_schema(summary="Show a collection")
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().retrieve(request, *args, **kwargs)


class DocumentViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Document]):
    """The documents that the user may read; uploads and their states."""

    serializer_class = DocumentSerializer
    pagination_class = Pages
    parser_classes = [UploadParser]
    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "",
        "retrieve": "",
        "create": "ingestion.add_document",
        "add_version": "ingestion.change_document",
        "reprocess": "ingestion.change_document",
        "retry": "ingestion.change_document",
        "destroy": "ingestion.delete_document",
        "restore": "ingestion.change_document",
        "list_versions": "",
    }
    lookup_field = "public_id"
    queryset = Document.objects.none()

    def get_queryset(self) -> QuerySet[Document]:
        documents = self._in_question()
        # A version's text can be megabytes long, and nothing of it is shown here.
        documents = documents.select_related("collection", "latest", "parent")
        documents = documents.defer("title_terms", "parent__title_terms", "latest__text")
        documents = documents.with_part_count()
        if self.action == "retrieve":
            return documents.prefetch_related(Prefetch("versions", _versions()))
        return documents

    def _in_question(self) -> DocumentQuerySet:
        """The documents that the action is about: those in the bin for some, for the most not."""
        user = self.request.user
        asked = self.request.query_params.get("deleted", "").lower() in ("true", "1")
        if self.action == "restore" or (self.action == "list" and asked):
            if not user.has_perm("ingestion.change_document"):
                raise PermissionDenied
            return Document.objects.in_bin_of(user)
        return Document.objects.visible_to(user)

    @extend_schema(
        summary="List documents",
        description="The documents that you may read, newest first.",
        parameters=[DocumentParameters],
    )
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().list(request, *args, **kwargs)

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.action != "list":
            return queryset
        given = asked(self.request, DocumentParameters).validated_data
        if collections := given.get("collection"):
            queryset = queryset.filter(collection__slug__in=collections)
        if states := given.get("state"):
            queryset = queryset.filter(latest__state__in=states)
        if words := given.get("q"):
            queryset = queryset.filter(title__icontains=words)
        if parent := given.get("parent"):
            queryset = queryset.filter(parent__public_id=parent)
        return queryset

    @extend_schema(
        summary="Show a document",
        description="Its state, its progress, what went wrong, and all its versions.",
        responses=DocumentDetailSerializer,
    )
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        document = self.get_object()
        return Response(DocumentDetailSerializer(document, context={"request": request}).data)

    @extend_schema(
        summary="Upload a document",
        description="Workers parse, chunk and embed the file afterwards: ask for the document "
        "until its `state` is `ready` or `failed`. The same bytes twice in a collection make "
        "one document: the answer is then 200 with `duplicate: true`.",
        request=DocumentUploadSerializer,
        responses={
            202: OpenApiResponse(ReceiptSerializer, "The file is queued."),
            200: OpenApiResponse(ReceiptSerializer, "The collection held these bytes already."),
        },
    )
    def create(self, request: Request) -> Response:
        context = {"request": request}
        given = posted(request, DocumentUploadSerializer, context=context).validated_data
        receipt = services.receive(
            given["collection"],
            given["file"],
            file_name=given["file"].name,
            title=given.get("title", ""),
            language=given.get("language", ""),
            acting_user=actor(request),
        )
        return self._received(receipt)

    @extend_schema(
        summary="Upload a new version",
        description="The present version stays searchable until the new one is ready.",
        request=FileUploadSerializer,
        responses={
            202: OpenApiResponse(ReceiptSerializer, "The file is queued."),
            200: OpenApiResponse(ReceiptSerializer, "The collection held these bytes already."),
        },
    )
    def add_version(self, request: Request, public_id: str) -> Response:
        document = self.get_object()
        file = posted(request, FileUploadSerializer).validated_data["file"]
        try:
            receipt = services.replace(
                document, file, file_name=file.name, acting_user=actor(request)
            )
        except Document.DoesNotExist as error:  # deleted since it was read above
            raise Http404 from error
        return self._received(receipt)

    @extend_schema(
        summary="Process a document again",
        description="Parses, chunks and embeds its file anew, as its next version.",
        request=None,
        responses={202: DocumentSerializer},
    )
    def reprocess(self, request: Request, public_id: str) -> Response:
        document = self.get_object()
        try:
            queued = services.reprocess([document], acting_user=actor(request))
        except Document.DoesNotExist as error:  # deleted since it was read above
            raise Http404 from error
        if not queued:
            raise Conflict("The document is still being processed. Wait until it is done.")
        return self._accepted()

    @extend_schema(
        summary="Retry a failed document", request=None, responses={202: DocumentSerializer}
    )
    def retry(self, request: Request, public_id: str) -> Response:
        document = self.get_object()
        if not services.retry([document], acting_user=actor(request)):
            raise Conflict("The document has not failed: there is nothing to retry.")
        return self._accepted()

    @extend_schema(
        summary="Delete a document",
        description="Puts it in the bin: search loses it at once, and it can be restored until the "
        "grace period (DELETION_GRACE_DAYS) is over. It is then removed with all that was made "
        "of it. Its parts go along.",
        responses={204: None},
    )
    def destroy(self, request: Request, public_id: str) -> Response:
        services.delete([self.get_object()], acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        summary="Restore a deleted document",
        description="Brings it back from the bin as searchable as it was. 409 where the collection "
        "holds the same file, or a document from the same source, by now.",
        request=None,
        responses=DocumentSerializer,
    )
    def restore(self, request: Request, public_id: str) -> Response:
        document = self.get_object()
        services.restore([document], acting_user=actor(request))
        self.action = "restored"
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(
        summary="List a document's versions",
        description="Newest first.",
        parameters=[PageParameters],
        responses=VersionSerializer(many=True),
    )
    def list_versions(self, request: Request, public_id: str) -> Response:
        asked(request, PageParameters)
        versions: Any = _versions().filter(document=self.get_object())
        page: Any = self.paginate_queryset(versions)
        return self.get_paginated_response(VersionSerializer(page, many=True).data)

    def _received(self, receipt: services.Receipt) -> Response:
        document = get_object_or_404(self.get_queryset(), pk=receipt.document.pk)
        document.duplicate = receipt.duplicate  # type: ignore[attr-defined]
        document.outcome = receipt.outcome  # type: ignore[attr-defined]
        data = ReceiptSerializer(document, context=self.get_serializer_context()).data
        code = status.HTTP_200_OK if receipt.duplicate else status.HTTP_202_ACCEPTED
        return Response(data, code, headers=location(self.request, "document", document.public_id))

    def _accepted(self) -> Response:
        document = self.get_object()
        data = self.get_serializer(document).data
        headers = location(self.request, "document", document.public_id)
        return Response(data, status.HTTP_202_ACCEPTED, headers=headers)


def _versions() -> QuerySet[DocumentVersion]:
    """Versions, newest first, without their texts, which may be megabytes long."""
    versions = DocumentVersion.objects.order_by("-number").select_related("restored_from")
    return versions.defer("text", "restored_from__text")
