"""The workbench over HTTP: what a draft would rank and measure, before anything is stored."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from search import configuration
from search.domain import Profile, QueryClass, Weights
from search.errors import UnknownProfile
from search.models import SearchProfile
from search.tuning import pool_building
from search.tuning.comparing import Change, Comparison, Row, compare, visible_goldens
from search.tuning.preview import SHOWN, Place, Preview, Side, preview, trial

MAX_SHOWN = 50
MAX_LISTED = 50


class MaySeeProfiles(BasePermission):
    """Whoever may see search profiles in the admin."""

    message = "You may not see search profiles. Ask for the group “Search viewers”."

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        return bool(
            user.has_perm("search.view_searchprofile")
            or user.has_perm("search.change_searchprofile")
        )


class ShareField(serializers.FloatField):
    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=1, **options)


class TrialSharesSerializer(serializers.Serializer[Weights]):
    """The weights of a class: each signal's share, summing to 1; one that is not named is 0."""

    vector = ShareField(default=0.0)
    keyword = ShareField(default=0.0)
    title = ShareField(default=0.0)
    recency = ShareField(default=0.0)
    synonym = ShareField(default=0.0)

    def validate(self, attrs: dict[str, float]) -> dict[str, float]:
        try:
            Weights(**attrs)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error
        return attrs


class TrialSerializer(serializers.Serializer[Profile]):
    """A profile and what to change of it, for a try."""

    profile = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=80,
        help_text="What is changed: `name@version`, drafts too; without it the active profile.",
    )
    settings = serializers.DictField(
        default=dict,
        help_text="Settings in place of the profile's, by name: `fusion`, `depth`, `feedback`, "
        "`keyword_normaliser` and the others that a profile shows.",
    )
    weights = serializers.DictField(
        child=TrialSharesSerializer(),
        default=dict,
        help_text="Weights in place of the profile's, by class of question.",
    )

    def validate_weights(self, value: dict[str, dict[str, float]]) -> dict[QueryClass, Weights]:
        unknown = sorted(set(value) - {each.value for each in QueryClass})
        if unknown:
            names = ", ".join(QueryClass)
            raise serializers.ValidationError(f"There is no class {unknown[0]!r}. Use: {names}.")
        return {QueryClass(name): Weights(**shares) for name, shares in value.items()}

    def trial(self) -> Profile:
        """The profile with its changes. Raises UnknownProfile, ProfileError."""
        given = self.validated_data
        return trial(_row(given["profile"]), given["settings"], given["weights"])


class PreviewRequestSerializer(TrialSerializer):
    query = serializers.CharField(max_length=500)
    collections = serializers.ListField(
        child=serializers.CharField(max_length=120), default=list, max_length=50
    )
    limit = serializers.IntegerField(min_value=1, max_value=MAX_SHOWN, default=SHOWN)


class MovedSerializer(serializers.Serializer[Place]):
    """A result of one ranking. `other_rank` is its document's in the other one; null: none."""

    rank = serializers.IntegerField()
    other_rank = serializers.IntegerField(source="other", allow_null=True)
    document = serializers.CharField(source="result.document_id")
    title = serializers.CharField(source="result.title")
    chunk = serializers.IntegerField(source="result.chunk")
    score = serializers.FloatField(source="result.hit.score")
    contributions = serializers.SerializerMethodField()

    def get_contributions(self, place: Place) -> dict[str, float]:
        explanation = place.result.hit.explanation
        return {part.signal.value: part.value for part in explanation.contributions}


class SideSerializer(serializers.Serializer[Side]):
    """One profile's ranking. `class` is how it classifies the question."""

    profile = serializers.SerializerMethodField()
    weights = serializers.SerializerMethodField()
    confidence = serializers.FloatField(source="weighed.ranking.confidence", allow_null=True)
    total = serializers.IntegerField()
    results = MovedSerializer(source="places", many=True)

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        fields["class"] = serializers.CharField(
            source="weighed.understood.classification.query_class"
        )
        return fields

    def get_profile(self, side: Side) -> str:
        return f"{side.profile.name}@{side.profile.version}"

    def get_weights(self, side: Side) -> dict[str, float]:
        return side.weighed.understood.weights.as_dict()


class PreviewSerializer(serializers.Serializer[Preview]):
    changed = serializers.IntegerField(help_text="How many of the draft's results moved.")
    degraded = serializers.BooleanField()
    active = SideSerializer()
    draft = SideSerializer()


