"""The gate over HTTP: publications, the audit, rollbacks."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.errors import Problem
from common.api.requests import actor, checked, location, read_body
from common.api.serializers import BooleanField, ChoiceField, Parameters
from common.api.viewsets import ApiViewSet, ListParameters, ReadViewSet, repeatable
from search.tuning import activation, gate_runs, publications
from search.tuning.api.profile_serializers import (
    ProfileNameSerializer,
    named_profile,
    published,
    visible_profiles,
)
from search.tuning.api.runs import CancelSerializer
from search.tuning.models import ProfileChange, Publication


class ReasonSerializer(Parameters):
    """The reason."""

    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)


class PublishSerializer(ReasonSerializer):
    """What to publish. `override` publishes even if the gate refuses, for a reason."""

    profile = serializers.CharField(help_text="`name@version` of a draft.")
    override = BooleanField(default=False)
    fingerprint = serializers.CharField(
        source="expected",
        default="",
        help_text="The fingerprint that you read: if it has changed since, nothing is published.",
    )


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


class PublicationViewSet(ReadViewSet[Publication]):
    """Attempts to publish, newest first."""

    serializer_class = PublicationSerializer
    lookup_url_kwarg = "publication"
    queryset = Publication.objects.select_related("profile", "replaces", "user", "run").defer(
        "run__by_query"
    )

    @extend_schema(
        request=PublishSerializer,
        responses={200: PublicationSerializer, 202: PublicationSerializer},
    )
    @requires(gate_runs.PUBLISH)
    def create(self, request: Request, **named: str) -> HttpResponse:
        """Publish a profile through the gate.

        200: published. 202: a worker measures it; poll `publications/ID/` until it is decided. 409:
        refused, with the findings and the queries in `publication`.
        """
        sent: Any = request.data
        if named.keys() & sent:
            raise serializers.ValidationError({"profile": ["The address names it."]})
        form = PublishSerializer(data={**sent, **named})  # the address of 0.2 names it
        options = dict(checked(request, form).validated_data)
        profile = named_profile(options.pop("profile"), visible_profiles(request.user))
        publication = publications.publish(profile, acting_user=actor(request), **options)
        shown: Any = PublicationSerializer(publication).data
        if publication.state == Publication.State.PUBLISHED:
            return Response(shown)
        if publication.state == Publication.State.MEASURING:
            headers = location(request, "publication-detail", publication.pk)
            return Response(shown, status.HTTP_202_ACCEPTED, headers=headers)
        if publication.state == Publication.State.REFUSED:
            return Problem("gate_refused", " ".join(publication.refusals), 409, publication=shown)
        why = publication.error or gettext("The publication was cancelled.")
        return Problem("not_published", why, 409, publication=shown)

    @extend_schema(request=CancelSerializer)
    @requires(gate_runs.PUBLISH)
    def partial_update(self, request: Request, publication: int) -> Response:
        """Stop measuring, and do not publish."""
        read_body(request, CancelSerializer)
        return self.respond(publications.cancel(self.get_object(), acting_user=actor(request)))


class ChangeListParameters(ListParameters):
    """Filters of the audit."""

    profile = serializers.CharField(
        source="profile__name", required=False, max_length=80, help_text="The name of a profile."
    )
    action = repeatable(
        ChoiceField(ProfileChange.Action.choices), "May be repeated.", source="action__in"
    )

    def validate_profile(self, value: str) -> str:
        if not visible_profiles(self.context["request"].user).filter(name=value).exists():
            raise serializers.ValidationError(f"There is no profile “{value}”.")
        return value


class ChangeViewSet(mixins.ListModelMixin, ApiViewSet[ProfileChange]):
    """The audit of profiles, newest first."""

    serializer_class = ChangeSerializer
    list_parameters = ChangeListParameters
    queryset = ProfileChange.objects.select_related("profile", "replaced", "user")


class RollbackViewSet(ApiViewSet[Any]):
    """Rollback to a profile that was active before."""

    serializer_class = ProfileNameSerializer
    permission = activation.ROLL_BACK

    @extend_schema(request=RollbackSerializer, responses={200: ProfileNameSerializer})
    def create(self, request: Request) -> Response:
        """Roll back to a profile that was active before."""
        data = read_body(request, RollbackSerializer).validated_data
        profile = activation.roll_back(
            named_profile(data["to"], published()) if "to" in data else None,
            acting_user=actor(request),
            reason=data["reason"],
            leaving=named_profile(data["leaving"], published()) if "leaving" in data else None,
        )
        return self.respond(profile)
