"""The gate over HTTP: its settings, what came of publishing, the audit, the way back."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_choices import ChoiceField
from ingestion.api_requests import ActionPermission, actor, asked, posted
from ingestion.paging import PageParameters, Pages, Parameters
from search.api.errors import body
from search.api.naming import published_profile
from search.api.reading import ReadViewSet
from search.api.serializers import ProfileNameSerializer
from search.models import SearchProfile
from search.tuning.models import ProfileChange, Publication, PublishGate
from search.tuning.publishing import gate_inputs, publications, rollback

State = Publication.State


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


class ChangeParameters(PageParameters):
    """Which lines of the audit."""

    profile = serializers.CharField(required=False, help_text="The name of a profile.")
    action = ChoiceField(ProfileChange.Action.choices, required=False)


class GateSerializer(serializers.ModelSerializer[PublishGate]):
    """What a profile must hold on the golden queries to be published."""

    serializer_choice_field = ChoiceField

    class Meta:
        model = PublishGate
        fields = gate_inputs.FIELDS

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := sorted(set(data) - set(self.fields))):
            raise serializers.ValidationError(
                {name: ["The gate has no such setting."] for name in unknown}
            )
        return super().to_internal_value(data)


def outcome(publication: Publication) -> Response:
    """The response that states what came of publishing."""
    shown = PublicationSerializer(publication).data
    if publication.state == State.PUBLISHED:
        return Response(shown)
    if publication.state == State.MEASURING:
        return Response(shown, status.HTTP_202_ACCEPTED)
    refused = publication.state == State.REFUSED
    code = "gate_refused" if refused else "not_published"
    message = (
        " ".join(publication.refusals) if refused else publication.error or "It was cancelled."
    )
    details = {"publication": shown}
    return Response(body(code, message, details), status.HTTP_409_CONFLICT)


@extend_schema_view(
    list=extend_schema(summary="List attempts to publish", parameters=[PageParameters]),
    retrieve=extend_schema(summary="Show an attempt to publish"),
)
class PublicationViewSet(ReadViewSet[Publication]):
    """Attempts to publish, newest first."""

    serializer_class = PublicationSerializer
    lookup_url_kwarg = "publication"
    queryset = Publication.objects.select_related("profile", "replaces", "user", "run").defer(
        "run__by_query"
    )
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "tuning.view_publication",
        "retrieve": "tuning.view_publication",
        "cancel": publications.PUBLISH,
        "override": publications.OVERRIDE,
    }

    @extend_schema(
        operation_id="publication_cancel",
        summary="Stop measuring, and do not publish",
        request=None,
        responses=PublicationSerializer,
    )
    def cancel(self, request: Request, publication: int) -> Response:
        done = publications.cancel(self.get_object(), acting_user=actor(request))
        return Response(PublicationSerializer(done).data)

    @extend_schema(
        operation_id="publication_override",
        summary="Publish what the gate refused",
        request=OverrideSerializer,
        responses=PublicationSerializer,
    )
    def override(self, request: Request, publication: int) -> Response:
        reason = posted(request, OverrideSerializer).validated_data["reason"]
        done = publications.override(self.get_object(), acting_user=actor(request), reason=reason)
        return Response(PublicationSerializer(done).data)


class ChangeViewSet(mixins.ListModelMixin, GenericViewSet[ProfileChange]):
    """The audit of profiles, newest first."""

    serializer_class = ChangeSerializer
    pagination_class = Pages
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {"list": "tuning.view_profilechange"}
    queryset = ProfileChange.objects.select_related("profile", "replaced", "user")

    @extend_schema(summary="The audit of profiles", parameters=[ChangeParameters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        given, rows = asked(request, ChangeParameters).validated_data, self.get_queryset()
        if "profile" in given:
            rows = rows.filter(profile__name=given["profile"])
        if "action" in given:
            rows = rows.filter(action=given["action"])
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(ChangeSerializer(page, many=True).data)


class RollbackViewSet(GenericViewSet[SearchProfile]):
    """Back to a profile that was active before."""

    serializer_class = RollbackSerializer
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {"create": rollback.ROLL_BACK}

    @extend_schema(
        operation_id="profile_rollback",
        summary="Roll back to a profile that was active before",
        request=RollbackSerializer,
        responses=ProfileNameSerializer,
    )
    def create(self, request: Request) -> Response:
        given = posted(request, RollbackSerializer).validated_data
        profile = rollback.roll_back(
            published_profile(given["to"]) if "to" in given else None,
            acting_user=actor(request),
            reason=given["reason"],
            leaving=published_profile(given["leaving"]) if "leaving" in given else None,
        )
        return Response({"name": profile.name, "version": profile.version})


class GateViewSet(GenericViewSet[PublishGate]):
    """The gate's settings."""

    serializer_class = GateSerializer
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {
        "retrieve": "tuning.view_publishgate",
        "partial_update": "tuning.change_publishgate",
    }

    def get_queryset(self) -> QuerySet[PublishGate]:
        return PublishGate.objects.all()

    @extend_schema(operation_id="gate_show", summary="The gate's settings")
    def retrieve(self, request: Request) -> Response:
        return Response(GateSerializer(gate_inputs.gate_row()).data)

    @extend_schema(operation_id="gate_change", summary="Change the gate's settings")
    def partial_update(self, request: Request) -> Response:
        form = posted(request, GateSerializer, instance=gate_inputs.gate_row(), partial=True)
        changed = gate_inputs.change(dict(form.validated_data), acting_user=actor(request))
        return Response(GateSerializer(changed).data)
