"""Profiles over HTTP: read, drafted, edited, published through the gate, rolled back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from ingestion.api_choices import ChoiceField
from ingestion.api_requests import actor, asked, posted
from ingestion.paging import PageParameters, Parameters
from search.api.naming import SEE_DRAFTS, named_profile, visible_profiles
from search.api.publications import PublicationSerializer, PublishSerializer, outcome
from search.api.reading import ReadViewSet
from search.api.serializers import CLASSES, ProfileSerializer
from search.domain import QueryClass, Weights
from search.errors import ProfileError, RunConflict
from search.models import SearchProfile
from search.models.profiles import NAME
from search.tuning.evaluation.golden import fingerprint
from search.tuning.publishing import activation, drafts, publications


class SharesSerializer(Parameters):
    """The shares of one class of questions. They sum to 1; one that is left out is 0."""

    vector = serializers.DecimalField(5, 4, min_value=0, max_value=1, default=Decimal(0))
    keyword = serializers.DecimalField(5, 4, min_value=0, max_value=1, default=Decimal(0))
    title = serializers.DecimalField(5, 4, min_value=0, max_value=1, default=Decimal(0))
    recency = serializers.DecimalField(5, 4, min_value=0, max_value=1, default=Decimal(0))
    synonym = serializers.DecimalField(5, 4, min_value=0, max_value=1, default=Decimal(0))

    def validate(self, attrs: dict[str, Decimal]) -> dict[str, Decimal]:
        if sum(attrs.values()) != 1:
            raise serializers.ValidationError(f"The weights sum to {sum(attrs.values())}, not 1.")
        return attrs


class ClassSharesSerializer(Parameters):
    """Weights by class of question. A class that is left out keeps what it has."""

    def get_fields(self) -> dict[str, Any]:
        return {name: SharesSerializer(required=False) for name in CLASSES}


class ProfileEditSerializer(serializers.ModelSerializer[SearchProfile]):
    """What changes. Everything is optional; what is not named stays."""

    serializer_choice_field = ChoiceField

    weights = ClassSharesSerializer(required=False)
    reason = serializers.CharField(
        required=False, allow_blank=True, default="", help_text="Kept with the change."
    )
    fingerprint = serializers.CharField(
        required=False, help_text="As you saw it: if it has changed since, nothing is written."
    )

    class Meta:
        model = SearchProfile
        fields = (*activation.FIELDS, "weights", "reason", "fingerprint")
        extra_kwargs: ClassVar[dict[str, Any]] = {
            name: {"required": False} for name in activation.FIELDS
        }

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := sorted(set(data) - set(self.fields))):
            raise serializers.ValidationError(
                {name: ["A profile has no such field."] for name in unknown}
            )
        return super().to_internal_value(data)

    @property
    def settings(self) -> dict[str, object]:
        return {name: self.validated_data[name] for name in activation.FIELDS
                if name in self.validated_data}  # fmt: skip

    @property
    def shares(self) -> dict[QueryClass, Weights]:
        given = self.validated_data.get("weights", {})
        return {
            QueryClass(name): Weights(**{signal: float(share) for signal, share in each.items()})
            for name, each in given.items()
        }


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


class DifferenceParameters(Parameters):
    """What to compare with."""

    against = serializers.CharField(
        required=False, help_text="`name@version`; the active profile if it is left out."
    )


class DifferencesSerializer(serializers.Serializer[Any]):
    """What is another in a profile, a sentence each."""

    differences = serializers.ListField(child=serializers.CharField())


@extend_schema_view(
    list=extend_schema(
        summary="List profiles",
        description="Published profiles, by name and version. Any of them can be asked for in "
        "a search as `profile=name` or `profile=name@version`.",
        parameters=[PageParameters],
    ),
    retrieve=extend_schema(
        summary="Show a profile", description="Without a version: the newest published one."
    ),
)
class ProfileViewSet(ReadViewSet[SearchProfile]):
    """The published profiles. Who may see profiles in the admin sees drafts as well."""

    serializer_class = ProfileSerializer
    queryset = SearchProfile.objects.none()
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "",
        "retrieve": "",
        "create": "search.add_searchprofile",
        "partial_update": "search.change_searchprofile",
        "destroy": "search.delete_searchprofile",
        "differences": SEE_DRAFTS,
        "publish": publications.PUBLISH,
    }

    def get_queryset(self) -> QuerySet[SearchProfile]:
        return visible_profiles(self.request.user).prefetch_related("class_weights")

    def get_object(self) -> SearchProfile:
        found = self.get_queryset().filter(name=self.kwargs["name"])
        if "version" in self.kwargs:
            found = found.filter(version=self.kwargs["version"])
        else:
            found = found.exclude(state=SearchProfile.State.DRAFT)
        profile = found.order_by("-version").first()
        if profile is None:
            raise Http404
        return profile

    def _base(self, key: str | None) -> SearchProfile:
        active = self.get_queryset().filter(state=SearchProfile.State.ACTIVE).first()
        base = named_profile(key, self.get_queryset()) if key else active
        if base is None:
            raise ProfileError("No profile is active. Say which one it is based on.")
        return base

    @extend_schema(
        operation_id="profile_create",
        summary="Make a draft",
        request=NewProfileSerializer,
        responses={201: ProfileSerializer},
    )
    @transaction.atomic
    def create(self, request: Request) -> Response:
        form = posted(request, NewProfileSerializer)
        given, user = form.validated_data, actor(request)
        base = self._base(given.get("based_on"))
        if name := given.get("name"):
            held = {field: getattr(base, field) for field in activation.FIELDS}
            shares = {QueryClass(w.query_class): w.as_weights() for w in base.class_weights.all()}
            draft = drafts.create(
                name,
                {**held, "description": "", **form.settings},
                {**shares, **form.shares},
                acting_user=user,
                reason=given["reason"],
            )
        else:
            made = activation.draft_from(base, acting_user=user, reason=given["reason"])
            draft = drafts.edit(made, form.settings, form.shares, acting_user=user).profile
        return Response(self._shown(draft), status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="profile_edit",
        summary="Edit a draft",
        description="A published profile never changes: an edit of one makes a new draft (201).",
        request=ProfileEditSerializer,
        responses={200: ProfileSerializer, 201: ProfileSerializer},
    )
    @transaction.atomic
    def partial_update(self, request: Request, name: str, version: int) -> Response:
        profile = self.get_object()
        form = posted(request, ProfileEditSerializer)
        _check_seen(profile, form.validated_data.get("fingerprint"))
        done = drafts.edit(
            profile,
            form.settings,
            form.shares,
            acting_user=actor(request),
            reason=form.validated_data["reason"],
        )
        code = status.HTTP_201_CREATED if done.is_new_draft else status.HTTP_200_OK
        return Response(self._shown(done.profile), code)

    @extend_schema(operation_id="profile_delete", summary="Delete a draft", responses={204: None})
    @transaction.atomic
    def destroy(self, request: Request, name: str, version: int) -> Response:
        profile = self.get_object()
        held = SearchProfile.objects.select_for_update().get(pk=profile.pk)
        if not held.is_draft:
            raise RunConflict(f"{held} is published, and published profiles are kept for good.")
        held.delete()
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="profile_differences",
        summary="What is another in a profile",
        parameters=[DifferenceParameters],
        responses=DifferencesSerializer,
    )
    def differences(self, request: Request, name: str, version: int) -> Response:
        against = asked(request, DifferenceParameters).validated_data.get("against")
        profile, other = self.get_object(), self._base(against)
        return Response({"differences": activation.differences(other, profile)})

    @extend_schema(
        operation_id="profile_publish",
        summary="Publish a profile through the gate",
        description="200: published. 202: a worker measures it; ask `publications/ID/` until it "
        "is decided. 409: refused, with the findings and the queries in `details`.",
        request=PublishSerializer,
        responses={
            200: PublicationSerializer,
            202: OpenApiResponse(PublicationSerializer, "It is being measured."),
        },
    )
    def publish(self, request: Request, name: str, version: int) -> Response:
        given = posted(request, PublishSerializer).validated_data
        publication = publications.publish(
            self.get_object(),
            acting_user=actor(request),
            reason=given["reason"],
            override=given["override"],
            expected=given["fingerprint"],
        )
        return outcome(publication)

    def _shown(self, profile: SearchProfile) -> Any:
        return ProfileSerializer(self.get_queryset().get(pk=profile.pk)).data


def _check_seen(profile: SearchProfile, seen: str | None) -> None:
    """Raises RunConflict where the profile is not what the caller saw; holds it otherwise."""
    held = SearchProfile.objects.select_for_update().get(pk=profile.pk)
    if seen and seen != fingerprint(held.as_profile()):
        raise RunConflict(f"{held} has been edited since you looked at it. Look again.")
