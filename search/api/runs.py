"""Runs of the golden set over HTTP: started, watched, read query by query."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from ingestion.api_requests import actor, posted
from ingestion.paging import PageParameters, Parameters
from search.api.naming import named_profile, visible_profiles
from search.api.reading import ReadViewSet
from search.api.serializers import ProfileNameSerializer
from search.tuning.evaluation import golden_runs
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


@extend_schema_view(
    list=extend_schema(summary="List runs", parameters=[PageParameters]),
    retrieve=extend_schema(summary="Show a run", responses=RunDetailSerializer),
)
class RunViewSet(ReadViewSet[EvaluationRun]):
    """Runs, newest first."""

    serializer_class = RunSerializer
    lookup_url_kwarg = "run"
    queryset = EvaluationRun.objects.select_related("profile", "baseline", "user").defer("by_query")
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "tuning.view_evaluationrun",
        "retrieve": "tuning.view_evaluationrun",
        "create": "tuning.add_evaluationrun",
        "cancel": "tuning.change_evaluationrun",
        "restart": "tuning.change_evaluationrun",
    }

    def get_serializer_class(self) -> Any:
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    @extend_schema(
        operation_id="run_start",
        summary="Measure a profile on the golden queries",
        description="A worker measures it; ask `runs/ID/` until its `state` is `done`, `failed` or "
        "`cancelled`.",
        request=NewRunSerializer,
        responses={202: RunSerializer},
    )
    def create(self, request: Request) -> Response:
        given = posted(request, NewRunSerializer).validated_data
        seen = visible_profiles(request.user)
        run = golden_runs.start(
            named_profile(given["profile"], seen),
            acting_user=actor(request),
            baseline=named_profile(given["baseline"], seen) if "baseline" in given else None,
        )
        return Response(RunSerializer(run).data, status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="run_cancel", summary="Stop a run", request=None, responses=RunSerializer
    )
    def cancel(self, request: Request, run: int) -> Response:
        found = self.get_object()
        golden_runs.cancel(found)
        return Response(RunSerializer(found).data)

    @extend_schema(
        operation_id="run_restart",
        summary="Start a run that failed or was cancelled again",
        request=None,
        responses={202: RunSerializer},
    )
    def restart(self, request: Request, run: int) -> Response:
        found = self.get_object()
        golden_runs.restart(found)
        return Response(RunSerializer(found).data, status.HTTP_202_ACCEPTED)
