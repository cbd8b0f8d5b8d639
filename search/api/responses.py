"""Responses to searches in the API: a page of results, with the settings that produced it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from search.api.results import EVIDENCE, DirectSerializer, ResultSerializer
from search.domain import Stage, Trial
from search.pipeline import SearchResponse
from search.tuning.api.profile_serializers import (
    CLASSES,
    SIGNALS,
    ConfidenceField,
    ProfileNameSerializer,
    SignalValuesSerializer,
)


class TrialSerializer(serializers.Serializer[Trial]):
    """A search's part in an experiment: both rankings, interleaved."""

    id = serializers.IntegerField(source="experiment")
    profiles = ProfileNameSerializer(many=True, help_text="The profiles whose rankings are shown.")


class TermSerializer(serializers.Serializer[Any]):
    """A word of the query, the number of readable chunks that contain it, and its idf."""

    lexeme = serializers.CharField()
    chunks = serializers.IntegerField()
    idf = serializers.FloatField()
    times = serializers.IntegerField(help_text="How often the query contains it.")


class SearchResponseSerializer(DirectSerializer[SearchResponse]):
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
        help_text="Whether that is below the profile's threshold, or no result of the first page "
        "holds the record that is looked up by its number alone."
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

    optional: ClassVar[Mapping[str, str]] = {"terms": "explain"}

    @extend_schema_field({"type": "string", "format": "uuid", "nullable": True})
    def get_search_id(self, response: SearchResponse) -> str | None:
        return self.context.get("search_id") and str(self.context["search_id"])

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "number"}})
    def get_timing_ms(self, response: SearchResponse) -> dict[str, float]:
        times = response.milliseconds if self.context.get("times", True) else {}
        return {step: round(value, 2) for step, value in times.items()}
