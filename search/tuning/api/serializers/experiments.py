"""What the API shows of experiments, and what plans, starts and ends one."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import ChoiceField, Parameters
from search.tuning.api.naming import published_profile
from search.tuning.api.serializers.profiles import ProfileNameSerializer
from search.tuning.experiments.sequential import Verdict
from search.tuning.models import Experiment


class ToldSerializer(serializers.Serializer[Any]):
    """What visitors have told by now.

    `value` is B's share of visitors who opened a result less A's (`split`), or the share of
    visitors with a preference who prefer B (`interleaved`). `low` to `high` holds at every look.
    """

    verdict = serializers.ChoiceField(choices=[verdict.value for verdict in Verdict])
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
    told = serializers.SerializerMethodField(help_text="Null before the first look.")
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
        child=serializers.IntegerField(), help_text="What measured the arms for the gate."
    )

    @extend_schema_field(ToldSerializer(allow_null=True))
    def get_told(self, experiment: Experiment) -> Any:
        return ToldSerializer(experiment.verdict).data if experiment.verdict else None


class PlanSerializer(Parameters):
    """What is compared, and how. A and B are `name@version` of published profiles."""

    name = serializers.CharField(max_length=120)
    kind = ChoiceField(Experiment.Kind.choices, default=Experiment.Kind.INTERLEAVED)
    a = serializers.CharField(max_length=80)
    b = serializers.CharField(max_length=80)
    share = serializers.FloatField(
        default=1.0, min_value=0.01, max_value=1, help_text="Share of the visitors who take part."
    )
    indifference = serializers.FloatField(
        default=0.02, min_value=0.001, max_value=0.5, help_text="A smaller difference is none."
    )
    days = serializers.IntegerField(
        default=28, min_value=1, max_value=365, help_text="Days after which it ends."
    )
    note = serializers.CharField(default="", allow_blank=True, max_length=2_000)

    @property
    def fields_given(self) -> dict[str, Any]:
        given = dict(self.validated_data)
        return given | {arm: published_profile(given[arm]) for arm in ("a", "b") if arm in given}


class StartSerializer(Parameters):
    """How to start. `override` starts it whatever the gate finds, and needs a reason."""

    override = serializers.BooleanField(default=False)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)


class EndSerializer(Parameters):
    """Why it ends."""

    reason = serializers.CharField(max_length=2_000)
