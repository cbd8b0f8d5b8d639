"""Publications, experiments and optimisations in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import ChoiceField, Parameters, Strict
from search.domain import QueryClass, Signal
from search.tuning.api.serializers.profiles import ProfileNameSerializer, published_profile
from search.tuning.experiments.conclusion import Verdict
from search.tuning.golden import synthetic
from search.tuning.models import (
    Experiment,
    GoldenQuery,
    Optimisation,
    ProfileChange,
    Publication,
    PublishGate,
)
from search.tuning.optimiser.optimisations import MAX_FOLDS, MEASURES, PRESETS, WEIGHTS
from search.tuning.optimiser.weight_search import FOLDS
from search.tuning.publishing import gate_inputs


class ReasonSerializer(Parameters):
    """The reason."""

    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)


class PublishSerializer(ReasonSerializer):
    """Options of publishing. `override` publishes even if the gate refuses; it requires a "
    "reason."""

    override = serializers.BooleanField(default=False)
    fingerprint = serializers.CharField(
        default="",
        help_text="The fingerprint that you read: if it has changed since, nothing is published.",
    )


class OverrideSerializer(Parameters):
    """The reason for overriding the gate."""

    reason = serializers.CharField(max_length=2_000)


class RollbackSerializer(ReasonSerializer):
    """The profile to roll back to, and the one that is active now."""

    to = serializers.CharField(
        required=False,
        help_text="`name@version` of a profile that was active before; left out: the last one.",
    )
    leaving = serializers.CharField(
        required=False,
        help_text="`name@version` of the profile that you saw as active: if another one is by "
        "now, nothing is rolled back.",
    )


class PublicationSerializer(serializers.ModelSerializer[Publication]):
    """One attempt to publish a profile, and what the gate found."""

    profile = ProfileNameSerializer()
    replaces = ProfileNameSerializer(allow_null=True)
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    progress = serializers.FloatField(source="run.progress", default=1.0)

    class Meta:
        model = Publication
        fields = (
            "id", "profile", "replaces", "state", "progress", "user", "reason", "override",
            "findings", "refusals", "error", "run", "asked", "decided",
        )  # fmt: skip
        read_only_fields = fields


class ChangeSerializer(serializers.ModelSerializer[ProfileChange]):
    """A line of the audit: who did what to which profile, when and why."""

    profile = ProfileNameSerializer()
    replaced = ProfileNameSerializer(allow_null=True)
    user = serializers.CharField(source="user.username", default=None, allow_null=True)

    class Meta:
        model = ProfileChange
        fields = (
            "id", "profile", "replaced", "action", "user", "at", "reason", "differences",
            "findings", "run",
        )  # fmt: skip
        read_only_fields = fields


class GateSerializer(Strict, serializers.ModelSerializer[PublishGate]):
    """The requirements for publishing a profile, measured on the golden queries."""

    serializer_choice_field = ChoiceField

    class Meta:
        model = PublishGate
        fields = gate_inputs.FIELDS


class ToldSerializer(serializers.Serializer[Any]):
    """The latest interim analysis.

    `value` is B's share of visitors who opened a result less A's (`split`), or the share of
    visitors with a preference who prefer B (`interleaved`). `low` to `high` is valid at every
    interim analysis.
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

    @extend_schema_field(ToldSerializer(allow_null=True))
    def get_told(self, experiment: Experiment) -> Any:
        return ToldSerializer(experiment.verdict).data if experiment.verdict else None


class PlanSerializer(Parameters):
    """The plan of an experiment. A and B are `name@version` of published profiles."""

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
    """Options of starting. `override` starts it even if the gate refuses; it requires a reason."""

    override = serializers.BooleanField(default=False)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)


class EndSerializer(Parameters):
    """Why it ends."""

    reason = serializers.CharField(max_length=2_000)


FOUND = {
    "verdict": "What to make of it, in a sentence.",
    "reliable": "Whether the interval of the gain lies above 0.",
    "gain": "On questions set aside: mean, low and high of the 95% interval.",
    "classes": "For each class: its questions, its weights before and after, its gain.",
}


class OptimisationSerializer(serializers.ModelSerializer[Optimisation]):
    """A search for better weights. `found` is empty until its `state` is `done`."""

    profile = ProfileNameSerializer()
    draft = ProfileNameSerializer(allow_null=True)
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    options = serializers.DictField()
    found = serializers.DictField(
        help_text=" ".join(f"`{name}`: {said}" for name, said in FOUND.items())
    )

    class Meta:
        model = Optimisation
        fields = (
            "id", "state", "progress", "error", "profile", "options", "found", "draft", "user",
            "created", "finished",
        )  # fmt: skip
        read_only_fields = fields


class NewOptimisationSerializer(Parameters):
    """Options of the optimisation; omitted ones have the admin's defaults."""

    profile = serializers.CharField(help_text="`name@version`; drafts as well.")
    kind = ChoiceField(
        (WEIGHTS, PRESETS), default=WEIGHTS, help_text="`presets` compares the shipped profiles."
    )
    measure = ChoiceField(MEASURES, default=MEASURES[0])
    classes = serializers.ListField(
        child=ChoiceField([each.value for each in QueryClass]), required=False
    )
    signals = serializers.ListField(
        child=ChoiceField([each.value for each in Signal]), required=False
    )
    origins = serializers.ListField(
        child=ChoiceField(GoldenQuery.Origin.values),
        required=False,
        help_text="Left out: people's and imported ones, synthetic ones where there are no others.",
    )
    normalisers = serializers.BooleanField(default=True)
    folds = serializers.IntegerField(min_value=2, max_value=MAX_FOLDS, default=FOLDS)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)


class DraftSerializer(Parameters):
    """The compared profile to create a draft from; omit it for better weights."""

    preset = serializers.CharField(required=False, help_text="`name@version`.")


class SyntheticSerializer(Parameters):
    count = serializers.IntegerField(
        min_value=1, max_value=synthetic.MAX_COUNT, default=synthetic.COUNT
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)


class SyntheticMadeSerializer(serializers.Serializer[synthetic.Made]):
    queries = serializers.IntegerField(help_text="New ones.")
    already = serializers.IntegerField(help_text="Existing golden queries.")