class MeasuredSerializer(serializers.Serializer[Row]):
    name = serializers.CharField()
    active = serializers.FloatField(source="before")
    draft = serializers.FloatField(source="after")
    difference = serializers.FloatField()


class QueryChangeSerializer(serializers.Serializer[Change]):
    """What becomes of one golden query, by nDCG@10."""

    query = serializers.CharField(source="golden.text")
    id = serializers.CharField(source="golden.public_id")
    active = serializers.FloatField(source="before")
    draft = serializers.FloatField(source="after")
    difference = serializers.FloatField()


class CoverageSerializer(serializers.Serializer[Any]):
    """How many golden queries there are, how many have candidates kept, how many of those stale."""

    queries = serializers.IntegerField()
    pooled = serializers.IntegerField()
    stale = serializers.IntegerField()
    building = serializers.FloatField(allow_null=True)
    problem = serializers.CharField()


class ComparisonSerializer(serializers.Serializer[Comparison]):
    """The golden set under both. `complete`: these are the figures of a live evaluation."""

    queries = serializers.IntegerField()
    complete = serializers.BooleanField(source="is_complete")
    measures = MeasuredSerializer(source="rows", many=True)
    by_class = serializers.SerializerMethodField()
    winners = serializers.SerializerMethodField()
    losers = serializers.SerializerMethodField()
    no_longer_first = serializers.SerializerMethodField()
    active_coverage = serializers.SerializerMethodField()
    draft_coverage = serializers.SerializerMethodField()

    def get_by_class(self, found: Comparison) -> dict[str, Any]:
        return {
            query_class.value: {
                "queries": count,
                "measures": [MeasuredSerializer(row).data for row in rows],
            }
            for query_class, (count, rows) in found.by_class.items()
        }

    @extend_schema_field(QueryChangeSerializer(many=True))
    def get_winners(self, found: Comparison) -> Any:
        return self._listed(found.winners)

    @extend_schema_field(QueryChangeSerializer(many=True))
    def get_losers(self, found: Comparison) -> Any:
        return self._listed(found.losers)

    @extend_schema_field(QueryChangeSerializer(many=True))
    def get_no_longer_first(self, found: Comparison) -> Any:
        return self._listed(found.broken)

    @extend_schema_field(CoverageSerializer)
    def get_active_coverage(self, found: Comparison) -> Any:
        return CoverageSerializer(found.coverage[0]).data

    @extend_schema_field(CoverageSerializer)
    def get_draft_coverage(self, found: Comparison) -> Any:
        return CoverageSerializer(found.coverage[1]).data

    def _listed(self, changes: tuple[Change, ...]) -> Any:
        visible = self.context["visible"]
        shown = [change for change in changes if change.golden.pk in visible]
        return [QueryChangeSerializer(change).data for change in shown[:MAX_LISTED]]


_EXAMPLE = {"weights": {"general": {"vector": 0.5, "keyword": 0.45, "title": 0.05}}}


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
            OpenApiExample("Weights", {"query": "pump", **_EXAMPLE}, request_only=True),
        ],
    )
    def post(self, request: Request) -> Response:
        asked = PreviewRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
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
        examples=[OpenApiExample("Weights", _EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        asked = TrialSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        found = compare(configuration.current().profile(), asked.trial())
        named = (*found.winners, *found.losers, *found.broken)
        context = {"visible": visible_goldens(named, request.user)}
        return Response(ComparisonSerializer(found, context=context).data)


def _row(key: str) -> SearchProfile:
    """The profile that `name@version` names, drafts too. Raises UnknownProfile."""
    rows = SearchProfile.objects.prefetch_related("class_weights")
    if not key:
        active = configuration.current().profile()
        return rows.get(name=active.name, version=active.version)
    name, _, version = key.partition("@")
    found = rows.filter(name=name).order_by("-version")
    if version:
        found = found.filter(version=int(version) if version.isdecimal() else 0)
    if (row := found.first()) is None:
        raise UnknownProfile(f"There is no profile {key!r}.")
    return row


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
        examples=[OpenApiExample("Weights", _EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        asked = TrialSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        pool_building.enqueue_both(configuration.current().profile(), asked.trial())
        return Response(status=status.HTTP_202_ACCEPTED)
