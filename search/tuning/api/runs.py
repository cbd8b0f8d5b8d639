"""Evaluation runs over HTTP: measures of profiles on the golden queries."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.requests import actor, read_body
from common.api.serializers import ChoiceField, Parameters
from common.api.viewsets import ReadViewSet
from search.presentation.labels import by_measure
from search.tuning.api.profile_serializers import (
    ProfileNameSerializer,
    named_profile,
    visible_profiles,
)
from search.tuning.evaluation import golden_runs
from search.tuning.evaluation.golden_runs import QueryRow, query_rows
from search.tuning.models import EvaluationRun


class CancelSerializer(Parameters):
    """The state that ends it."""

    state = ChoiceField(["cancelled"])


class MeasuresField(serializers.JSONField):
    """Values by measure, under the names that pages show."""

    def to_representation(self, value: Any) -> Any:
        return by_measure(value)


@extend_schema_field(serializers.DictField(child=serializers.FloatField()))
class QueryMeasuresField(MeasuresField):
    """Those of one query."""


class RunSerializer(serializers.ModelSerializer[EvaluationRun]):
    """A profile's measures on the golden queries."""

    profile = ProfileNameSerializer()
    baseline = ProfileNameSerializer(allow_null=True)
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    measures = MeasuresField()
    differences = MeasuresField()
    by_class = MeasuresField()

    class Meta:
        model = EvaluationRun
        fields = (
            "id", "state", "progress", "error", "profile", "baseline", "queries", "measures",
            "differences", "by_class", "latency_ms", "fingerprint", "embedding_space",
            "code_version", "user", "created",
        )  # fmt: skip
        read_only_fields = fields


class QueryRowSerializer(serializers.Serializer[QueryRow]):
    """A run's measures of one golden query. Documents that you may not see are null."""

    query = serializers.UUIDField()
    text = serializers.CharField()
    query_class = serializers.CharField()
    measures = QueryMeasuresField()
    was = QueryMeasuresField()
    first = serializers.UUIDField(allow_null=True)
    was_first = serializers.UUIDField(allow_null=True)
    must_be_first = serializers.UUIDField(allow_null=True)
    error = serializers.CharField(help_text="Why no search can run it: it counts in no mean.")


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
    """The profile to measure, and the one to compare it with."""

    profile = serializers.CharField(help_text="`name@version`; drafts as well.")
    baseline = serializers.CharField(
        required=False, help_text="`name@version`; the active profile if it is left out."
    )


class RunViewSet(ReadViewSet[EvaluationRun]):
    """Measurements, newest first."""

    serializer_class = RunSerializer
    lookup_url_kwarg = "run"
    queryset = EvaluationRun.objects.select_related("profile", "baseline", "user").defer("by_query")

    def get_serializer_class(self) -> Any:
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    @extend_schema(request=NewRunSerializer, responses={202: RunSerializer})
    def create(self, request: Request) -> Response:
        """Measure a profile on the golden queries.

        A worker measures it; ask `runs/ID/` until its `state` is `done`, `failed` or `cancelled`.
        """
        data = read_body(request, NewRunSerializer).validated_data
        rows = visible_profiles(request.user)
        profile = named_profile(data["profile"], rows)
        baseline = named_profile(data["baseline"], rows) if "baseline" in data else None
        if baseline == profile:
            raise serializers.ValidationError({"baseline": ["It is the profile itself."]})
        run = golden_runs.start(profile, acting_user=actor(request), baseline=baseline)
        return self.respond(run, status.HTTP_202_ACCEPTED)

    @extend_schema(request=CancelSerializer)
    def partial_update(self, request: Request, run: int) -> Response:
        """Stop a run."""
        read_body(request, CancelSerializer)
        row = self.get_object()
        golden_runs.cancel(row)
        return self.respond(row)
