"""Profiles over HTTP: read, draft, edit, publish through the gate."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.requests import actor, read_body
from common.api.serializers import Parameters
from common.api.views import reads
from common.api.viewsets import ReadViewSet
from search.domain import QueryClass
from search.errors import ProfileError, RunConflict, UnknownProfile
from search.models import SearchProfile
from search.tuning import diff, drafts
from search.tuning.api.profile_serializers import (
    SEE_DRAFTS,
    NewProfileSerializer,
    ProfileEditSerializer,
    ProfileSerializer,
    named_profile,
    visible_profiles,
)
from search.tuning.evaluation.golden_set import fingerprint


class DifferenceParameters(Parameters):
    """The profile to compare with."""

    against = serializers.CharField(
        required=False, help_text="`name@version`; the active profile if it is left out."
    )


class DifferencesSerializer(serializers.Serializer[Any]):
    """Each difference between two profiles as a sentence."""

    differences = serializers.ListField(child=serializers.CharField())


class ProfileViewSet(ReadViewSet[SearchProfile]):
    """Published profiles, by name and version.

    A search can name any of them as `profile=name` or `profile=name@version`. Users who may see
    profiles in the admin see drafts as well. A name without a version means the one in force: the
    active one, else the one last published or rolled back to.
    """

    serializer_class = ProfileSerializer
    open_to_read = True
    lookup_url_kwarg = "profile"
    lookup_value_converter = "profile"
    queryset = SearchProfile.objects.none()

    def get_queryset(self) -> QuerySet[SearchProfile]:
        return visible_profiles(self.request.user).prefetch_related("class_weights")

    def get_object(self) -> SearchProfile:
        key, rows = self.kwargs["profile"], self.get_queryset()
        if "@" not in key:
            rows = rows.exclude(state=SearchProfile.State.DRAFT)
        try:
            profile = named_profile(key, rows)
        except UnknownProfile as error:
            raise Http404 from error
        if "@" not in key and self.request.method not in SAFE_METHODS:
            text = gettext("Name the version to change: profiles/%(key)s/ is the one in force.")
            raise ValidationError({"profile": [text % {"key": self.key_of(profile)}]})
        return profile

    def _base(self, key: str | None) -> SearchProfile:
        active = self.get_queryset().filter(state=SearchProfile.State.ACTIVE).first()
        base = named_profile(key, self.get_queryset()) if key else active
        if base is None:
            raise ProfileError(gettext("No profile is active. Set `based_on`."))
        return base

    @extend_schema(request=NewProfileSerializer, responses={201: ProfileSerializer})
    @transaction.atomic
    def create(self, request: Request) -> Response:
        """Create a draft."""
        form = read_body(request, NewProfileSerializer)
        data, user = form.validated_data, actor(request)
        base = self._base(data.get("based_on"))
        if name := data.get("name"):
            values = {field: getattr(base, field) for field in diff.FIELDS}
            shares = {QueryClass(w.query_class): w.as_weights() for w in base.class_weights.all()}
            draft = drafts.create(
                name,
                {**values, "description": "", **form.settings},
                {**shares, **form.shares},
                acting_user=user,
                reason=data["reason"],
            )
        else:
            created = drafts.draft_from(base, acting_user=user, reason=data["reason"])
            draft = drafts.edit(created, form.settings, form.shares, acting_user=user).profile
        return self._fresh(draft, status.HTTP_201_CREATED)

    @extend_schema(
        request=ProfileEditSerializer, responses={200: ProfileSerializer, 201: ProfileSerializer}
    )
    @transaction.atomic
    def partial_update(self, request: Request, profile: str) -> Response:
        """Edit a draft.

        A published profile never changes: editing one creates a new draft (201).
        """
        row = self.get_object()
        form = read_body(request, ProfileEditSerializer)
        _check_seen(row, form.validated_data.get("fingerprint"))
        done = drafts.edit(
            row,
            form.settings,
            form.shares,
            acting_user=actor(request),
            reason=form.validated_data["reason"],
        )
        code = status.HTTP_201_CREATED if done.is_new_draft else status.HTTP_200_OK
        return self._fresh(done.profile, code)

    @transaction.atomic
    def destroy(self, request: Request, profile: str) -> Response:
        """Delete a draft."""
        row = SearchProfile.objects.select_for_update().get(pk=self.get_object().pk)
        if not row.is_draft:
            text = gettext("%(profile)s is published, and published profiles are never deleted.")
            raise RunConflict(text % {"profile": row})
        row.delete()
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses=DifferencesSerializer)
    @action(detail=True)
    @requires(SEE_DRAFTS)
    @reads(DifferenceParameters)
    def differences(self, request: Request, profile: str) -> Response:
        """Show how a profile differs from another."""
        against = self.parameters.validated_data.get("against")
        row, other = self.get_object(), self._base(against)
        return Response({"differences": diff.differences(other, row)})

    def key_of(self, row: SearchProfile) -> str:
        return f"{row.name}@{row.version}"

    def _fresh(self, profile: SearchProfile, code: int) -> Response:
        return self.respond(self.get_queryset().get(pk=profile.pk), code)


def _check_seen(profile: SearchProfile, expected: str | None) -> None:
    """Lock the profile; raise RunConflict if it is not the version that the caller saw."""
    row = SearchProfile.objects.select_for_update().get(pk=profile.pk)
    if expected and expected != fingerprint(row.as_profile()):
        text = gettext("%(chosen)s has been edited since you opened it. Reload it and try again.")
        raise RunConflict(text % {"chosen": row})
