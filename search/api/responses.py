"""Responses to searches in the API: a page of results, with the settings that produced it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingestion.documents.currency import as_data
from search.api.results import (
    CREATED,
    EVIDENCE,
    LEGACY_SCORES,
    METADATA,
    AdjustmentSerializer,
    CollectionReferenceSerializer,
    DocumentReferenceSerializer,
    ExplanationSerializer,
    FoldedSerializer,
    PassageSerializer,
    TermSerializer,
    TrialSerializer,
    legacy_fields,
    passage_data,
    rectangles_field,
)
from search.domain import Signal, Stage
from search.pipeline import SearchResponse
from search.presentation.results import Result
from search.tuning.api.profile_serializers import (
    CLASSES,
    SIGNALS,
    ConfidenceField,
    ProfileNameSerializer,
    SignalValuesSerializer,
)


class ResultSerializer(PassageSerializer):
    """A passage. `snippet` is escaped HTML with <mark>. `contributions` make the score by the
    profile's fusion (a sum, mostly), then `adjustments` in their order.

    `rank` is the passage's among all passages; those folded under a better one have ranks too.

    `tier` says why it comes before every score; it is empty for a result that does not.
    """

    score = serializers.FloatField(source="hit.score")
    document = DocumentReferenceSerializer(source="*")
    collection = CollectionReferenceSerializer(source="*")
    text = serializers.CharField()
    edited = serializers.BooleanField(
        source="is_edited", help_text="An administrator changed this text by hand."
    )
    note = serializers.CharField(help_text="The administrator's note; empty unless you are staff.")
    contributions = serializers.SerializerMethodField()
    adjustments = serializers.SerializerMethodField()
    tier = serializers.CharField(source="hit.explanation.tier.reason")
    folded = serializers.SerializerMethodField(
        help_text="The best of what is folded under this passage: others of its document, and "
        "nearly the same text in other documents, one passage each."
    )
    folded_count = serializers.IntegerField(
        help_text="All passages folded under this one. Search with this document's id and "
        "`group=false` for all of its passages."
    )
    explanation = ExplanationSerializer(
        source="hit.explanation", required=False, help_text="With explain=1."
    )
    rectangles = rectangles_field("all of the passage")
    team = serializers.SerializerMethodField(
        help_text="In an experiment: `a` or `b`, the ranking that contributed the "
        "result and explains its score; empty if both did. Otherwise empty."
    )

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        if not self.context.get("explain", True):
            del fields["explanation"]
        if not self.context.get("rectangles", True):
            del fields["rectangles"]
        if self.context.get("legacy", True):
            fields |= legacy_fields()
        return fields

    def to_representation(self, instance: Result) -> dict[str, Any]:
        """The fields above, without a call of each: they took two thirds of a cached search."""
        hit = instance.hit
        data = {
            **passage_data(instance),
            "score": hit.score,
            "document": self._document(instance),
            "collection": {"slug": instance.collection_slug, "name": instance.collection},
            "text": instance.text,
            "edited": instance.is_edited,
            "note": instance.note,
            "contributions": self.get_contributions(instance),
            "adjustments": self.get_adjustments(instance),
            "tier": hit.explanation.tier.reason,
            "folded": self.get_folded(instance),
            "folded_count": instance.folded_count,
        }
        if self.context.get("explain", True):
            data["explanation"] = self._explanation.to_representation(hit.explanation)
        if places := self.context.get("rectangles"):
            data["rectangles"] = places[hit.chunk_id]
        data["team"] = self.get_team(instance)
        if self.context.get("legacy", True):
            data |= {name: score(hit.explanation) for name, (score, _) in LEGACY_SCORES.items()}
        return data

    def _document(self, result: Result) -> dict[str, Any]:
        return {
            "id": result.document_id,
            "title": result.title,
            "url": self._folded.link.get_url(result),
            "file_name": result.file_name,
            "media_type": result.media_type,
            "language": result.language,
            "created": CREATED.to_representation(result.created),
            "metadata": METADATA.to_representation(dict(result.metadata)),
            "date": result.date and result.date.as_data(),
            "gap": result.gap,
            "currency": as_data(result.currency, self.context["request"].build_absolute_uri),
        }

    @cached_property
    def _explanation(self) -> ExplanationSerializer:
        return ExplanationSerializer()

    @extend_schema_field({"type": "string", "enum": ["a", "b", ""]})
    def get_team(self, result: Result) -> str:
        return result.group.team or ""

    @extend_schema_field(FoldedSerializer(many=True))
    def get_folded(self, result: Result) -> Any:
        passages = sorted((*result.folded, *result.copies), key=lambda passage: passage.hit.rank)
        return [self._folded.to_representation(passage) for passage in passages]

    @cached_property
    def _folded(self) -> FoldedSerializer:
        """One serializer for the folded passages of all results: its fields are costly to make."""
        return FoldedSerializer(context=self.context)

    @extend_schema_field(AdjustmentSerializer(many=True))
    def get_adjustments(self, result: Result) -> list[dict[str, object]]:
        return [
            {"operation": operation, "label": part.label, "value": part.value}
            for operation, part in result.hit.explanation.adjustments
        ]

    @extend_schema_field(SignalValuesSerializer)
    def get_contributions(self, result: Result) -> dict[str, float]:
        shares = {signal.value: 0.0 for signal in Signal}
        for part in result.hit.explanation.contributions:
            shares[part.signal.value] += part.value
        return shares


class SearchResponseSerializer(serializers.Serializer[SearchResponse]):
    """One page of a ranking, with the settings that produced it."""

    search_id = serializers.SerializerMethodField(
        help_text="The id for reporting interactions with the results; null if searches are not "
        "recorded."
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
    class_confidence = serializers.FloatField(
        source="classification.confidence", help_text="The rule's confidence in the class, 0 to 1."
    )
    confidence = serializers.FloatField(
        source="classification.confidence", help_text="Until 0.4 `class_confidence`."
    )
    answer_confidence = ConfidenceField(
        source="confidence",
        allow_null=True,
        help_text="The probability, 0 to 1, that one of the first ten results answers the query; "
        "the same on every page. Null if neither the vectors nor BM25 ran.",
    )
    low_confidence = serializers.BooleanField(
        help_text="Whether that is below the profile's threshold."
    )
    evidence = serializers.ChoiceField(
        choices=EVIDENCE,
        help_text="`none`: probably nothing that you may read answers the query. `weak`: the "
        "confidence is low or unknown.",
    )
    weights = SignalValuesSerializer()
    forced = serializers.ListField(
        child=serializers.ChoiceField(choices=["profile", "class", "weights"]),
        help_text="Settings given by the caller.",
    )
    degraded = serializers.ListField(
        child=serializers.ChoiceField(choices=[*SIGNALS, *Stage]),
        help_text="Signals that could not run, and `reranker` if the profile gives it a share and "
        "it gave no answer.",
    )
    notes = serializers.ListField(
        child=serializers.CharField(),
        source="sentences",
        help_text="Which quotes did not bind (see `insist`), what was left out of a long question, "
        "why the weights are not the class's, and which collections are unknown.",
    )
    unknown_words = serializers.ListField(
        child=serializers.CharField(),
        source="unknown",
        help_text="Words and names of the query that none of the searched collections contains; "
        "other filters do not count.",
    )
    did_you_mean = serializers.CharField(
        source="suggestion", help_text="The query with unknown words corrected, or empty."
    )
    corrected_from = serializers.CharField(
        help_text="The query as typed, if it is misspelt and its correction (`query`) was searched "
        "instead; otherwise empty. `exact=1` searches as typed."
    )
    grouped = serializers.BooleanField(help_text="Whether results are grouped by document.")
    total = serializers.IntegerField(
        help_text="Results on all pages: documents, or passages with `group=false`."
    )
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    page_size = serializers.IntegerField()
    timing_ms = serializers.SerializerMethodField(
        help_text="Milliseconds by step, for staff; otherwise empty: they tell whether somebody "
        "has asked the same."
    )
    results = ResultSerializer(many=True)
    terms = TermSerializer(many=True, required=False, help_text="With explain=1.")

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        if not self.context.get("explain", True):
            del fields["terms"]
        return fields

    def to_representation(self, instance: SearchResponse) -> dict[str, Any]:
        """The fields above, without a call of each and a copy of each for every request."""
        response, kind = instance, instance.classification
        sure, trial = response.confidence, response.trial
        result = ResultSerializer(context=self.context)
        data: dict[str, Any] = {
            "search_id": self.get_search_id(response),
            "query": response.query.original,
            "profile": ProfileNameSerializer(response.profile).data,
            "experiment": trial and TrialSerializer(trial).data,
            "query_class": kind.query_class.value,
            "rule": kind.rule,
            "class_confidence": kind.confidence,
            "confidence": kind.confidence,
            "answer_confidence": None if sure is None else round(float(sure), 6),
            "low_confidence": response.low_confidence,
            "evidence": response.evidence.value,
            "weights": response.weights.rounded().as_dict(),
            "forced": list(response.forced),
            "degraded": [part.value for part in response.degraded],
            "notes": [str(sentence) for sentence in response.sentences],
            "unknown_words": list(response.unknown),
            "did_you_mean": response.suggestion,
            "corrected_from": response.corrected_from,
            "grouped": response.grouped,
            "total": response.total,
            "page": response.page,
            "pages": response.pages,
            "page_size": response.page_size,
            "timing_ms": self.get_timing_ms(response),
            "results": [result.to_representation(each) for each in response.results],
        }
        if self.context.get("explain", True):
            data["terms"] = [TermSerializer(term).data for term in response.terms]
        return data

    @extend_schema_field({"type": "string", "format": "uuid", "nullable": True})
    def get_search_id(self, response: SearchResponse) -> str | None:
        search_id = self.context.get("search_id")
        return None if search_id is None else str(search_id)

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "number"}})
    def get_timing_ms(self, response: SearchResponse) -> dict[str, float]:
        if not self.context.get("times", True):
            return {}
        return {step: round(value, 2) for step, value in response.milliseconds.items()}
