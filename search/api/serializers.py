"""What the API shows of a search and of the profiles it can rank by."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from search.api.legacy import legacy_fields
from search.domain import (
    MIXED,
    Contribution,
    Explanation,
    Leaf,
    Node,
    Operation,
    Profile,
    QueryClass,
    Signal,
    Trial,
)
from search.evaluation.golden import fingerprint
from search.models import SearchProfile
from search.pipeline import SearchResponse
from search.results import Result
from search.second_try import SecondTry

SIGNALS = [signal.value for signal in Signal]
CLASSES = [query_class.value for query_class in QueryClass]


class SignalValuesSerializer(serializers.Serializer[Any]):
    """A number for each signal."""

    vector = serializers.FloatField()
    keyword = serializers.FloatField()
    title = serializers.FloatField()
    recency = serializers.FloatField()
    synonym = serializers.FloatField()


class ProfileNameSerializer(serializers.Serializer[Profile]):
    """Which version of which profile ranked."""

    name = serializers.CharField()
    version = serializers.IntegerField()


class DocumentLinkSerializer(serializers.Serializer[Result]):
    """The document that a passage stands in. `url` opens it at the passage."""

    id = serializers.UUIDField(source="document_id")
    title = serializers.CharField()
    url = serializers.SerializerMethodField()

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, result: Result) -> str:
        path = reverse("search:document", args=(result.document_id,))
        address: str = self.context["request"].build_absolute_uri(f"{path}?chunk={result.chunk}")
        return address


class DocumentReferenceSerializer(DocumentLinkSerializer):
    """The document that a result stands in. `url` opens it at the passage."""

    file_name = serializers.CharField()
    media_type = serializers.CharField()
    language = serializers.CharField()
    created = serializers.DateTimeField()


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


def as_tree(node: Node) -> dict[str, object]:
    """A part of a score as JSON: its parts, by its operation, make its value."""
    tree: dict[str, object] = {"label": node.label, "value": node.value}
    if not isinstance(node, Leaf):
        tree |= {"operation": node.operation, "parts": [as_tree(part) for part in node.parts]}
    return tree


_TREE_SCHEMA = {
    "type": "object",
    "required": ["label", "value"],
    "properties": {
        "label": {"type": "string"},
        "value": {"type": "number"},
        "operation": {"type": "string", "enum": [operation.value for operation in Operation]},
        "parts": {"type": "array", "items": {"type": "object", "additionalProperties": True}},
    },
}


class ExplanationSerializer(serializers.Serializer[Explanation]):
    """Why a result stands where it stands: its tier, then its score.

    `tree` is how the contributions (and boosts) make the score: the leaves, combined by each
    node's operation (sum, product, largest), give it exactly.
    """

    score = serializers.FloatField()
    tier = TierSerializer()
    contributions = ContributionSerializer(many=True)
    tree = serializers.SerializerMethodField()

    @extend_schema_field(_TREE_SCHEMA)
    def get_tree(self, explanation: Explanation) -> dict[str, object]:
        return as_tree(explanation.root)


class AdjustmentSerializer(serializers.Serializer[Any]):
    """What a score is multiplied by or what is added to it, after its contributions."""

    operation = serializers.ChoiceField(choices=[Operation.SUM.value, Operation.PRODUCT.value])
    label = serializers.CharField()  # type: ignore[assignment]  # a field's own attribute
    value = serializers.FloatField()


class TermSerializer(serializers.Serializer[Any]):
    """A word of the query, in how many readable chunks it stands, and its idf."""

    lexeme = serializers.CharField()
    chunks = serializers.IntegerField()
    idf = serializers.FloatField()


class FoldedSerializer(serializers.Serializer[Result]):
    """A passage folded under a better one. `snippet` is escaped HTML with <mark>, shorter."""

    rank = serializers.IntegerField(source="hit.rank")
    score = serializers.FloatField(source="hit.score")
    document = DocumentLinkSerializer(source="*")
    chunk = serializers.IntegerField(help_text="The passage's place in its document, from 0.")
    heading_path = serializers.ListField(child=serializers.CharField())
    page = serializers.IntegerField(allow_null=True)
    snippet = serializers.CharField()


class ResultSerializer(serializers.Serializer[Result]):
    """A passage. `snippet` is escaped HTML with <mark>. `contributions` make the score by the
    profile's fusion (a sum, mostly), then `adjustments` in their order.

    `rank` is the passage's among all passages; those folded under a better one have ranks too.

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
    edited = serializers.BooleanField(
        source="is_edited", help_text="An administrator changed this text by hand."
    )
    note = serializers.CharField(help_text="An administrator's; empty unless you are staff.")
    contributions = serializers.SerializerMethodField()
    adjustments = serializers.SerializerMethodField()
    tier = serializers.CharField(source="hit.explanation.tier.reason")
    folded = serializers.SerializerMethodField(
        help_text="The best of what is folded under this passage: others of its document, and "
        "nearly the same text in other documents, one passage each.",
    )
    folded_count = serializers.IntegerField(
        help_text="All passages folded under this one. Search with this document's id and "
        "`group=false` for all of its passages."
    )
    explanation = ExplanationSerializer(
        source="hit.explanation", required=False, help_text="With explain=1."
    )
    team = serializers.SerializerMethodField(
        help_text="Where an experiment mixes two rankings: `a` or `b`, whose pick it is and by "
        "whose weights it is explained. Empty for what both had alike, and otherwise."
    )

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        if not self.context.get("explain", True):
            del fields["explanation"]
        if self.context.get("legacy", True):
            fields |= legacy_fields()
        return fields

    @extend_schema_field({"type": "string", "enum": ["a", "b", ""]})
    def get_team(self, result: Result) -> str:
        teams: dict[int, str] = self.context.get("teams", {})
        return teams.get(id(result), "")

    @extend_schema_field(FoldedSerializer(many=True))
    def get_folded(self, result: Result) -> Any:
        passages = sorted((*result.folded, *result.copies), key=lambda passage: passage.hit.rank)
        return [FoldedSerializer(passage, context=self.context).data for passage in passages]

    @extend_schema_field(AdjustmentSerializer(many=True))
    def get_adjustments(self, result: Result) -> list[dict[str, object]]:
        return [
            {"operation": operation, "label": part.label, "value": part.value}
            for operation, part in result.hit.explanation.adjustments
        ]

    @extend_schema_field(SignalValuesSerializer)
    def get_contributions(self, result: Result) -> dict[str, float]:
        return {signal.value: result.hit.explanation.share(signal) for signal in Signal}


