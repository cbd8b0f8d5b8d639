"""The sync API: a program mirrors documents from elsewhere into a collection."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.models import DELETION
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.requests import actor, location, read_body
from common.api.serializers import ObjectJSONParser, Parameters, Strict
from common.api.views import reads
from common.api.viewsets import ApiViewSet, ListParameters, ReadViewSet
from ingestion.api.documents import UploadParser
from ingestion.api.serializers import (
    CollectionField,
    FileUploadSerializer,
    NameFields,
    named_readers,
)
from ingestion.events import log
from ingestion.intake import mirroring
from ingestion.models import Collection, SyncItem, SyncSource

MAX_ID_CHARS = 500
OUTCOMES = ["added", "replaced", "unchanged", "restored", "duplicate"]


class SyncSourceSerializer(serializers.ModelSerializer[SyncSource]):
    """A source of the user. `message` says why nothing is deleted at the moment."""

    collection = serializers.SlugRelatedField[Collection](slug_field="slug", read_only=True)
    documents = serializers.IntegerField(help_text="That are not in the bin.")
    missing = serializers.IntegerField(help_text="That the source no longer names.")

    class Meta:
        model = SyncSource
        fields = ("name", "collection", "documents", "missing", "message", "last_sync", "created")
        read_only_fields = fields


class SyncTargetSerializer(Strict, serializers.Serializer[Any]):
    """Where the documents of the source go."""

    collection = CollectionField(help_text="The collection's slug.")


class KeepSerializer(Strict, serializers.Serializer[Any]):
    """The ids that the source has."""

    ids = serializers.ListField(
        child=serializers.CharField(max_length=MAX_ID_CHARS, trim_whitespace=False)
    )
    confirm = serializers.IntegerField(
        min_value=1,
        required=False,
        help_text="The number that a refusal named: these documents are gone on purpose.",
    )


class KeptSerializer(serializers.Serializer[Any]):
    """What was moved to the bin. Send the request again until `missing` is 0."""

    deleted = serializers.IntegerField()
    missing = serializers.IntegerField()


class SyncItemSerializer(serializers.ModelSerializer[SyncItem]):
    """A document of a source. An empty `etag` asks for it again.

    `deleted`: it was deleted here, and comes back if the source puts it again.
    """

    id = serializers.CharField(source="external_id", read_only=True)
    etag = serializers.SerializerMethodField()
    document = serializers.UUIDField(
        source="document.public_id", default=None, read_only=True, allow_null=True
    )
    deleted = serializers.SerializerMethodField()

    class Meta:
        model = SyncItem
        fields: tuple[str, ...] = ("id", "etag", "document", "deleted", "updated")
        read_only_fields: tuple[str, ...] = fields

    def get_etag(self, item: SyncItem) -> str:
        return item.etag if item.is_own or item.is_there else ""

    def get_deleted(self, item: SyncItem) -> bool:
        return item.is_own and not item.is_there


class SyncReceiptSerializer(SyncItemSerializer):
    """A document that was put, and what that changed."""

    outcome = serializers.ChoiceField(choices=OUTCOMES, read_only=True)

    class Meta(SyncItemSerializer.Meta):
        fields = (*SyncItemSerializer.Meta.fields, "outcome")
        read_only_fields = fields


class IdParameters(Parameters):
    id = serializers.CharField(
        max_length=MAX_ID_CHARS, trim_whitespace=False, help_text="The document's id in the source."
    )


class SyncDocumentSerializer(NameFields, FileUploadSerializer):
    """A document of a source in its present state."""

    etag = serializers.CharField(
        max_length=200,
        trim_whitespace=False,
        help_text="What changes with the document: a hash, a revision, a time.",
    )


def own_sources(user: Any) -> QuerySet[SyncSource]:
    """The user's sources; also those of a collection in the bin, so that they can be forgotten."""
    rows = SyncSource.objects.filter(owner=user.pk, collection__in=Collection.objects.open_to(user))
    return rows.select_related("collection")


