"""What is asked of the workbench: a profile and what to change of it, for a try."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import Parameters
from search.domain import Profile, QueryClass, Weights
from search.engine import configuration
from search.models import SearchProfile
from search.tuning.api.naming import named_profile
from search.tuning.api.serializers.profiles import SIGNALS
from search.tuning.workbench.preview import SHOWN, trial

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
        help_text="What is changed: `name@version`, drafts too; without it the active profile.",
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
            raise serializers.ValidationError(f"There is no class {unknown[0]!r}. Use: {names}.")
        return {QueryClass(name): Weights(**shares) for name, shares in value.items()}

    def trial(self) -> Profile:
        """The profile with its changes. Raises UnknownProfile, ProfileError."""
        given = self.validated_data
        return trial(_row(given["profile"]), given["settings"], given["weights"])


class PreviewRequestSerializer(TrialSerializer):
    query = serializers.CharField(max_length=500)
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
