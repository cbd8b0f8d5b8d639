"""Documents and collections over HTTP. Every view starts from `visible_to` and calls a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import mixins, status
from rest_framework.exceptions import APIException, PermissionDenied
from rest_framework.generics import get_object_or_404
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion import services
from ingestion.errors import FileTooLarge
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

# What a form may hold besides its file: names, boundaries, a title.
FORM_BYTES = 1024 * 1024


class Conflict(APIException):
    """The document is not in the state that the request needs."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class ActionPermission(BasePermission):
    """Lets a request through whose user holds the permission that the view names for its action.

    An action that the view does not name is refused; an empty name means that reading is free.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if view.action is None:
            return True  # nothing will run: the answer is 405
        needed = view.permissions_needed.get(view.action)
        if needed is None:
            return False
        return not needed or bool(request.user.is_authenticated and request.user.has_perm(needed))


class UploadParser(MultiPartParser):
    """A multipart parser that refuses by the stated length, before the disk is filled."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        length = str((parser_context or {})["request"].META.get("CONTENT_LENGTH") or 0)
        if length.isdecimal() and int(length) > settings.MAX_UPLOAD_BYTES + FORM_BYTES:
            limit = settings.MAX_UPLOAD_BYTES // (1024 * 1024)
            raise FileTooLarge(
                f"The file is larger than {limit} MB. Split it, or raise MAX_UPLOAD_MB."
            )
        return super().parse(stream, media_type, parser_context)


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
        PageParameters(data=request.query_params).is_valid(raise_exception=True)
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
        parameters = DocumentParameters(data=self.request.query_params)
        parameters.is_valid(raise_exception=True)
        given = parameters.validated_data
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
        form = DocumentUploadSerializer(data=request.data, context={"request": request})
        form.is_valid(raise_exception=True)
        given = form.validated_data
        receipt = services.receive(
            given["collection"],
            given["file"],
            file_name=given["file"].name,
            title=given.get("title", ""),
            language=given.get("language", ""),
            acting_user=_acting_user(request),
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
        form = FileUploadSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        file = form.validated_data["file"]
        try:
            receipt = services.replace(
                document, file, file_name=file.name, acting_user=_acting_user(request)
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
            queued = services.reprocess([document], acting_user=_acting_user(request))
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
        if not services.retry([document], acting_user=_acting_user(request)):
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
        services.delete([self.get_object()], acting_user=_acting_user(request))
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
        services.restore([document], acting_user=_acting_user(request))
        self.action = "restored"
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(
        summary="List a document's versions",
        description="Newest first.",
        parameters=[PageParameters],
        responses=VersionSerializer(many=True),
    )
    def list_versions(self, request: Request, public_id: str) -> Response:
        PageParameters(data=request.query_params).is_valid(raise_exception=True)
        versions: Any = _versions().filter(document=self.get_object())
        page: Any = self.paginate_queryset(versions)
        return self.get_paginated_response(VersionSerializer(page, many=True).data)

    def _received(self, receipt: services.Receipt) -> Response:
        document = get_object_or_404(self.get_queryset(), pk=receipt.document.pk)
        document.duplicate = receipt.duplicate  # type: ignore[attr-defined]
        document.outcome = receipt.outcome  # type: ignore[attr-defined]
        data = ReceiptSerializer(document, context=self.get_serializer_context()).data
        code = status.HTTP_200_OK if receipt.duplicate else status.HTTP_202_ACCEPTED
        return Response(data, code, headers={"Location": self._address(document)})

    def _accepted(self) -> Response:
        document = self.get_object()
        data = self.get_serializer(document).data
        headers = {"Location": self._address(document)}
        return Response(data, status.HTTP_202_ACCEPTED, headers=headers)

    def _address(self, document: Document) -> str:
        """Where the document's state can be asked for; beside this view, wherever that is."""
        match = self.request.resolver_match
        namespace = f"{match.namespace}:" if match is not None and match.namespace else ""
        return reverse(f"{namespace}document", args=(document.public_id,))


def _versions() -> QuerySet[DocumentVersion]:
    """Versions, newest first, without their texts, which may be megabytes long."""
    versions = DocumentVersion.objects.order_by("-number").select_related("restored_from")
    return versions.defer("text", "restored_from__text")


def _acting_user(request: Request) -> Any:
    """The user behind a request that has passed its permission."""
    return request.user
