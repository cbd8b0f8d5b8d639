"""Runs of the golden set over HTTP: started, watched, read query by query."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api import ActionPermission
from ingestion.paging import PageParameters, Pages, Parameters
from search.api.serializers import ProfileNameSerializer
from search.errors import UnknownProfile
from search.evaluation import golden_runs
from search.models import EvaluationRun, SearchProfile
from search.tuning.reading import QueryRow, query_rows


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


class RunViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[EvaluationRun]):
    """Runs, newest first."""

    serializer_class = RunSerializer
    pagination_class = Pages
    lookup_url_kwarg = "run"
    queryset = EvaluationRun.objects.select_related("profile", "baseline", "user").defer("by_query")
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "search.view_evaluationrun",
        "retrieve": "search.view_evaluationrun",
        "create": "search.add_evaluationrun",
        "cancel": "search.change_evaluationrun",
        "restart": "search.change_evaluationrun",
    }

    def get_serializer_class(self) -> Any:
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    @extend_schema(summary="List runs", parameters=[PageParameters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        PageParameters(data=request.query_params).is_valid(raise_exception=True)
        return super().list(request, *args, **kwargs)

    @extend_schema(summary="Show a run", responses=RunDetailSerializer)
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(
        operation_id="run_start",
        summary="Measure a profile on the golden queries",
        description="A worker measures it; ask `runs/ID/` until its `state` is `done`, `failed` or "
        "`cancelled`.",
        request=NewRunSerializer,
        responses={202: RunSerializer},
    )
    def create(self, request: Request) -> Response:
        form = NewRunSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given, user = form.validated_data, request.user
        drafts = user.has_perm("search.view_searchprofile")
        run = golden_runs.start(
            named_profile(given["profile"], drafts=drafts),
            acting_user=user,  # type: ignore[arg-type]
            baseline=named_profile(given["baseline"], drafts=drafts)
            if "baseline" in given
            else None,
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


def named_profile(key: str, *, drafts: bool) -> SearchProfile:
    """The profile that `name@version` or `name` means. Raises UnknownProfile."""
    name, _, version = key.partition("@")
    rows = SearchProfile.objects.filter(name=name)
    if not drafts:
        rows = rows.exclude(state=SearchProfile.State.DRAFT)
    if version:
        rows = rows.filter(version=int(version) if version.isdecimal() else 0)
    found = rows.order_by("-version").first()
    if found is None:
        raise UnknownProfile(f"There is no profile {key!r}.")
    return found
