"""Documents and their versions over HTTP: every view starts from `visible_to`, calls a service."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import OPEN, require, requires
from common.api.errors import Conflict
from common.api.requests import actor, body_of, location, read_body
from common.api.serializers import BooleanField, ChoiceField, ObjectJSONParser, Parameters
from common.api.views import AnyNegotiation, reads
from common.api.viewsets import ApiViewSet, repeatable
from ingestion import services
from ingestion.api.bin import BinListParameters, BinViewSet
from ingestion.api.serializers import (
    NUMBER,
    CollectionField,
    DocumentChangeSerializer,
    DocumentDetailSerializer,
    DocumentSerializer,
    DocumentUploadSerializer,
    FileUploadSerializer,
    ReceiptSerializer,
    VersionSerializer,
    named_readers,
)
from ingestion.currency_dates import values_of
from ingestion.documents.currency import FIELDS, check_superseded, declare
from ingestion.documents.restricted_readers import Arranged
from ingestion.files.downloads import download
from ingestion.models import Document, DocumentVersion, State
from ingestion.models.documents import DocumentQuerySet

CHANGE = "ingestion.change_document"
RECEIVED = {
    202: OpenApiResponse(ReceiptSerializer, "The file is queued."),
    200: OpenApiResponse(ReceiptSerializer, "The collection held these bytes already."),
}


class UploadParser(MultiPartParser):
    """A form with files. The server refuses a larger body before it arrives."""

    most_bytes = "MAX_UPLOAD_BYTES"


class ChecksumField(serializers.RegexField):
    """A SHA-256 in hexadecimal digits, whose capitals make no difference."""

    default_error_messages: ClassVar[Any] = {"invalid": "Send the 64 hexadecimal digits."}

    def to_internal_value(self, data: Any) -> str:
        return super().to_internal_value(data).lower()


class DocumentListParameters(BinListParameters):
    """Filters of the list of documents."""

    old_names = MappingProxyType({"q": "query"})

    collection = repeatable(
        CollectionField(), "Collection slugs; may be repeated.", source="collection__in"
    )
    state = repeatable(
        ChoiceField(State.choices),
        "States of the newest version; may be repeated.",
        source="latest__state__in",
    )
    id = repeatable(serializers.UUIDField(), "Ids; may be repeated.", source="public_id__in")
    checksum = repeatable(
        ChecksumField(r"^[0-9a-fA-F]{64}$"),
        "SHA-256 of the newest files; may be repeated.",
        source="content_hash__in",
    )
    file_name = repeatable(
        serializers.CharField(max_length=255),
        "Names of the newest files; may be repeated.",
        source="latest__file_name__in",
    )
    query = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Words within the title or the file name, without regard to case.",
    )
    parent = serializers.UUIDField(  # type: ignore[assignment]
        source="parent__public_id",
        required=False,
        help_text="The id of an archive or message: its parts alone.",
    )
    incomplete = BooleanField(
        required=False,
        help_text="Only documents of which something is not searchable, those that lack most "
        "first; false: of which all is.",
    )

    def filter_query(self, rows: DocumentQuerySet, value: str) -> DocumentQuerySet:
        """The documents with these words in their title or their newest file's name."""
        return rows.named(value)

    def filter_incomplete(self, rows: DocumentQuerySet, value: bool) -> DocumentQuerySet:
        """Filter by completeness; documents whose completeness is unknown match neither value."""
        return rows.incomplete() if value else rows.filter(current__completeness__missing=0)


class OriginalParameters(Parameters):
    """The version."""

    version = serializers.IntegerField(**NUMBER, help_text="For users who may change documents.")


