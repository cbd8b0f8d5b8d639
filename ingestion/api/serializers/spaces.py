"""What the API shows of embedding spaces."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingestion.models import EmbeddingSpace
from ingestion.spaces.index import IndexState
from ingestion.spaces.report import Report


class SpaceIndexSerializer(serializers.Serializer[Any]):
    """The space's vector index. `phase` and `share` are Postgres' own while it is built."""

    state = serializers.ChoiceField(choices=[state.value for state in IndexState])
    phase = serializers.CharField()
    share = serializers.FloatField(allow_null=True)


class SpaceSerializer(serializers.Serializer[Report]):
    """An embedding space and how far it is.

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
        source="is_ready", help_text="It is filled and indexed, and waits to be activated."
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


class SpaceListSerializer(serializers.Serializer[Any]):
    """All embedding spaces: there are never many."""

    results = SpaceSerializer(many=True)
