"""What a batch of uploads or deletions takes, and its receipts."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import Strict
from ingestion.api.serializers.documents import (
    OUTCOMES,
    CollectionField,
    LanguageField,
    ProblemSerializer,
)
from ingestion.api.serializers.metadata import MetadataField
from ingestion.models import State

MAX_BATCH = 500


class BatchUploadSerializer(Strict, serializers.Serializer[Any]):
    """Files for a collection that the user may read."""

    collection = CollectionField(help_text="The collection's slug.")
    files = serializers.ListField(
        child=serializers.FileField(allow_empty_file=True), allow_empty=False
    )
    language = LanguageField(
        required=False, allow_blank=True, max_length=35, help_text="Of all files; empty: detected."
    )
    metadata = MetadataField(required=False, help_text="Of all files.")


class BatchDeleteSerializer(Strict, serializers.Serializer[Any]):
    """Ids of documents."""

    ids = serializers.ListField(
        child=serializers.UUIDField(), allow_empty=False, max_length=MAX_BATCH
    )


class BatchItemSerializer(serializers.Serializer[Any]):
    """What became of one item: its document's state, or an error."""

    file_name = serializers.CharField(default="", help_text="Of an upload.")
    id = serializers.UUIDField(default=None, allow_null=True, help_text="Null: nothing was stored.")
    state = serializers.ChoiceField(
        choices=[*State.values, "deleted"], default=None, allow_null=True
    )
    outcome = serializers.ChoiceField(
        choices=OUTCOMES, default=None, allow_null=True, help_text="Of an upload."
    )
    error = ProblemSerializer(default=None, allow_null=True)


class BatchSerializer(serializers.Serializer[Any]):
    """A receipt for each item of a batch, in the order in which they were given."""

    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    results = BatchItemSerializer(many=True)