class DocumentViewSet(BinViewSet[Document]):
    """The documents that the user may read; uploads and their states."""

    serializer_class = DocumentSerializer
    list_parameters = DocumentListParameters
    parser_classes = [UploadParser]
    open_to_read = True
    change = CHANGE
    only_failed = False  # `retry/` of 0.2 processed nothing else again
    lookup_field = "public_id"
    lookup_value_converter = "uuid"
    queryset = Document.objects.none()
    error_statuses = (403,)  # one of them is the permission to see the bin

    def get_queryset(self) -> QuerySet[Document]:
        rows, user = Document.objects, self.request.user
        documents = as_listed(rows.in_bin_of(user) if self.is_for_bin() else rows.visible_to(user))
        if self.action == "retrieve":
            return documents.prefetch_related(Prefetch("versions", versions()))
        return documents

    def get_parsers(self) -> Any:
        """JSON for changes, forms for uploads: no action is known yet when a body is read."""
        changes = self.request is not None and self.request.method == "PATCH"
        return [ObjectJSONParser()] if changes else super().get_parsers()

    def get_serializer_class(self) -> Any:
        return DocumentDetailSerializer if self.action == "retrieve" else self.serializer_class

    @extend_schema(request=DocumentUploadSerializer, responses=RECEIVED)
    def create(self, request: Request) -> Response:
        """Upload a document.

        Workers parse, chunk and embed the file afterwards: ask for the document until its `state`
        is `ready` or `failed`. The same bytes twice in a collection make one document: the answer
        is then 200 with `duplicate: true`, and `ignored` names the fields that it did not take; or
        409 if that document has other `readers` than these.
        """
        data = read_body(request, DocumentUploadSerializer).validated_data
        stated = {name: data[name] for name in (*FIELDS, "supersedes") if name in data}

        check_superseded(None, data.get("supersedes", ()))
        receipt = services.receive(
            data["collection"],
            data["file"],
            file_name=data["file"].name,
            title=data.get("title", ""),
            language=data.get("language", ""),
            metadata=data.get("metadata"),
            readers=named_readers(data),
            stated=values_of({name: data.get(name) for name in FIELDS}),  # overrides the file
            acting_user=actor(request),
        )
        if stated and not receipt.duplicate:
            declare(receipt.document, acting_user=actor(request), **stated)
        kept = {name for name in ("title", "language", "metadata") if data.get(name)}
        return received(self, receipt, sorted(kept | stated.keys()) if receipt.duplicate else ())

    @extend_schema(
        request=DocumentChangeSerializer,
        responses={200: DocumentSerializer, 202: DocumentSerializer},
    )
    @transaction.atomic  # what is refused in part changes nothing
    def partial_update(self, request: Request, public_id: str) -> Any:
        """Change a document.

        A new title or language reprocesses the file; metadata takes effect immediately and is
        replaced as a whole. A new collection moves the document with its parts: 409 if it is a part
        itself, is being processed, comes from a watched folder or a synced source, or is in that
        collection already as another document. With `readers` only these may read it from now on,
        with its parts: 409 if you are not among them. With `state` its file is processed again, as
        its next version, or as the version that failed; with `version` the file of that one, which
        must still be stored: 202, and search uses the present version until then. `deleted: false`
        takes it out of the bin, searchable as before: 409 if the collection has the file or source
        by now.
        """
        if "deleted" in body_of(request):
            return super().partial_update(request)
        document = self.get_object()
        data = dict(read_body(request, DocumentChangeSerializer).validated_data)
        user = actor(request)
        if "readers" in data:
            document = self._arranged(
                services.restrict([document], named_readers(data), acting_user=user)
            )
            del data["readers"]
        if to := data.pop("collection", None):
            document = self._arranged(services.move([document], to, acting_user=user))
        stated = {name: data.pop(name) for name in (*FIELDS, "supersedes") if name in data}
        if stated:
            declare(document, acting_user=user, **stated)
        code = status.HTTP_202_ACCEPTED if self._queued(document, data) else status.HTTP_200_OK
        if data:
            services.describe(document, acting_user=user, **data)
        return self.respond(self.get_object(), code)

    def _arranged(self, arranged: Arranged) -> Document:
        """The document as it is now. Raises Conflict."""
        if arranged.refused:
            raise Conflict(arranged.refused[0])
        return self.get_object()

    def _queued(self, document: Document, data: dict[str, Any]) -> bool:
        """Whether `state` or `version`, taken out of `data`, queued it. Raises Conflict."""
        state, number, user = data.pop("state", ""), data.pop("version", 0), actor(self.request)
        if number and state:
            raise ValidationError({"version": ["Give `state` or `version`."]})
        if number:
            version = versions().filter(document=document, number=number).first()
            if version is None:
                raise ValidationError({"version": [f"It has no version {number}."]})
            services.make_current(version, acting_user=user)
        elif state and not services.retry([document], acting_user=user):
            if self.only_failed:
                raise Conflict("The document has not failed: there is nothing to retry.")
            if not services.reprocess([document], acting_user=user):
                raise Conflict("The document is still being processed. Wait until it is done.")
        return bool(state or number)

    def destroy(self, request: Request, public_id: str) -> Response:
        """Delete a document.

        Moves it and its parts to the bin: search no longer finds it, and it can be restored until
        the grace period (DELETION_GRACE_DAYS) ends. It is then deleted permanently.
        """
        services.delete([self.get_object()], acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def restore(self, row: Document) -> None:
        services.restore([row], acting_user=actor(self.request))

    @extend_schema(responses={(200, "*/*"): OpenApiTypes.BINARY})
    @action(detail=True, content_negotiation_class=AnyNegotiation)
    @requires(OPEN)
    @reads(OriginalParameters)
    def original(self, request: Request, public_id: str, number: int = 0) -> HttpResponseBase:
        """Download a document's file.

        That of the version that is searched, or else of the newest. Obeys the header `Range`. 404
        for a version whose file is no longer stored (VERSIONS_KEPT).
        """
        document = self.get_object()
        version = document.current or document.latest
        if number := self.parameters.validated_data.get("version", number):
            require(request, self, CHANGE)
            version = versions().filter(document=document, number=number).first()
        if version is None:
            raise Http404
        return download(version, request.user, request.headers)


class VersionViewSet(mixins.ListModelMixin, ApiViewSet[DocumentVersion]):
    """The versions of a document, newest first."""

    serializer_class = VersionSerializer
    parser_classes = [UploadParser]
    permission = CHANGE
    lookup_field = "number"
    queryset = DocumentVersion.objects.none()

    def document(self) -> Document:
        readable = Document.objects.visible_to(self.request.user)
        return get_object_or_404(readable, public_id=self.kwargs["public_id"])

    def get_queryset(self) -> QuerySet[DocumentVersion]:
        return versions().filter(document=self.document())

    @requires(OPEN)
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List a document's versions.

        Newest first.
        """
        return super().list(request, *args, **kwargs)

    @extend_schema(request=FileUploadSerializer, responses=RECEIVED)
    def create(self, request: Request, public_id: str) -> Response:
        """Upload a new version.

        The present version stays searchable until the new one is ready. With `readers` only these
        may read the document from now on, with its parts: 409 if you are not among them, or it is
        a part itself.
        """
        document = self.document()
        data = read_body(request, FileUploadSerializer).validated_data
        receipt = services.replace(
            document,
            data["file"],
            file_name=data["file"].name,
            metadata=data.get("metadata"),
            readers=named_readers(data),
            acting_user=actor(request),
        )
        return received(self, receipt)

    def make_current(self, request: Request, public_id: str, number: int) -> Response:
        """Make a version current again, as 0.2 did."""
        fresh = services.make_current(self.get_object(), acting_user=actor(request))
        headers = location(request, "document-detail", public_id)
        return self.respond(fresh, status.HTTP_202_ACCEPTED, headers)


def as_listed(documents: DocumentQuerySet) -> DocumentQuerySet:
    """The documents with the data for a list, without their texts, which can be megabytes long."""
    joined = documents.select_related(
        "collection", "current", "latest", "parent", "audience", "owner"
    ).prefetch_related("audience__groups", "audience__people")
    unshown = ("title_terms", "parent__title_terms", "current__text", "latest__text")
    return joined.defer(*unshown).with_part_count()


def versions() -> QuerySet[DocumentVersion]:
    """Versions, newest first, without their texts, which may be megabytes long."""
    rows = DocumentVersion.objects.order_by("-number").select_related("restored_from")
    return rows.defer("text", "restored_from__text")


def received(
    view: ApiViewSet[Any], receipt: services.Receipt, ignored: Sequence[str] = ()
) -> Response:
    """The response to an upload: the document with its outcome, and in Location its address.

    `ignored` are the fields of the form that a document that was there did not take.
    """
    documents = as_listed(Document.objects.visible_to(view.request.user))
    row = get_object_or_404(documents, pk=receipt.document.pk)
    row.duplicate, row.ignored = receipt.duplicate, ignored  # type: ignore[attr-defined]
    row.outcome = receipt.outcome  # type: ignore[attr-defined]
    data = ReceiptSerializer(row, context=view.get_serializer_context()).data
    code = status.HTTP_200_OK if receipt.duplicate else status.HTTP_202_ACCEPTED
    return Response(data, code, headers=location(view.request, "document-detail", row.public_id))
