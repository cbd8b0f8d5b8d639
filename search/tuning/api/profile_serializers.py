"""Profiles in the API: read, edit."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import Parameters, Strict
from search.domain import Profile, QueryClass, Signal, Weights
from search.errors import UnknownProfile
from search.models import SearchProfile
from search.models.profiles import NAME, in_force_first
from search.signals import registry
from search.tuning import diff
from search.tuning.evaluation.golden_set import fingerprint

SEE_DRAFTS = "search.view_searchprofile"


def named_profile(key: str, rows: QuerySet[SearchProfile]) -> SearchProfile:
    """The profile of `rows` with the key `name@version`, or the version of `name` in force.

    A draft is meant by its name only if no version is published. Raises UnknownProfile.
    """
    name, _, version = key.partition("@")
    matches = rows.filter(name=name)
    if version:
        matches = matches.filter(version=_number(version))
    profile = matches.order_by(*in_force_first()).first()
    if profile is None:
        raise UnknownProfile(gettext("There is no profile %(key)s.") % {"key": repr(key)})
    return profile


def _number(version: str) -> int:
    """The number of a version; 0, which none has, for anything else."""
    return int(version) if version.isdecimal() and len(version) < 10 else 0


def visible_profiles(viewer: Any) -> QuerySet[SearchProfile]:
    """All profiles for viewers who may see them in the admin, the published ones for others."""
    may_see_drafts = viewer.is_authenticated and viewer.has_perm(SEE_DRAFTS)
    return SearchProfile.objects.all() if may_see_drafts else published()


def published() -> QuerySet[SearchProfile]:
    return SearchProfile.objects.exclude(state=SearchProfile.State.DRAFT)


SIGNALS = [signal.value for signal in Signal]
CLASSES = [query_class.value for query_class in QueryClass]


class SignalValuesSerializer(serializers.Serializer[Any]):
    """A number for each signal."""

    def get_fields(self) -> dict[str, Any]:
        return {name: serializers.FloatField() for name in SIGNALS}

    def to_representation(self, instance: Weights) -> dict[str, float]:
        return instance.rounded().as_dict()


class ConfidenceField(serializers.FloatField):
    """A probability, to as many digits as any reader of it needs."""

    def to_representation(self, value: Any) -> float:  # type: ignore[override]
        return round(float(value), 6)


class ProfileKeyField(serializers.CharField):
    """`name@version`, as requests name a profile."""

    def __init__(self) -> None:
        super().__init__(source="*", read_only=True, help_text="`name@version`, as requests say it")

    def to_representation(self, value: Any) -> str:
        return f"{value.name}@{value.version}"


class ProfileNameSerializer(serializers.Serializer[Profile]):
    """The profile and version that ranked."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    key = ProfileKeyField()


class ProfileSerializer(serializers.ModelSerializer[SearchProfile]):
    """A search profile: the weights of each query class, and the settings of the scores."""

    key = ProfileKeyField()
    weights = serializers.SerializerMethodField()
    active = serializers.SerializerMethodField()
    fingerprint = serializers.SerializerMethodField(
        help_text="Changes whenever the profile's ranking may change. Send it when you edit or "
        "publish: the request fails if the profile has changed since."
    )

    class Meta:
        model = SearchProfile
        fields = (
            "key", "name", "version", "state", "active", "weights", *diff.FIELDS, "published",
            "fingerprint",
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


class SharesSerializer(Parameters):
    """The weights of one query class. They sum to 1; omitted ones are 0."""

    def get_fields(self) -> dict[str, Any]:
        share: dict[str, Any] = {"min_value": 0, "max_value": 1, "default": 0.0}
        return {name: serializers.FloatField(**share) for name in SIGNALS}

    def validate(self, attrs: dict[str, float]) -> dict[str, float]:
        try:
            weights = Weights(**attrs).rounded()
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error
        if problem := registry.problem_with(attrs):
            raise serializers.ValidationError(problem)
        return weights.as_dict()


class ClassSharesSerializer(Parameters):
    """Weights by query class. Omitted classes are unchanged."""

    def get_fields(self) -> dict[str, Any]:
        return {name: SharesSerializer(required=False) for name in CLASSES}


class ProfileEditSerializer(Strict, serializers.ModelSerializer[SearchProfile]):
    """The changes. All fields are optional; omitted ones are unchanged."""

    weights = ClassSharesSerializer(required=False)
    reason = serializers.CharField(
        required=False, allow_blank=True, default="", help_text="Kept with the change."
    )
    fingerprint = serializers.CharField(
        required=False,
        help_text="The fingerprint that you read: if it has changed since, nothing is written.",
    )

    class Meta:
        model = SearchProfile
        fields = (*diff.FIELDS, "weights", "reason", "fingerprint")
        extra_kwargs: ClassVar[dict[str, Any]] = {name: {"required": False} for name in diff.FIELDS}

    @property
    def settings(self) -> dict[str, object]:
        return {name: self.validated_data[name] for name in diff.FIELDS
                if name in self.validated_data}  # fmt: skip

    @property
    def shares(self) -> dict[QueryClass, Weights]:
        shares = self.validated_data.get("weights", {})
        return {QueryClass(name): Weights(**each) for name, each in shares.items()}


class NewProfileSerializer(ProfileEditSerializer):
    """A draft: the next version of `based_on`, or with a `name` the first of a new profile."""

    name = serializers.CharField(required=False, max_length=60, validators=[NAME])
    based_on = serializers.CharField(
        required=False,
        help_text="`name` or `name@version`, whose settings the draft starts from; the active "
        "profile's if it is left out.",
    )

    class Meta(ProfileEditSerializer.Meta):
        fields = ("name", "based_on", *ProfileEditSerializer.Meta.fields)
