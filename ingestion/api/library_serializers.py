"""Collections, passages with their hand edits, and embedding spaces in the API."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import Group
from django.utils.text import slugify
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request

from common.api.serializers import CleanSerializer, Strict
from ingestion.api.document_serializers import LanguageField
from ingestion.collections import groups_problem
from ingestion.models import Chunk, ChunkEdit, Collection, EmbeddingSpace
from ingestion.models.versions import MAX_QUESTION_CHARS
from ingestion.spaces.index import IndexState
from ingestion.spaces.report import Report


def sees_groups(request: Request) -> bool:
    """Whether the user may see who a collection is for, as in the admin."""
    verbs = ("view", "add", "change")
    return any(request.user.has_perm(f"ingestion.{verb}_collection") for verb in verbs)


@extend_schema_field({"type": "array", "items": {"type": "string"}, "nullable": True})
class GroupNamesField(serializers.ManyRelatedField):
    """Groups by their names."""

    def __init__(self, **options: Any) -> None:
        names = serializers.SlugRelatedField(slug_field="name", queryset=Group.objects.all())
        super().__init__(child_relation=names, **options)


class CollectionSerializer(CleanSerializer[Collection]):
    """A collection with the number of documents in it, and of those that search can find.

    `groups` are names, and shown to users who may see collections in the admin; null to others. A
    changed language or chunking reaches documents when they are processed again.
    """

    slug = serializers.SlugField(required=False, max_length=120, help_text="Made from the name.")
    groups = GroupNamesField(required=False, allow_null=True)
    language = LanguageField(required=False, allow_blank=True, max_length=35)
    documents = serializers.IntegerField(source="document_count", read_only=True)
    searchable = serializers.IntegerField(source="searchable_count", read_only=True)

    class Meta:
        model = Collection
        fields = (
            "slug", "name", "icon", "description", "visibility", "groups", "language",
            "chunk_tokens", "overlap_tokens", "metadata_keys",
            "documents", "searchable", "created", "warnings",
        )  # fmt: skip
        read_only_fields = ("created",)
        validators: ClassVar[list[Any]] = []  # the model's own, see CleanSerializer

    def prepare(self, row: Collection) -> None:
        row.slug = row.slug or slugify(row.name)[:120]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if {"groups", "visibility"} & attrs.keys():
            current = list(self.instance.groups.all()) if self.instance else []
            groups = attrs.get("groups", current)
            user = self.context["request"].user
            if problem := groups_problem(self.row.visibility, groups or [], user):
                raise serializers.ValidationError({"groups": [problem]})
        return attrs

    def validate_groups(self, value: list[Group] | None) -> list[Group]:
        if value is None:
            raise serializers.ValidationError("Give a list of names; an empty one for no group.")
        return value

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        of_schema = getattr(self.context.get("view"), "swagger_fake_view", False)
        if not of_schema and not sees_groups(self.context["request"]):
            fields["groups"] = serializers.ReadOnlyField(source="no_groups", default=None)
        return fields


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
    """The complete edit of a passage; omitted fields are as parsed."""

    text = serializers.CharField(
        required=False, allow_blank=True, max_length=100_000, help_text="Empty: unchanged."
    )
    disabled = serializers.BooleanField(required=False, help_text="Search does not find it.")
    questions = serializers.ListField(
        child=serializers.CharField(max_length=MAX_QUESTION_CHARS),
        required=False,
        help_text="Complete questions for which it ranks first.",
    )
    note = serializers.CharField(
        required=False, allow_blank=True, max_length=10_000, help_text="For members of staff."
    )


class PlaceSerializer(Strict, serializers.Serializer[Any]):
    """The passage to apply an edit to that has no matching passage."""

    chunk = serializers.IntegerField(min_value=0, max_value=2**31 - 1)


class SpaceIndexSerializer(serializers.Serializer[Any]):
    """The space's vector index. `phase` and `share` are Postgres' own while it is built."""

    state = serializers.ChoiceField(choices=[state.value for state in IndexState])
    phase = serializers.CharField()
    share = serializers.FloatField(allow_null=True)


class SpaceSerializer(serializers.Serializer[Report]):
    """An embedding space, and its progress.

    `share` of the passages have a vector in it. `missing` and `missing_tokens` are what is still
    to be embedded; `cost` and `spent` follow from the price of a million tokens: estimates.
    """

    id = serializers.IntegerField(source="space.pk")
    name = serializers.CharField(source="space.name")
    fingerprint = serializers.CharField(source="space.fingerprint")
    state = serializers.ChoiceField(choices=EmbeddingSpace.State.choices, source="space.state")
    dimensions = serializers.IntegerField(source="space.dimensions")
    max_tokens = serializers.IntegerField(source="space.max_tokens")
    languages = serializers.ListField(child=serializers.CharField(), source="space.languages")
    index = SpaceIndexSerializer()
    share = serializers.FloatField()
    missing = serializers.IntegerField()
    missing_tokens = serializers.IntegerField()
    paused = serializers.BooleanField(source="space.paused")
    worked_on = serializers.BooleanField(source="is_worked_on")
    ready = serializers.BooleanField(
        source="is_ready", help_text="Filled and indexed, ready to be activated."
    )
    error = serializers.CharField(source="space.error")
    requests_per_minute = serializers.IntegerField(source="space.requests_per_minute")
    tokens_per_minute = serializers.IntegerField(source="space.tokens_per_minute")
    price = serializers.DecimalField(max_digits=12, decimal_places=6, source="space.price")
    cost = serializers.SerializerMethodField()
    tokens_spent = serializers.IntegerField(source="space.tokens_spent")
    spent = serializers.SerializerMethodField()
    created = serializers.DateTimeField(source="space.created")
    activated = serializers.DateTimeField(source="space.activated_at", allow_null=True)
    remarks = serializers.ListField(child=serializers.CharField())

    @extend_schema_field(serializers.DecimalField(max_digits=14, decimal_places=4))
    def get_cost(self, report: Report) -> str:
        return f"{report.cost:.4f}"

    @extend_schema_field(serializers.DecimalField(max_digits=14, decimal_places=4))
    def get_spent(self, report: Report) -> str:
        return f"{report.spent:.4f}"


@extend_schema_serializer(many=False)
class SpaceListSerializer(serializers.Serializer[Any]):
    """All embedding spaces, not paged."""

    results = SpaceSerializer(many=True)
