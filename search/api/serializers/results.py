"""What the API shows of a result: its passage, where that stands, and what is folded under it."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingestion.api.serializers.metadata import MetadataField
from search.api.legacy import legacy_fields
from search.api.serializers.explanations import AdjustmentSerializer, ExplanationSerializer
from search.domain import Signal
from search.presentation.results import Result
from search.tuning.api.serializers.profiles import SignalValuesSerializer


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
    metadata = MetadataField()


class CollectionReferenceSerializer(serializers.Serializer[Result]):
    """The collection that a result stands in."""

    slug = serializers.CharField(source="collection_slug")
    name = serializers.CharField(source="collection")


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