class SourceViewSet(ReadViewSet[SyncSource]):
    """The user's own sources. Those of others cannot be seen."""

    serializer_class = SyncSourceSerializer
    parser_classes = [ObjectJSONParser]
    permission = "ingestion.add_document"
    lookup_field = "name"
    lookup_value_converter = "slug"
    queryset = SyncSource.objects.select_related("collection")

    def get_queryset(self) -> QuerySet[SyncSource]:
        there = Q(items__document__deleted_at=None, items__document__isnull=False)
        missing = Q(items__missing_since__isnull=False)
        return own_sources(self.request.user).annotate(
            documents=Count("items", filter=there), missing=Count("items", filter=missing)
        )

    @extend_schema(
        request=SyncTargetSerializer,
        responses={200: SyncSourceSerializer, 201: SyncSourceSerializer},
    )
    def update(self, request: Request, name: str) -> Response:
        """Create a source.

        Once it exists, the same request changes nothing; 409 if it is of another collection.
        """
        data = read_body(request, SyncTargetSerializer).validated_data
        most = SyncSource._meta.get_field("name").max_length or 0
        if len(name) > most:
            raise serializers.ValidationError({"name": [f"Give at most {most} characters."]})
        user = actor(request)
        is_new = not self.get_queryset().filter(name=name).exists()
        mirroring.source_of(user, name, data["collection"], acting_user=user)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return self.respond(self.get_object(), code)

    def destroy(self, request: Request, name: str) -> Response:
        """Forget a source.

        Its documents stay; a source of the same name finds them again.
        """
        source = self.get_object()
        with transaction.atomic():
            log(actor(request), source, DELETION, "Forgotten; its documents stay")
            source.delete()
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses=KeptSerializer)
    @action(detail=True, methods=["post"], body=KeepSerializer)
    @requires("ingestion.delete_document")
    def keep(self, request: Request, name: str) -> Response:
        """Name all documents that a source has.

        Its other documents are moved to the bin, 500 at once. 409 `many_missing` if that is over
        half of them: nothing is deleted until the request confirms their number.
        """
        data = read_body(request, KeepSerializer).validated_data
        result = mirroring.keep(
            self.get_object(),
            data["ids"],
            acting_user=actor(request),
            confirmed=data.get("confirm"),
        )
        return Response(KeptSerializer(result).data)


class SyncItemParameters(ListParameters):
    """Longer pages: a program reads all of them, of a few short fields each."""

    page_size = serializers.IntegerField(min_value=1, max_value=1000, default=100)
    id = serializers.CharField(
        source="external_id",
        required=False,
        max_length=MAX_ID_CHARS,
        trim_whitespace=False,
        help_text="One document's id there.",
    )


class SyncItemViewSet(mixins.ListModelMixin, ApiViewSet[SyncItem]):
    """The documents of a source by their ids there."""

    serializer_class = SyncItemSerializer
    list_parameters = SyncItemParameters
    parser_classes = [UploadParser]
    permission = "ingestion.add_document"
    queryset = SyncItem.objects.none()

    def source(self) -> SyncSource:
        return get_object_or_404(own_sources(self.request.user), name=self.kwargs["name"])

    def get_queryset(self) -> QuerySet[SyncItem]:
        rows = self.source().items.select_related("source", "document").order_by("external_id")
        return rows.defer("document__title_terms", "document__metadata")

    @reads(IdParameters)
    @extend_schema(
        request=SyncDocumentSerializer,
        responses={
            202: OpenApiResponse(SyncReceiptSerializer, "The file is queued."),
            200: OpenApiResponse(SyncReceiptSerializer, "There is nothing to process."),
        },
    )
    def update(self, request: Request, name: str) -> Response:
        """Put a document of a source.

        The same `id` and `etag` again change nothing. Another `etag` makes a new version, and a
        document that is in the bin comes back. `readers` are applied even if nothing else changed:
        409 if you are not among them, may not change those of the document, or the collection has
        the file as another document with other readers.
        """
        data = dict(read_body(request, SyncDocumentSerializer).validated_data)
        file, readers = data.pop("file"), named_readers(data)
        data.pop("readers", None)
        item, outcome = mirroring.put(
            self.source(),
            self.parameters.validated_data["id"],
            data.pop("etag"),
            file,
            file_name=file.name,
            readers=readers,
            acting_user=actor(request),
            **data,
        )
        item.outcome = outcome  # type: ignore[attr-defined]
        code = status.HTTP_202_ACCEPTED if outcome in ("added", "replaced") else status.HTTP_200_OK
        assert item.document is not None
        headers = location(request, "document-detail", item.document.public_id)
        return Response(SyncReceiptSerializer(item).data, code, headers=headers)

    @reads(IdParameters)
    @requires("ingestion.delete_document")
    def destroy(self, request: Request, name: str) -> Response:
        """Delete a document of a source.

        It goes to the bin, unless the collection has its file for another source or folder, too.
        """
        key = self.parameters.validated_data["id"]
        if not mirroring.remove(self.source(), key, acting_user=actor(request)):
            raise Http404
        return Response(status=status.HTTP_204_NO_CONTENT)
