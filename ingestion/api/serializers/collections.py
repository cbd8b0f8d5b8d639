"""What the API shows of a collection, and what makes and changes one."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import Group
from django.utils.text import slugify
from rest_framework import serializers
from rest_framework.request import Request

from common.api.serializers import CleanSerializer
from ingestion.api.serializers.documents import LanguageField
from ingestion.collections import groups_problem
from ingestion.models import Collection


def sees_groups(request: Request) -> bool:
    """Whether the user may see who a collection is for, as in the admin."""
    verbs = ("view", "add", "change")
    return any(request.user.has_perm(f"ingestion.{verb}_collection") for verb in verbs)


class CollectionSerializer(CleanSerializer[Collection]):
    """A collection with the number of documents in it, and of those that search can find.

    `groups` are names, and shown to users who may see collections in the admin; null to others. A
    changed language or chunking reaches documents when they are processed again.
    """

    slug = serializers.SlugField(required=False, max_length=120, help_text="Made from the name.")
    groups = serializers.SlugRelatedField(
        slug_field="name", queryset=Group.objects.all(), many=True, required=False, allow_null=True
    )
    language = LanguageField(required=False, allow_blank=True, max_length=35)
    documents = serializers.IntegerField(source="document_count", read_only=True)
    searchable = serializers.IntegerField(source="searchable_count", read_only=True)

    class Meta:
        model = Collection
        fields = (
            "slug", "name", "description", "visibility", "groups", "language", "chunk_tokens",
            "overlap_tokens", "metadata_keys", "documents", "searchable", "created", "warnings",
        )  # fmt: skip
        read_only_fields = ("created",)
        validators: ClassVar[list[Any]] = []  # the model's own, see CleanSerializer

    def prepare(self, row: Collection) -> None:
        row.slug = row.slug or slugify(row.name)[:120]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if {"groups", "visibility"} & attrs.keys():
            held = list(self.instance.groups.all()) if self.instance else []
            groups = attrs.get("groups", held)
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
