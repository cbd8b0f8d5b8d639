"""The workbench in the API: a profile to try, and two rankings or measures compared."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import Parameters
from search.domain import Profile, QueryClass, Weights
from search.engine import configuration
from search.models import SearchProfile
from search.query import MAX_QUERY_CHARS
from search.tuning.api.serializers.profiles import SIGNALS, ConfidenceField, named_profile
from search.tuning.workbench.comparing import Change, MeasureRow, ProfileComparison
from search.tuning.workbench.preview import SHOWN, Preview, PreviewedRanking, PreviewedResult, trial

MAX_LISTED = 50


class MovedSerializer(serializers.Serializer[PreviewedResult]):
    """A result of one ranking. `other_rank` is its document's in the other one; null: none."""

    rank = serializers.IntegerField()
    other_rank = serializers.IntegerField(source="other", allow_null=True)
    document = serializers.CharField(source="result.document_id")
    title = serializers.CharField(source="result.title")
    chunk = serializers.IntegerField(source="result.chunk")
    score = serializers.FloatField(source="result.hit.score")
    contributions = serializers.SerializerMethodField()

    def get_contributions(self, place: PreviewedResult) -> dict[str, float]:
        explanation = place.result.hit.explanation
        return {part.signal.value: part.value for part in explanation.contributions}


class SideSerializer(serializers.Serializer[PreviewedRanking]):
    """One profile's ranking. `class` is how it classifies the question."""

    profile = serializers.SerializerMethodField()
    weights = serializers.SerializerMethodField()
    confidence = ConfidenceField(source="ranking.confidence", allow_null=True)
    total = serializers.IntegerField()
    results = MovedSerializer(source="places", many=True)

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        fields["class"] = serializers.CharField(source="ranking.settled.classification.query_class")
        return fields

    def get_profile(self, side: PreviewedRanking) -> str:
        return f"{side.profile.name}@{side.profile.version}"

    def get_weights(self, side: PreviewedRanking) -> dict[str, float]:
        return side.ranking.settled.weights.as_dict()


class PreviewSerializer(serializers.Serializer[Preview]):
    changed = serializers.IntegerField(help_text="How many of the draft's results moved.")
    degraded = serializers.BooleanField()
    unread = serializers.BooleanField(
        help_text="A profile has a share for the reranker, which gave no answer."
    )
    active = SideSerializer()
    draft = SideSerializer()


class MeasuredSerializer(serializers.Serializer[MeasureRow]):
    name = serializers.CharField()
    active = serializers.FloatField(source="before")
    draft = serializers.FloatField(source="after")
    difference = serializers.FloatField()


class QueryChangeSerializer(serializers.Serializer[Change]):
    """The change of one golden query's nDCG@10."""

    query = serializers.CharField(source="golden.text")
    id = serializers.CharField(source="golden.public_id")
    active = serializers.FloatField(source="before")
    draft = serializers.FloatField(source="after")
    difference = serializers.FloatField()


class CoverageSerializer(serializers.Serializer[Any]):
    """The number of golden queries, of those with stored candidates, and of stale ones."""

    queries = serializers.IntegerField()
    pooled = serializers.IntegerField()
    stale = serializers.IntegerField()
    building = serializers.FloatField(allow_null=True)
    problem = serializers.CharField()


class ComparisonSerializer(serializers.Serializer[ProfileComparison]):
    """The golden set under both. `complete`: these are the figures of a live evaluation."""

    queries = serializers.IntegerField()
    complete = serializers.BooleanField(source="is_complete")
    unread = serializers.IntegerField(
        help_text="Queries with a first result whose strength by the reranker is not stored."
    )
    measures = MeasuredSerializer(source="rows", many=True)
    by_class = serializers.SerializerMethodField()
    winners = serializers.SerializerMethodField()
    losers = serializers.SerializerMethodField()
    no_longer_first = serializers.SerializerMethodField()
    active_coverage = serializers.SerializerMethodField()
    draft_coverage = serializers.SerializerMethodField()

    def get_by_class(self, found: ProfileComparison) -> dict[str, Any]:
        return {
            query_class.value: {
                "queries": count,
                "measures": [MeasuredSerializer(row).data for row in rows],
            }
            for query_class, (count, rows) in found.by_class.items()
        }

    @extend_schema_field(QueryChangeSerializer(many=True))
    def get_winners(self, found: ProfileComparison) -> Any:
        return self._listed(found.winners)

    @extend_schema_field(QueryChangeSerializer(many=True))
    def get_losers(self, found: ProfileComparison) -> Any:
        return self._listed(found.losers)

    @extend_schema_field(QueryChangeSerializer(many=True))
    def get_no_longer_first(self, found: ProfileComparison) -> Any:
        return self._listed(found.broken)

    @extend_schema_field(CoverageSerializer)
    def get_active_coverage(self, found: ProfileComparison) -> Any:
        return CoverageSerializer(found.coverage[0]).data

    @extend_schema_field(CoverageSerializer)
    def get_draft_coverage(self, found: ProfileComparison) -> Any:
        return CoverageSerializer(found.coverage[1]).data

    def _listed(self, changes: tuple[Change, ...]) -> Any:
        visible = self.context["visible"]
        shown = [change for change in changes if change.golden.pk in visible]
        return [QueryChangeSerializer(change).data for change in shown[:MAX_LISTED]]


MAX_SHOWN = 50


class TrialSharesSerializer(Parameters):
    """The weights of a class: each signal's share, summing to 1; one that is not named is 0."""

    def get_fields(self) -> dict[str, Any]:
        share: dict[str, Any] = {"min_value": 0, "max_value": 1, "default": 0.0}
        return {name: serializers.FloatField(**share) for name in SIGNALS}

    def validate(self, attrs: dict[str, float]) -> dict[str, float]:
        try:
            Weights(**attrs)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error
        return attrs


class TrialSerializer(Parameters):
    """A profile and what to change of it, for a try."""

    profile = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=80,
        help_text="The profile to change: `name@version`, drafts as well; default: the active "
        "profile.",
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
            raise serializers.ValidationError(f"Unknown query class {unknown[0]!r}. Use: {names}.")
        return {QueryClass(name): Weights(**shares) for name, shares in value.items()}

    def trial(self) -> Profile:
        """The profile with its changes. Raises UnknownProfile, ProfileError."""
        given = self.validated_data
        return trial(_row(given["profile"]), given["settings"], given["weights"])


class PreviewRequestSerializer(TrialSerializer):
    query = serializers.CharField(max_length=MAX_QUERY_CHARS)
    collections = serializers.ListField(
        child=serializers.CharField(max_length=120), default=list, max_length=50
    )
    limit = serializers.IntegerField(min_value=1, max_value=MAX_SHOWN, default=SHOWN)


def _row(key: str) -> SearchProfile:
    """The profile that `name@version` means, drafts too; without it the active one.

    Raises UnknownProfile.
    """
    rows = SearchProfile.objects.prefetch_related("class_weights")
    if key:
        return named_profile(key, rows)
    active = configuration.current().profile()
    return rows.get(name=active.name, version=active.version)
