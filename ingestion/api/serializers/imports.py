"""Imports and watched folders in the API, and the request that starts an import."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import ChoiceField, Strict
from ingestion.api.serializers.documents import CollectionField, LanguageField, MetadataField
from ingestion.intake.importing.services import Counts
from ingestion.models import Collection, Import, ImportItem, WatchedFolder

Kind = Import.Kind


class ImportCountsSerializer(serializers.Serializer[Any]):
    """Numbers of items by result. `processing`: stored, but not searchable yet."""

    waiting = serializers.IntegerField()
    added = serializers.IntegerField()
    replaced = serializers.IntegerField()
    duplicate = serializers.IntegerField()
    skipped = serializers.IntegerField()
    failed = serializers.IntegerField()
    processing = serializers.IntegerField()


class ImportSerializer(serializers.ModelSerializer[Import]):
    """An import and its progress: the share of the items that were ingested, 0 to 1."""

    collection = serializers.SlugRelatedField[Collection](slug_field="slug", read_only=True)
    progress = serializers.SerializerMethodField()
    counts = serializers.SerializerMethodField()
    error = serializers.CharField(read_only=True, help_text="Why it stopped, and what to do.")

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
            raise serializers.ValidationError(
                {"kind": ["Required with `origin`, and only allowed with it."]}
            )
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
