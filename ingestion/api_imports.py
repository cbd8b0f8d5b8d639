"""Imports of many files over HTTP, and collections as files."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_choices import ChoiceField
from ingestion.api_requests import (
    ActionPermission,
    Conflict,
    ImportParser,
    actor,
    asked,
    location,
    posted,
)
from ingestion.exporting import writing
from ingestion.intake.importing import services
from ingestion.intake.importing.services import Counts, counts_of
from ingestion.models import Collection, Import, ImportItem
from ingestion.paging import PageParameters, Pages
from ingestion.serializers import CollectionField, LanguageField

Kind = Import.Kind


class ImportCountsSerializer(serializers.Serializer[Any]):
    """Items by what became of them. `processing`: taken in, but not searchable yet."""

    waiting = serializers.IntegerField()
    added = serializers.IntegerField()
    replaced = serializers.IntegerField()
    duplicate = serializers.IntegerField()
    skipped = serializers.IntegerField()
    failed = serializers.IntegerField()
    processing = serializers.IntegerField()


class ImportSerializer(serializers.ModelSerializer[Import]):
    """An import and how far it has come. `progress` is the share that was taken, 0 to 1."""

    collection = serializers.SlugRelatedField[Collection](slug_field="slug", read_only=True)
    progress = serializers.SerializerMethodField()
    counts = serializers.SerializerMethodField()
    error = serializers.CharField(read_only=True, help_text="What stopped it, and what to do.")

    class Meta:
        model = Import
        fields = (
            "id", "collection", "kind", "origin", "language", "state", "error", "progress",
            "counts", "created", "finished",
        )  # fmt: skip
        read_only_fields = fields

    def get_progress(self, of: Import) -> float:
        return round(self._counts(of).share, 4)

    def get_counts(self, of: Import) -> ImportCountsSerializer:
        counts = self._counts(of)
        by_state: dict[str, int] = {
            state: counts.by_state.get(state, 0) for state in ImportItem.State.values
        }
        return {**by_state, "processing": counts.processing}  # type: ignore[return-value]

    def _counts(self, of: Import) -> Counts:
        counts: dict[int, Counts] = self.context["counts"]
        return counts[of.pk]


class ImportItemSerializer(serializers.ModelSerializer[ImportItem]):
    """One file or page of an import: its path or address, and what became of it."""

    document = serializers.UUIDField(source="document.public_id", default=None, read_only=True)

    class Meta:
        model = ImportItem
        fields = ("reference", "depth", "state", "message", "metadata", "document")
        read_only_fields = fields


class ImportParameters(PageParameters):
    """Which imports are listed."""

    state = ChoiceField(choices=Import.State.choices, required=False)


class ImportItemParameters(PageParameters):
    """Which items are listed."""

    state = ChoiceField(choices=ImportItem.State.choices, required=False)


class ImportRequestSerializer(serializers.Serializer[Any]):
    """What to import. One of `archive`, `manifest` (both as multipart) and `origin` (JSON)."""

    collection = CollectionField()
    language = LanguageField(required=False, default="", max_length=35)
    archive = serializers.FileField(
        required=False, help_text="A ZIP archive: each member becomes a document of its own."
    )
    manifest = serializers.FileField(
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
    other_hosts = serializers.BooleanField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(name in attrs for name in ("archive", "manifest", "origin")) != 1:
            raise serializers.ValidationError("Give one of archive, manifest and origin.")
        if ("origin" in attrs) != ("kind" in attrs):
            raise serializers.ValidationError({"kind": ["It goes with origin, and only with it."]})
        return attrs


class ImportViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Import]):
    """Imports of many files or pages into the collections that the user may read."""

    serializer_class = ImportSerializer
    pagination_class = Pages
    parser_classes = [ImportParser, JSONParser]
    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = dict.fromkeys(
        ("list", "retrieve", "items", "create", "cancel", "resume", "retry"),
        "ingestion.add_document",
    )
    lookup_url_kwarg = "number"
    queryset = Import.objects.none()

    def get_queryset(self) -> Any:
        return Import.objects.visible_to(self.request.user).select_related("collection")

    @extend_schema(summary="List imports", parameters=[ImportParameters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        parameters = asked(request, ImportParameters)
        imports = self.get_queryset()
        if state := parameters.validated_data.get("state"):
            imports = imports.filter(state=state)
        page = self.paginate_queryset(imports) or []
        return self.get_paginated_response(self._shown(page, many=True))

    @extend_schema(summary="Show an import")
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return Response(self._shown(self.get_object()))

    @extend_schema(
        summary="List what an import holds",
        parameters=[ImportItemParameters],
        responses=ImportItemSerializer(many=True),
    )
    def items(self, request: Request, number: int) -> Response:
        page: Any
        parameters = asked(request, ImportItemParameters)
        items: Any = self.get_object().items.select_related("document").order_by("position", "pk")
        items = items.defer("document__title_terms")
        if state := parameters.validated_data.get("state"):
            items = items.filter(state=state)
        page = self.paginate_queryset(items) or []
        return self.get_paginated_response(ImportItemSerializer(page, many=True).data)

    @extend_schema(
        summary="Start an import",
        description="Each file of an archive, of a folder, or that a manifest names, and each page "
        "becomes a document. Workers take them one by one: ask for the import until its `state` is "
        "`done`, `failed` or `cancelled`. Folders of the server are for superusers, below "
        "IMPORT_ROOTS; addresses need URL_IMPORT.",
        request=ImportRequestSerializer,
        responses={202: OpenApiResponse(ImportSerializer, "The import is queued.")},
    )
    def create(self, request: Request) -> Response:
        context = {"request": request}
        given = posted(request, ImportRequestSerializer, context=context).validated_data
        file = given.get("archive") or given.get("manifest")
        kind = given.get("kind") or (Kind.ARCHIVE if "archive" in given else Kind.MANIFEST)
        named = ("depth", "max_pages", "other_hosts")
        of = services.start(
            given["collection"],
            Kind(kind),
            file.name if file else given["origin"],
            file=file,
            options={name: given[name] for name in named if name in given},
            language=given["language"],
            acting_user=actor(request),
        )
        return self._accepted(of)

    @extend_schema(
        summary="Stop an import",
        description="What it took stays; it can go on later.",
        request=None,
        responses={202: ImportSerializer},
    )
    def cancel(self, request: Request, number: int) -> Response:
        of = self.get_object()
        if not services.stop(of, acting_user=actor(request)):
            raise Conflict("The import is over already.")
        return self._accepted(of)

    @extend_schema(
        summary="Let an import go on",
        description="One that was stopped, by a person or by an error.",
        request=None,
        responses={202: ImportSerializer},
    )
    def resume(self, request: Request, number: int) -> Response:
        of = self.get_object()
        if not services.resume(of, acting_user=actor(request)):
            raise Conflict("The import was not stopped: there is nothing to resume.")
        return self._accepted(of)

    @extend_schema(
        summary="Try failed items again", request=None, responses={202: ImportSerializer}
    )
    def retry(self, request: Request, number: int) -> Response:
        of = self.get_object()
        if not services.retry(of, acting_user=actor(request)):
            raise Conflict("None of its items failed: there is nothing to retry.")
        return self._accepted(of)

    def _accepted(self, of: Import) -> Response:
        fresh = self.get_queryset().get(pk=of.pk)
        headers = location(self.request, "import", of.pk)
        return Response(self._shown(fresh), status.HTTP_202_ACCEPTED, headers=headers)

    def _shown(self, imports: Any, *, many: bool = False) -> Any:
        context = {"counts": counts_of(imports if many else [imports])}
        return ImportSerializer(imports, many=many, context=context).data


class CollectionExportViewSet(GenericViewSet[Collection]):
    """A collection as a ZIP archive, for those who may change it."""

    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = {"export": "ingestion.change_collection"}
    lookup_field = "slug"
    queryset = Collection.objects.none()

    def get_queryset(self) -> Any:
        return Collection.objects.visible_to(self.request.user)

    @extend_schema(
        summary="Export a collection",
        description="Originals, titles, hand edits, golden queries, judgements and pins, as "
        "`manage.py import_collection` reads them.",
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    def export(self, request: Request, slug: str) -> StreamingHttpResponse:
        collection = self.get_object()
        if not writing.may_export(request.user, collection):
            raise Http404
        return writing.streamed(collection)
