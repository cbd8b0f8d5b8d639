"""What the API shows of passages and their hand edits, and what it takes."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import Strict
from ingestion.models import Chunk, ChunkEdit
from ingestion.models.edits import MAX_QUESTION_CHARS


class ChunkEditSerializer(serializers.ModelSerializer[ChunkEdit]):
    """A hand edit. `chunk` is the number of the passage it is made on, from 0.

    `state` is `applied`, or `homeless` where the present version has no passage that is clearly
    its own: place it on one, or delete it. `original` is the passage's text as it was parsed.
    """

    chunk = serializers.IntegerField(source="ordinal", read_only=True)
    state = serializers.ChoiceField(choices=[state.value for state in ChunkEdit.State])
    questions = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = ChunkEdit
        fields = (
            "id", "chunk", "state", "reason", "text", "disabled", "questions", "note", "original",
            "created", "updated",
        )  # fmt: skip
        read_only_fields = fields


class ChunkSerializer(serializers.ModelSerializer[Chunk]):
    """A passage of the version that is searched, with its edit. `chunk` counts from 0."""

    chunk = serializers.IntegerField(source="ordinal", read_only=True)
    heading_path = serializers.ListField(child=serializers.CharField(), read_only=True)
    edit = ChunkEditSerializer(read_only=True, allow_null=True)

    class Meta:
        model = Chunk
        fields = (
            "chunk", "text", "heading_path", "page", "kind", "tokens", "start", "end",
            "searchable", "edit",
        )  # fmt: skip
        read_only_fields = fields


class WishSerializer(Strict, serializers.Serializer[Any]):
    """All that is wanted of a passage; what is left out is as the passage was parsed."""

    text = serializers.CharField(
        required=False, allow_blank=True, max_length=100_000, help_text="Empty: unchanged."
    )
    disabled = serializers.BooleanField(required=False, help_text="Search does not find it.")
    questions = serializers.ListField(
        child=serializers.CharField(max_length=MAX_QUESTION_CHARS),
        required=False,
        help_text="Whole questions that it comes first for.",
    )
    note = serializers.CharField(
        required=False, allow_blank=True, max_length=10_000, help_text="For members of staff."
    )


class PlaceSerializer(Strict, serializers.Serializer[Any]):
    """Where an edit goes that has no place."""

    chunk = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
