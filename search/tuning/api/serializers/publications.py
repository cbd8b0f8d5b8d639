"""What the API shows of publishing: attempts, the audit, the gate."""

from __future__ import annotations

from rest_framework import serializers

from common.api.serializers import ChoiceField, Parameters, Strict
from search.tuning.api.serializers.profiles import ProfileNameSerializer
from search.tuning.models import ProfileChange, Publication, PublishGate
from search.tuning.publishing import gate_inputs


class ReasonSerializer(Parameters):
    """Why."""

    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)


class PublishSerializer(ReasonSerializer):
    """How to publish. `override` publishes whatever the gate finds, and needs a reason."""

    override = serializers.BooleanField(default=False)
    fingerprint = serializers.CharField(
        default="",
        help_text="As you saw it: if it has changed since, nothing is published.",
    )


class OverrideSerializer(Parameters):
    """Why it is published all the same."""

    reason = serializers.CharField(max_length=2_000)


class RollbackSerializer(ReasonSerializer):
    """Where to go back to, and what you go back from."""

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
    """What a profile must hold on the golden queries to be published."""

    serializer_choice_field = ChoiceField

    class Meta:
        model = PublishGate
        fields = gate_inputs.FIELDS
