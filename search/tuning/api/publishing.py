"""The gate over HTTP: its settings, publications, the audit, rollbacks."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext
from django_filters import filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.errors import body
from common.api.lists import ChoicesFilter, FilterSet
from common.api.requests import actor, read_body
from common.api.serializers import Parameters
from common.api.viewsets import ApiViewSet, ReadViewSet
from search.tuning.api.profile_serializers import ProfileNameSerializer, published_profile
from search.tuning.models import ProfileChange, Publication, PublishGate
from search.tuning.publishing import activation, gate_inputs, measuring, publications

PublicationState = Publication.State


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


class GateSerializer(serializers.ModelSerializer[PublishGate]):
    """The requirements for publishing a profile, measured on the golden queries."""

    class Meta:
        model = PublishGate
        fields = gate_inputs.FIELDS
        read_only_fields = fields


class PublicationViewSet(ReadViewSet[Publication]):
    """Attempts to publish, newest first."""

    serializer_class = PublicationSerializer
    lookup_url_kwarg = "publication"
    lookup_value_converter = "int"
    queryset = Publication.objects.select_related("profile", "replaces", "user", "run").defer(
        "run__by_query"
    )

    @action(detail=True, methods=["post"])
    @requires(measuring.PUBLISH)
    def cancel(self, request: Request, publication: int) -> Response:
        """Stop measuring, and do not publish."""
        return self.shown(publications.cancel(self.get_object(), acting_user=actor(request)))

    @extend_schema(request=OverrideSerializer)
    @action(detail=True, methods=["post"])
    @requires(measuring.OVERRIDE)
    def override(self, request: Request, publication: int) -> Response:
        """Publish a profile that the gate refused."""
        reason = read_body(request, OverrideSerializer).validated_data["reason"]
        done = publications.override(self.get_object(), acting_user=actor(request), reason=reason)
        return self.shown(done)


class ChangeFilter(FilterSet):  # type: ignore[misc]
    """Filters of the audit."""

    profile = filters.CharFilter(field_name="profile__name", help_text="The name of a profile.")
    action = ChoicesFilter(choices=ProfileChange.Action.choices, help_text="May be repeated.")


class ChangeViewSet(mixins.ListModelMixin, ApiViewSet[ProfileChange]):
    """The audit of profiles, newest first."""

    serializer_class = ChangeSerializer
    filterset_class = ChangeFilter
    queryset = ProfileChange.objects.select_related("profile", "replaced", "user")


class RollbackViewSet(ApiViewSet[Any]):
    """Rollback to a profile that was active before."""

    serializer_class = ProfileNameSerializer
    permission = activation.ROLL_BACK

    @extend_schema(request=RollbackSerializer, responses={200: ProfileNameSerializer})
    def create(self, request: Request) -> Response:
        """Roll back to a profile that was active before."""
        given = read_body(request, RollbackSerializer).validated_data
        profile = activation.roll_back(
            published_profile(given["to"]) if "to" in given else None,
            acting_user=actor(request),
            reason=given["reason"],
            leaving=published_profile(given["leaving"]) if "leaving" in given else None,
        )
        return Response({"name": profile.name, "version": profile.version})


class GateViewSet(ApiViewSet[PublishGate]):
    """The gate's settings."""

    serializer_class = GateSerializer
    queryset = PublishGate.objects.all()

    def retrieve(self, request: Request) -> Response:
        """Show the gate's settings."""
        return self.shown(gate_inputs.gate_row())


def outcome(publication: Publication) -> Response:
    """The response to a publication: done, being measured, or refused with the reasons."""
    shown: Any = PublicationSerializer(publication).data
    if publication.state == PublicationState.PUBLISHED:
        return Response(shown)
    if publication.state == PublicationState.MEASURING:
        return Response(shown, status.HTTP_202_ACCEPTED)
    refused = publication.state == PublicationState.REFUSED
    code = "gate_refused" if refused else "not_published"
    message = (
        " ".join(publication.refusals)
        if refused
        else publication.error or gettext("The publication was cancelled.")
    )
    details = {"publication": shown}
    return Response(body(code, message, details), status.HTTP_409_CONFLICT)
