"""What the API shows of measurements on the golden queries, and what starts one."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import Parameters
from search.tuning.api.serializers.profiles import ProfileNameSerializer
from search.tuning.evaluation.run_figures import QueryRow, query_rows
from search.tuning.models import EvaluationRun


class RunSerializer(serializers.ModelSerializer[EvaluationRun]):
    """What a profile measured, on the golden queries or on a judged collection."""

    profile = ProfileNameSerializer()
    baseline = ProfileNameSerializer(allow_null=True)
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    measures = serializers.JSONField()
    differences = serializers.JSONField()
    by_class = serializers.JSONField()
    latency_ms = serializers.JSONField()

    class Meta:
        model = EvaluationRun
        fields = (
            "id", "kind", "state", "progress", "error", "profile", "baseline", "collection",
            "queries", "measures", "differences", "by_class", "latency_ms", "fingerprint",
            "embedding_space", "code_version", "user", "created",
        )  # fmt: skip
        read_only_fields = fields


class QueryRowSerializer(serializers.Serializer[QueryRow]):
    """What a run measured of one golden query. Documents that you may not see are null."""

    query = serializers.UUIDField()
    text = serializers.CharField()
    query_class = serializers.CharField()
    measures = serializers.DictField(child=serializers.FloatField())
    was = serializers.DictField(child=serializers.FloatField())
    first = serializers.UUIDField(allow_null=True)
    was_first = serializers.UUIDField(allow_null=True)
    must_be_first = serializers.UUIDField(allow_null=True)


class RunDetailSerializer(RunSerializer):
    """A run, with every query that you may see."""

    by_query = serializers.SerializerMethodField()

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, "by_query")  # type: ignore[assignment]
        read_only_fields = fields  # type: ignore[assignment]

    @extend_schema_field(QueryRowSerializer(many=True))
    def get_by_query(self, run: EvaluationRun) -> Any:
        rows: Any = query_rows(run, viewer=self.context["request"].user)
        return QueryRowSerializer(rows, many=True).data


class NewRunSerializer(Parameters):
    """Which profile to measure, and beside which."""

    profile = serializers.CharField(help_text="`name@version`; drafts as well.")
    baseline = serializers.CharField(
        required=False, help_text="`name@version`; the active profile if it is left out."
    )
