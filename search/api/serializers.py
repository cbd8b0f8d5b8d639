"""What the API shows of a search and of the profiles it can rank by."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from search.domain import Contribution, Profile, QueryClass, Signal
from search.models import SearchProfile
from search.pipeline import SearchResponse
from search.results import Result

SIGNALS = [signal.value for signal in Signal]
CLASSES = [query_class.value for query_class in QueryClass]


class SignalValuesSerializer(serializers.Serializer[Any]):
    """A number for each signal."""

    vector = serializers.FloatField()
    keyword = serializers.FloatField()
    title = serializers.FloatField()


class ProfileNameSerializer(serializers.Serializer[Profile]):
    """Which version of which profile ranked."""

    name = serializers.CharField()
    version = serializers.IntegerField()


class DocumentReferenceSerializer(serializers.Serializer[Result]):
    """The document that a result stands in. `url` opens it at the passage."""

    id = serializers.UUIDField(source="document_id")
    title = serializers.CharField()
    url = serializers.SerializerMethodField()
    file_name = serializers.CharField()
    media_type = serializers.CharField()
    language = serializers.CharField()
    created = serializers.DateTimeField()

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, result: Result) -> str:
        path = reverse("search:document", args=(result.document_id,))
        address: str = self.context["request"].build_absolute_uri(f"{path}?chunk={result.chunk}")
        return address


class CollectionReferenceSerializer(serializers.Serializer[Result]):
    """The collection that a result stands in."""

    slug = serializers.CharField(source="collection_slug")
    name = serializers.CharField(source="collection")


class ContributionSerializer(serializers.Serializer[Contribution]):
    """A signal's part of a score: `value` is `weight` times `strength`, made from `raw`."""

    signal = serializers.ChoiceField(choices=SIGNALS)
    raw = serializers.FloatField(allow_null=True)
    strength = serializers.FloatField()
    weight = serializers.FloatField()
    value = serializers.FloatField()


class TierSerializer(serializers.Serializer[Any]):
    """What comes before the score. A lower order comes first."""

    order = serializers.ListField(child=serializers.FloatField())
    reason = serializers.CharField()


class ExplanationSerializer(serializers.Serializer[Any]):
    """Why a result stands where it stands: its tier, then the sum of its contributions."""

    score = serializers.FloatField()
    tier = TierSerializer()
    contributions = ContributionSerializer(many=True)


class TermSerializer(serializers.Serializer[Any]):
    """A word of the query, in how many readable chunks it stands, and its idf."""

    lexeme = serializers.CharField()
    chunks = serializers.IntegerField()
    idf = serializers.FloatField()


class ResultSerializer(serializers.Serializer[Result]):
    """A passage. `snippet` is escaped HTML with <mark>; `contributions` sum to the score.

    `tier` says why it comes before every score; it is empty for a result that does not.
    """

    rank = serializers.IntegerField(source="hit.rank")
    score = serializers.FloatField(source="hit.score")
    document = DocumentReferenceSerializer(source="*")
    collection = CollectionReferenceSerializer(source="*")
    chunk = serializers.IntegerField(help_text="The passage's place in its document, from 0.")
    heading_path = serializers.ListField(child=serializers.CharField())
    page = serializers.IntegerField(allow_null=True)
    snippet = serializers.CharField()
    text = serializers.CharField()
    contributions = serializers.SerializerMethodField()
    tier = serializers.CharField(source="hit.explanation.tier.reason")
    explanation = ExplanationSerializer(
        source="hit.explanation", required=False, help_text="With explain=1."
    )

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        if not self.context.get("explain", True):
            del fields["explanation"]
        return fields

    @extend_schema_field(SignalValuesSerializer)
    def get_contributions(self, result: Result) -> dict[str, float]:
        return {part.signal.value: part.value for part in result.hit.explanation.contributions}


class SearchResponseSerializer(serializers.Serializer[SearchResponse]):
    """One page of a ranking, with everything that shaped it."""

    query = serializers.CharField(source="query.original")
    profile = ProfileNameSerializer()
    query_class = serializers.ChoiceField(choices=CLASSES, source="classification.query_class")
    rule = serializers.CharField(
        source="classification.rule", help_text="The rule that chose the class."
    )
    confidence = serializers.FloatField(source="classification.confidence")
    weights = SignalValuesSerializer()
    forced = serializers.ListField(
        child=serializers.ChoiceField(choices=["profile", "class", "weights"]),
        help_text="What the caller decided.",
    )
    degraded = serializers.ListField(
        child=serializers.ChoiceField(choices=SIGNALS), help_text="Signals that could not run."
    )
    total = serializers.IntegerField(help_text="Ranked passages, on all pages.")
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    page_size = serializers.IntegerField()
    timing_ms = serializers.SerializerMethodField()
    results = ResultSerializer(many=True)
    terms = TermSerializer(many=True, required=False, help_text="With explain=1.")

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        if not self.context.get("explain", True):
            del fields["terms"]
        return fields

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "number"}})
    def get_timing_ms(self, response: SearchResponse) -> dict[str, float]:
        return {step: round(value, 2) for step, value in response.milliseconds.items()}


class ProfileSerializer(serializers.ModelSerializer[SearchProfile]):
    """A version of how search ranks: its weights by class of query, and how scores are made."""

    weights = serializers.SerializerMethodField()
    active = serializers.SerializerMethodField()

    class Meta:
        model = SearchProfile
        fields = (
            "name", "version", "state", "active", "description", "weights", "fusion",
            "vector_normaliser", "keyword_normaliser", "title_normaliser", "rrf_k", "depth",
            "keyword_scorer", "keyword_budget", "title_scorer", "published",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(
        {
            "type": "object",
            "properties": {name: {"$ref": "#/components/schemas/SignalValues"} for name in CLASSES},
        }
    )
    def get_weights(self, profile: SearchProfile) -> dict[str, dict[str, float]]:
        rows = profile.class_weights.all()
        return {row.query_class: row.as_weights().as_dict() for row in rows}

    @extend_schema_field(OpenApiTypes.BOOL)
    def get_active(self, profile: SearchProfile) -> bool:
        return profile.state == SearchProfile.State.ACTIVE
