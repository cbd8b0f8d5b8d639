"""The workbench over HTTP: previews of drafts, evaluation runs, optimisations."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from common.api.access import requires
from common.api.requests import actor, read_body
from common.api.viewsets import ReadViewSet
from search.engine import configuration
from search.tuning.api.serializers.golden import (
    NewRunSerializer,
    RunDetailSerializer,
    RunSerializer,
)
from search.tuning.api.serializers.profiles import (
    SEE_DRAFTS,
    named_profile,
    published,
    visible_profiles,
)
from search.tuning.api.serializers.publishing import (
    DraftSerializer,
    NewOptimisationSerializer,
    OptimisationSerializer,
)
from search.tuning.api.serializers.workbench import (
    ComparisonSerializer,
    PreviewRequestSerializer,
    PreviewSerializer,
    TrialSerializer,
)
from search.tuning.evaluation import golden_runs
from search.tuning.models import EvaluationRun, Optimisation
from search.tuning.optimiser import optimisations
from search.tuning.optimiser.optimisations import Options
from search.tuning.workbench import pool_building
from search.tuning.workbench.comparing import compare, visible_goldens
from search.tuning.workbench.preview import preview

WEIGHTS = {"weights": {"general": {"vector": 0.5, "keyword": 0.45, "title": 0.05}}}
EXAMPLE = OpenApiExample("Weights", WEIGHTS, request_only=True)


class MaySeeProfiles(BasePermission):
    """Permits whoever may see search profiles in the admin."""

    message = (
        "You do not have permission to see search profiles. Ask for the group “Search viewers”."
    )

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        return bool(
            user.has_perm("search.view_searchprofile")
            or user.has_perm("search.change_searchprofile")
        )


class WorkbenchViewSet(ViewSet):
    """Try weights and settings before anything is stored."""

    permission_classes = (MaySeeProfiles,)
    needs_scope = "tune"

    @extend_schema(
        request=PreviewRequestSerializer,
        responses=PreviewSerializer,
        examples=[OpenApiExample("Weights", {"query": "pump", **WEIGHTS}, request_only=True)],
    )
    @action(detail=False, methods=["post"])
    def preview(self, request: Request) -> Response:
        """Preview a draft for one question.

        The active ranking and that of a draft, side by side, among what you may read. Nothing is
        stored; publishing the draft ranks just so.
        """
        asked = read_body(request, PreviewRequestSerializer)
        given = asked.validated_data
        shown = preview(
            given["query"],
            configuration.current().profile(),
            asked.trial(),
            viewer=request.user,
            collections=given["collections"],
            shown=given["limit"],
        )
        return Response(PreviewSerializer(shown).data)

    @extend_schema(request=TrialSerializer, responses=ComparisonSerializer, examples=[EXAMPLE])
    @action(detail=False, methods=["post"], url_path="what-if")
    def what_if(self, request: Request) -> Response:
        """Measure a draft over the golden queries.

        nDCG@10, MRR@10, Recall@10, Precision@5 and Hit@1 of the active profile and of a draft,
        from the candidates kept for the golden queries: no search is run. `complete` is false
        where these do not cover the draft; start a live run for its figures.
        """
        asked = read_body(request, TrialSerializer)
        found = compare(configuration.current().profile(), asked.trial())
        named = (*found.winners, *found.losers, *found.broken)
        context = {"visible": visible_goldens(named, request.user)}
        return Response(ComparisonSerializer(found, context=context).data)

    @extend_schema(request=TrialSerializer, responses={202: None}, examples=[EXAMPLE])
    @action(detail=False, methods=["post"])
    def candidates(self, request: Request) -> Response:
        """Find the golden queries' candidates again.

        A worker finds the candidates that `what-if` measures over, to the depth that the active
        profile and the draft need. Ask `what-if` until `complete` is true; meanwhile its
        `building` is the share done.
        """
        asked = read_body(request, TrialSerializer)
        pool_building.enqueue_both(configuration.current().profile(), asked.trial())
        return Response(status=status.HTTP_202_ACCEPTED)


CHANGE_RUN, CHANGE_PROFILE = "tuning.change_evaluationrun", "search.change_searchprofile"


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


class OptimisationViewSet(ReadViewSet[Optimisation]):
    """Searches for better weights, newest first."""

    serializer_class = OptimisationSerializer
    lookup_url_kwarg = "optimisation"
    lookup_value_converter = "int"
    queryset = Optimisation.objects.select_related("profile", "draft", "user")
    permission = CHANGE_PROFILE

    @requires(SEE_DRAFTS)
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List searches for better weights."""
        return super().list(request, *args, **kwargs)

    @requires(SEE_DRAFTS)
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Show a search for better weights."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=NewOptimisationSerializer, responses={202: OptimisationSerializer})
    def create(self, request: Request) -> Response:
        """Find better weights.

        A worker looks for them; ask for `tuning/optimisations/ID/` until its `state` is `done`,
        `failed` or `cancelled`. A reliable gain on people's judgements becomes a draft by itself;
        nothing is published.
        """
        given = dict(read_body(request, NewOptimisationSerializer).validated_data)
        profile = named_profile(given.pop("profile"), visible_profiles(request.user))
        row = optimisations.start(profile, Options.from_json(given), acting_user=actor(request))
        return self.shown(row, status.HTTP_202_ACCEPTED)

    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, optimisation: int) -> Response:
        """Stop a search for better weights."""
        row = self.get_object()
        optimisations.cancel(row, acting_user=actor(request))
        return self.shown(row)

    @extend_schema(request=DraftSerializer, responses={201: OptimisationSerializer})
    @action(detail=True, methods=["post"])
    def draft(self, request: Request, optimisation: int) -> Response:
        """Make a draft of the result.

        Also where the gain is not reliable: the draft then says so.
        """
        row = self.get_object()
        key = read_body(request, DraftSerializer).validated_data.get("preset")
        preset = named_profile(key, published()) if key else None
        optimisations.make_draft(row, acting_user=actor(request), preset=preset)
        return self.shown(self.get_object(), status.HTTP_201_CREATED)
