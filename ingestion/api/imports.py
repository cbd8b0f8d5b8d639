"""Imports of many files over HTTP, and the state of watched folders."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.errors import Conflict
from common.api.requests import actor, read_body
from common.api.serializers import ChoiceField, FileField, ObjectJSONParser, Parameters, Strict
from common.api.views import reads
from common.api.viewsets import ListParameters, ReadViewSet, repeatable
from ingestion.api.serializers import (
    CollectionField,
    LanguageField,
    MetadataField,
    ReadersSerializer,
    named_readers,
    shown_readers,
)
from ingestion.intake import imports as importing
from ingestion.intake.imports import Counts, counts_of
from ingestion.models import Collection, Import, ImportItem, WatchedFolder
from ingestion.models.visibility import open_to

Kind = Import.Kind
STOPPED = Import.State.CANCELLED.value


class ImportCountsSerializer(serializers.Serializer[Any]):
    """Numbers of items by result. `processing`: stored, but not searchable yet; `incomplete`: some
    of it is not searchable.
    """

    waiting = serializers.IntegerField()
    added = serializers.IntegerField()
    replaced = serializers.IntegerField()
    duplicate = serializers.IntegerField()
    skipped = serializers.IntegerField()
    failed = serializers.IntegerField()
    processing = serializers.IntegerField()
    incomplete = serializers.IntegerField()


class ImportSerializer(serializers.ModelSerializer[Import]):
    """An import and its progress: the share of the items that were ingested, 0 to 1."""

    collection = serializers.SlugRelatedField[Collection](slug_field="slug", read_only=True)
    progress = serializers.SerializerMethodField()
    counts = serializers.SerializerMethodField()
    readers = serializers.SerializerMethodField(
        help_text="Of it and all its documents. Null: all who may read its collection. For whoever "
        "started it, and users who may change documents."
    )

    class Meta:
        model = Import
        fields = (
            "id", "collection", "kind", "origin", "language", "readers", "state", "error",
            "progress", "counts", "created", "finished",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(ReadersSerializer(allow_null=True))
    def get_readers(self, of: Import) -> dict[str, list[str]] | None:
        return shown_readers(of, self.context["request"].user)

    def get_progress(self, of: Import) -> float:
        return round(self._counts(of).share, 4)

    def get_counts(self, of: Import) -> ImportCountsSerializer:
        counts = self._counts(of)
        by_state = {state: counts.by_state.get(state, 0) for state in ImportItem.State.values}
        others = {"processing": counts.processing, "incomplete": counts.incomplete}
        return {**by_state, **others}  # type: ignore[return-value]

    def _counts(self, of: Import) -> Counts:
        """Those of all imports shown are read in one query."""
        context: Any = self.context
        if "counts" not in context:
            rows = self.root.instance
            context["counts"] = counts_of(rows if isinstance(rows, list) else [of])
        counts: Counts = context["counts"][of.pk]
        return counts


class ImportItemSerializer(serializers.ModelSerializer[ImportItem]):
    """One file or page of an import: its path or address, and its result."""

    document = serializers.UUIDField(
        source="document.public_id", default=None, read_only=True, allow_null=True
    )

    class Meta:
        model = ImportItem
        fields = ("reference", "depth", "state", "message", "metadata", "document")
        read_only_fields = fields


class ImportRequestSerializer(Strict, serializers.Serializer[Any]):
    """The import to start: one of `archive`, `manifest` (both as multipart) and `origin` (JSON)."""

    collection = CollectionField()
    language = LanguageField(required=False, default="", max_length=35)
    metadata = MetadataField(
        required=False, help_text="Of all its documents; a manifest's line adds to it."
    )
    readers = ReadersSerializer(
        required=False,
        help_text="Who alone may read all its documents, and the import itself: JSON, or the "
        "fields readers.groups and readers.people of a form. Omitted: new documents are for all "
        "readers of the collection, others keep their own.",
    )
    archive = FileField(
        required=False, help_text="A ZIP archive: each member becomes a document of its own."
    )
    manifest = FileField(
        required=False, help_text="CSV or JSON Lines: path or url, title, language, metadata."
    )
    kind = ChoiceField(
        choices=[
            (kind.value, kind.label) for kind in (Kind.FOLDER, Kind.URL, Kind.SITE, Kind.SITEMAP)
        ],
        required=False,
    )
    origin = serializers.CharField(
        max_length=2000, required=False, help_text="A folder's path on the server, or an address."
    )
    depth = serializers.IntegerField(min_value=0, required=False)
    max_pages = serializers.IntegerField(min_value=1, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(name in attrs for name in ("archive", "manifest", "origin")) != 1:
            raise serializers.ValidationError("Give one of archive, manifest and origin.")
        if ("origin" in attrs) != ("kind" in attrs):
            raise serializers.ValidationError(
                {"kind": ["Required with `origin`, and only allowed with it."]}
            )
        follows = {Kind.SITE: ("depth", "max_pages"), Kind.SITEMAP: ("max_pages",)}
        read = follows.get(attrs.get("kind", ""), ())
        if unread := [
            name for name in ("depth", "max_pages") if name in attrs and name not in read
        ]:
            text = "Imports of this kind have no such limit. Leave it out."
            raise serializers.ValidationError({key: [text] for key in unread})
        return attrs


class WatchedFolderSerializer(serializers.ModelSerializer[WatchedFolder]):
    """A folder of the server that a collection mirrors. `counts` are the last scan's."""

    collection = serializers.SlugRelatedField[Collection](slug_field="slug", read_only=True)
    counts = serializers.DictField(
        source="last_counts", child=serializers.IntegerField(), read_only=True
    )

    class Meta:
        model = WatchedFolder
        fields = (
            "id", "collection", "path", "include", "exclude", "recursive", "enabled",
            "poll_seconds", "deletion", "state", "message", "last_scan", "counts", "created",
        )  # fmt: skip
        read_only_fields = fields