class SecondTrySerializer(serializers.Serializer[SecondTry]):
    """What stood before the same candidates were ranked again, under `weights`, and surer."""

    weights_before = SignalValuesSerializer()
    confidence_before = serializers.FloatField()


class TrialSerializer(serializers.Serializer[Trial]):
    """A search's part in an experiment. `mixed`: both rankings as one, in turns."""

    id = serializers.IntegerField(source="experiment")
    arm = serializers.ChoiceField(choices=["a", "b", MIXED])
    profiles = ProfileNameSerializer(many=True, help_text="Whose rankings are shown.")


class SearchResponseSerializer(serializers.Serializer[SearchResponse]):
    """One page of a ranking, with everything that shaped it."""

    search_id = serializers.SerializerMethodField(
        help_text="Names this search when you report what was done with its results; null where "
        "searches are not recorded."
    )
    query = serializers.CharField(source="query.original")
    profile = ProfileNameSerializer()
    experiment = TrialSerializer(
        source="trial",
        allow_null=True,
        help_text="The experiment that this search takes part in; null for none.",
    )
    query_class = serializers.ChoiceField(choices=CLASSES, source="classification.query_class")
    rule = serializers.CharField(
        source="classification.rule", help_text="The rule that chose the class."
    )
    confidence = serializers.FloatField(
        source="classification.confidence", help_text="How sure the rule is of the class."
    )
    answer_confidence = serializers.FloatField(
        source="confidence",
        allow_null=True,
        help_text="How likely it is, from 0 to 1, that one of the first ten results answers the "
        "query; the same on every page. Null while the embedding model has no calibration.",
    )
    low_confidence = serializers.BooleanField(
        help_text="Whether that is below the profile's threshold."
    )
    second_try = SecondTrySerializer(
        allow_null=True, help_text="Null unless other weights were tried and kept."
    )
    weights = SignalValuesSerializer()
    forced = serializers.ListField(
        child=serializers.ChoiceField(choices=["profile", "class", "weights"]),
        help_text="What the caller decided.",
    )
    degraded = serializers.ListField(
        child=serializers.ChoiceField(choices=SIGNALS), help_text="Signals that could not run."
    )
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Why the weights are not the class's own."
    )
    did_you_mean = serializers.CharField(
        source="suggestion",
        help_text="The query with words that no searched text holds as it spells them, or empty.",
    )
    corrected_from = serializers.CharField(
        help_text="The query as typed, where it found nothing and this answers its correction, "
        "which is then `query`; otherwise empty."
    )
    grouped = serializers.BooleanField(help_text="Whether each document stands once.")
    total = serializers.IntegerField(
        help_text="Results on all pages: documents, or passages with `group=false`."
    )
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

    @extend_schema_field({"type": "string", "format": "uuid", "nullable": True})
    def get_search_id(self, response: SearchResponse) -> str | None:
        search_id = self.context.get("search_id")
        return None if search_id is None else str(search_id)

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "number"}})
    def get_timing_ms(self, response: SearchResponse) -> dict[str, float]:
        return {step: round(value, 2) for step, value in response.milliseconds.items()}


class ProfileSerializer(serializers.ModelSerializer[SearchProfile]):
    """A version of how search ranks: its weights by class of query, and how scores are made."""

    weights = serializers.SerializerMethodField()
    active = serializers.SerializerMethodField()
    fingerprint = serializers.SerializerMethodField(
        help_text="Another one for every profile that may rank otherwise. Send it when you edit "
        "or publish, and nothing else than what you saw is."
    )

    class Meta:
        model = SearchProfile
        fields = (
            "name", "version", "state", "active", "description", "weights", "classifier", "bypass",
            "fusion", "vector_normaliser", "keyword_normaliser", "title_normaliser", "rrf_k",
            "both_factor", "both_first", "own_candidates_only", "boosts", "feedback",
            "recency_half_life", "confidence_threshold", "depth", "keyword_scorer",
            "keyword_budget", "title_scorer", "published", "fingerprint",
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

    @extend_schema_field(OpenApiTypes.STR)
    def get_fingerprint(self, profile: SearchProfile) -> str:
        return fingerprint(profile.as_profile())

    @extend_schema_field(OpenApiTypes.BOOL)
    def get_active(self, profile: SearchProfile) -> bool:
        return profile.state == SearchProfile.State.ACTIVE
