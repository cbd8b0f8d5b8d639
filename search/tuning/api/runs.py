"""Evaluation runs and searches for better weights over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.permissions import requires
from common.api.requests import actor, read_body
from common.api.viewsets import ReadViewSet
from search.tuning.api.naming import SEE_DRAFTS, named_profile, published, visible_profiles
from search.tuning.api.serializers.optimisations import (
    DraftSerializer,
    NewOptimisationSerializer,
    OptimisationSerializer,
)
from search.tuning.api.serializers.runs import NewRunSerializer, RunDetailSerializer, RunSerializer
from search.tuning.evaluation import golden_runs
from search.tuning.models import EvaluationRun, Optimisation
from search.tuning.optimiser import optimisations
from search.tuning.optimiser.optimisations import Options

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
