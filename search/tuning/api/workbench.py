"""The workbench over HTTP: the ranking and the measures of a draft that is not stored."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from common.api.requests import read_body
from search.engine import configuration
from search.tuning.api.serializers.comparisons import ComparisonSerializer, PreviewSerializer
from search.tuning.api.serializers.trials import PreviewRequestSerializer, TrialSerializer
from search.tuning.workbench import pool_building
from search.tuning.workbench.comparing import compare, visible_goldens
from search.tuning.workbench.preview import preview

WEIGHTS = {"weights": {"general": {"vector": 0.5, "keyword": 0.45, "title": 0.05}}}
EXAMPLE = OpenApiExample("Weights", WEIGHTS, request_only=True)


class MaySeeProfiles(BasePermission):
    """Permits whoever may see search profiles in the admin."""

    message = "You may not see search profiles. Ask for the group “Search viewers”."

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        return bool(
            user.has_perm("search.view_searchprofile")
            or user.has_perm("search.change_searchprofile")
        )


class WorkbenchViewSet(ViewSet):
    """Try weights and settings before anything is stored."""

    permission_classes = (MaySeeProfiles,)

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

        nDCG@10, MRR, recall@10, P@5 and hit@1 of the active profile and of a draft, from the
        candidates kept for the golden queries: no search is run. `complete` is false where these
        do not cover the draft; start a live run for its figures.
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
