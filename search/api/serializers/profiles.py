"""What the API shows of the profiles that a search can rank by."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from search.domain import COLUMNS, Profile, QueryClass, Signal
from search.models import SearchProfile
from search.tuning.evaluation.golden import fingerprint

SIGNALS = [signal.value for signal in Signal]
CLASSES = [query_class.value for query_class in QueryClass]


class SignalValuesSerializer(serializers.Serializer[Any]):
    """A number for each signal."""

    vector = serializers.FloatField()
    keyword = serializers.FloatField()
    title = serializers.FloatField()
    recency = serializers.FloatField()
    synonym = serializers.FloatField()


class ProfileNameSerializer(serializers.Serializer[Profile]):
    """Which version of which profile ranked."""

    name = serializers.CharField()
    version = serializers.IntegerField()


class ProfileSerializer(serializers.ModelSerializer[SearchProfile]):
    """A version of how search ranks: its weights by class of query, and how scores are made."""

    weights = serializers.SerializerMethodField()
    active = serializers.SerializerMethodField()
    fingerprint = serializers.SerializerMethodField(
        help_text="Another one for every profile that may rank otherwise. Send it when you edit "
        "or publish, and nothing else than what you saw is."
    )

    class Meta:
        model = SearchProfile
        fields = (
            "name", "version", "state", "active", "description", "weights", *COLUMNS, "published",
            "fingerprint",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(
        {
            "type": "object",
            "properties": {name: {"$ref": "#/components/schemas/SignalValues"} for name in CLASSES},
        }
    )
    def get_weights(self, profile: SearchProfile) -> dict[str, dict[str, float]]:
        rows = profile.class_weights.all()
        return {row.query_class: row.as_weights().as_dict() for row in rows}

    @extend_schema_field(OpenApiTypes.STR)
    def get_fingerprint(self, profile: SearchProfile) -> str:
        return fingerprint(profile.as_profile())

    @extend_schema_field(OpenApiTypes.BOOL)
    def get_active(self, profile: SearchProfile) -> bool:
        return profile.state == SearchProfile.State.ACTIVE
