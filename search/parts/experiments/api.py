"""Experiments over HTTP: read them, with their current analysis."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.viewsets import ReadViewSet
from search.parts.experiments import running
from search.parts.experiments.conclusion import ExperimentVerdict
from search.tuning.api.profile_serializers import ProfileNameSerializer
from search.tuning.models import Experiment


class AnalysisSerializer(serializers.Serializer[Any]):
    """The latest interim analysis.

    `value` is B's share of visitors who opened a result less A's (`split`), or the share of
    visitors with a preference who prefer B (`interleaved`). `low` to `high` is valid at every
    interim analysis.
    """

    verdict = serializers.ChoiceField(choices=[verdict.value for verdict in ExperimentVerdict])
    sentence = serializers.CharField()
    value = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    units = serializers.IntegerField(help_text="Visitors that the value counts.")
    visitors = serializers.IntegerField(help_text="Visitors who took part.")
    needed = serializers.IntegerField(
        allow_null=True, help_text="About how many more visitors would tell; null: nobody knows."
    )
    at = serializers.DateTimeField()


class ExperimentSerializer(serializers.ModelSerializer[Experiment]):
    """Two published profiles, compared by what searchers do."""

    a = ProfileNameSerializer()
    b = ProfileNameSerializer()
    told = serializers.SerializerMethodField(help_text="Null before the first analysis.")
    added_by = serializers.CharField(source="added_by.username", default=None, allow_null=True)

    class Meta:
        model = Experiment
        fields = (
            "id", "name", "kind", "state", "a", "b", "share", "indifference", "days", "note",
            "findings", "refusals", "runs", "override", "override_reason", "started", "ended",
            "end_reason", "told", "added_by", "created",
        )  # fmt: skip
        read_only_fields = fields

    runs = serializers.ListField(
        child=serializers.IntegerField(),
        source="run_ids",
        help_text="What measured the arms for the gate.",
    )

    @extend_schema_field(AnalysisSerializer(allow_null=True))
    def get_told(self, experiment: Experiment) -> Any:
        return AnalysisSerializer(experiment.verdict).data if experiment.verdict else None


class ExperimentViewSet(ReadViewSet[Experiment]):
    """Experiments, newest first."""

    serializer_class = ExperimentSerializer
    lookup_url_kwarg = "experiment"
    lookup_value_converter = "int"
    queryset = Experiment.objects.select_related("a", "b", "added_by")

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Show an experiment.

        With its current interim analysis, which is valid however often it is requested.
        """
        experiment: Experiment = self.get_object()
        if experiment.state == Experiment.State.RUNNING:
            running.analyse(experiment)
        return self.shown(self.get_queryset().get(pk=experiment.pk))
