"""The workbench over HTTP: what a draft would rank and measure, before anything is stored."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import status
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.api_requests import posted
from search.api.serializers.comparisons import ComparisonSerializer, PreviewSerializer
from search.api.serializers.trials import PreviewRequestSerializer, TrialSerializer
from search.engine import configuration
from search.tuning.workbench import pool_building
from search.tuning.workbench.comparing import compare, visible_goldens
from search.tuning.workbench.preview import preview

EXAMPLE = {"weights": {"general": {"vector": 0.5, "keyword": 0.45, "title": 0.05}}}


class MaySeeProfiles(BasePermission):
    """Whoever may see search profiles in the admin."""

    message = "You may not see search profiles. Ask for the group “Search viewers”."

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        return bool(
            user.has_perm("search.view_searchprofile")
            or user.has_perm("search.change_searchprofile")
        )


class PreviewView(APIView):
    permission_classes = (MaySeeProfiles,)

    @extend_schema(
        operation_id="tuning_preview",
        summary="Preview a draft for one question",
        description="The active ranking and that of a draft, side by side, among what you may "
        "read. Nothing is stored; publishing the draft ranks just so.",
        request=PreviewRequestSerializer,
        responses=PreviewSerializer,
        examples=[
            OpenApiExample("Weights", {"query": "pump", **EXAMPLE}, request_only=True),
        ],
    )
    def post(self, request: Request) -> Response:
        asked = posted(request, PreviewRequestSerializer)
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


class WhatIfView(APIView):
    permission_classes = (MaySeeProfiles,)

    @extend_schema(
        operation_id="tuning_what_if",
        summary="Measure a draft over the golden queries",
        description="nDCG@10, MRR, recall@10, P@5 and hit@1 of the active profile and of a draft, "
        "from the candidates kept for the golden queries: no search is run. `complete` is false "
        "where these do not cover the draft; start a live run for its figures.",
        request=TrialSerializer,
        responses=ComparisonSerializer,
        examples=[OpenApiExample("Weights", EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        asked = posted(request, TrialSerializer)
        found = compare(configuration.current().profile(), asked.trial())
        named = (*found.winners, *found.losers, *found.broken)
        context = {"visible": visible_goldens(named, request.user)}
        return Response(ComparisonSerializer(found, context=context).data)


class CandidatesView(APIView):
    permission_classes = (MaySeeProfiles,)

    @extend_schema(
        operation_id="tuning_candidates",
        summary="Find the golden queries' candidates again",
        description="Has a worker find what the figures of `what-if` are made of, as far as the "
        "active profile and the draft look. Ask `what-if` until `complete` is true; meanwhile its "
        "`building` says how far it is.",
        request=TrialSerializer,
        responses={202: None},
        examples=[OpenApiExample("Weights", EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        asked = posted(request, TrialSerializer)
        pool_building.enqueue_both(configuration.current().profile(), asked.trial())
        return Response(status=status.HTTP_202_ACCEPTED)