class ImportStateSerializer(Parameters):
    """The state that an import is to have."""

    state = ChoiceField([STOPPED, Import.State.QUEUED.value])


class ImportParser(MultiPartParser):
    most_bytes = "IMPORT_MAX_BYTES"


class ImportListParameters(ListParameters):
    state = repeatable(ChoiceField(Import.State.choices), "May be repeated.", source="state__in")


class ImportItemParameters(ListParameters):
    state = repeatable(
        ChoiceField(ImportItem.State.choices), "May be repeated.", source="state__in"
    )


class ImportViewSet(ReadViewSet[Import]):
    """Imports of many files or pages into the collections that the user may read."""

    serializer_class = ImportSerializer
    list_parameters = ImportListParameters
    parser_classes = [ImportParser, ObjectJSONParser]
    permission = "ingestion.add_document"
    lookup_url_kwarg = "number"
    queryset = Import.objects.select_related("collection", "audience").prefetch_related(
        "audience__groups", "audience__people"
    )

    @extend_schema(responses=ImportItemSerializer(many=True))
    @action(detail=True, serializer_class=ImportItemSerializer)
    @reads(ImportItemParameters)
    def items(self, request: Request, number: int) -> Response:
        """List the items of an import."""
        items = self.get_object().items.select_related("document").order_by("position", "pk")
        items = items.filter(open_to(request.user, "document__"))
        return self.respond_list(items.defer("document__title_terms"))

    @extend_schema(
        request=ImportRequestSerializer,
        responses={202: OpenApiResponse(ImportSerializer, "The import is queued.")},
    )
    def create(self, request: Request) -> Response:
        """Start an import.

        Each file of an archive, of a folder, or that a manifest names, and each page becomes a
        document. Workers ingest them one by one: poll the import until its `state` is `done`,
        `failed` or `cancelled`. With `readers` only these may read its documents: an item fails if
        the collection has its file with other readers and you may not change these. Folders of the
        server are for superusers, below IMPORT_ROOTS; addresses need URL_IMPORT.
        """
        data = read_body(request, ImportRequestSerializer).validated_data
        file = data.get("archive") or data.get("manifest")
        kind = data.get("kind") or (Kind.ARCHIVE if "archive" in data else Kind.MANIFEST)
        names = ("depth", "max_pages")
        of = importing.start(
            data["collection"],
            Kind(kind),
            file.name if file else data["origin"],
            file=file,
            options={name: data[name] for name in names if name in data},
            language=data["language"],
            metadata=data.get("metadata"),
            readers=named_readers(data),
            acting_user=actor(request),
        )
        return self._accepted(of)

    @extend_schema(request=ImportStateSerializer, responses={202: ImportSerializer})
    def partial_update(self, request: Request, number: int) -> Response:
        """Stop or resume an import.

        `cancelled` stops it: ingested documents stay. `queued` resumes one that a person or an
        error stopped, and tries items that failed again.
        """
        of, user = self.get_object(), actor(request)
        if read_body(request, ImportStateSerializer).validated_data["state"] == STOPPED:
            if not importing.stop(of, acting_user=user):
                raise Conflict("The import is over already.")
        elif not importing.resume(of, acting_user=user):
            raise Conflict("The import was not stopped, and none of its items failed.")
        return self._accepted(of)

    def _accepted(self, of: Import) -> Response:
        return self.respond(self.get_queryset().get(pk=of.pk), status.HTTP_202_ACCEPTED)


class WatchedFolderViewSet(ReadViewSet[WatchedFolder]):
    """The watched folders of the collections that the user may read."""

    serializer_class = WatchedFolderSerializer
    lookup_url_kwarg = "number"
    queryset = WatchedFolder.objects.select_related("collection")
