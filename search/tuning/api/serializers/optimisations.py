"""What the API shows of searches for better weights, and what starts one."""

from __future__ import annotations

from rest_framework import serializers

from common.api.serializers import ChoiceField, Parameters
from search.domain import QueryClass, Signal
from search.tuning.api.serializers.profiles import ProfileNameSerializer
from search.tuning.golden import synthetic
from search.tuning.models import GoldenQuery, Optimisation
from search.tuning.optimiser.optimisations import MAX_FOLDS, MEASURES, PRESETS, WEIGHTS
from search.tuning.optimiser.weight_search import FOLDS

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
    """What to look for; what is left out is as in the admin."""

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
    """Which of the compared profiles; for better weights nothing is to be said."""

    preset = serializers.CharField(required=False, help_text="`name@version`.")


class SyntheticSerializer(Parameters):
    count = serializers.IntegerField(
        min_value=1, max_value=synthetic.MAX_COUNT, default=synthetic.COUNT
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)


class SyntheticMadeSerializer(serializers.Serializer[synthetic.Made]):
    queries = serializers.IntegerField(help_text="New ones.")
    already = serializers.IntegerField(help_text="Golden queries already.")
