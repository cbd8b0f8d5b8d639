"""Measurements over HTTP: start, read, stop."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.requests import actor, read_body
from common.api.serializers import Parameters
from common.api.viewsets import ReadViewSet
from search.tuning.api.profile_serializers import (
    ProfileNameSerializer,
    named_profile,
    visible_profiles,
)
from search.tuning.evaluation import golden_runs
from search.tuning.evaluation.golden_runs import QueryRow, query_rows
from search.tuning.models import EvaluationRun

CHANGE_RUN = "tuning.change_evaluationrun"


class RunSerializer(serializers.ModelSerializer[EvaluationRun]):
    """A profile's measures on the golden queries or on a judged collection."""

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
    """A run's measures of one golden query. Documents that you may not see are null."""

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
    """The profile to measure, and the one to compare it with."""

    profile = serializers.CharField(help_text="`name@version`; drafts as well.")
    baseline = serializers.CharField(
        required=False, help_text="`name@version`; the active profile if it is left out."
    )


class RunViewSet(ReadViewSet[EvaluationRun]):
    """Measurements, newest first."""

    serializer_class = RunSerializer
    lookup_url_kwarg = "run"
    lookup_value_converter = "int"
    queryset = EvaluationRun.objects.select_related("profile", "baseline", "user").defer("by_query")

    def get_serializer_class(self) -> Any:
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    @extend_schema(request=NewRunSerializer, responses={202: RunSerializer})
    def create(self, request: Request) -> Response:
        """Measure a profile on the golden queries.

        A worker measures it; ask `runs/ID/` until its `state` is `done`, `failed` or `cancelled`.
        """
        given = read_body(request, NewRunSerializer).validated_data
        seen = visible_profiles(request.user)
        run = golden_runs.start(
            named_profile(given["profile"], seen),
            acting_user=actor(request),
            baseline=named_profile(given["baseline"], seen) if "baseline" in given else None,
        )
        return self.shown(run, status.HTTP_202_ACCEPTED)

    @action(detail=True, methods=["post"])
    @requires(CHANGE_RUN)
    def cancel(self, request: Request, run: int) -> Response:
        """Stop a run."""
        found = self.get_object()
        golden_runs.cancel(found)
        return self.shown(found)

    @extend_schema(responses={202: RunSerializer})
    @action(detail=True, methods=["post"])
    @requires(CHANGE_RUN)
    def restart(self, request: Request, run: int) -> Response:
        """Start a run that failed or was cancelled again."""
        found = self.get_object()
        golden_runs.restart(found)
        return self.shown(found, status.HTTP_202_ACCEPTED)
