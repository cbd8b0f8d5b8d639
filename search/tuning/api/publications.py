"""The gate over HTTP: its settings, publications, the audit, rollbacks."""

from __future__ import annotations

from typing import Any

from django_filters import filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.errors import body
from common.api.filters import ChoicesFilter, FilterSet
from common.api.permissions import requires
from common.api.requests import actor, read_body
from common.api.viewsets import ApiViewSet, ReadViewSet
from search.tuning.api.naming import published_profile
from search.tuning.api.serializers.profiles import ProfileNameSerializer
from search.tuning.api.serializers.publications import (
    ChangeSerializer,
    GateSerializer,
    OverrideSerializer,
    PublicationSerializer,
    RollbackSerializer,
)
from search.tuning.models import ProfileChange, Publication, PublishGate
from search.tuning.publishing import gate_inputs, publications, rollback

State = Publication.State


class PublicationViewSet(ReadViewSet[Publication]):
    """Attempts to publish, newest first."""

    serializer_class = PublicationSerializer
    lookup_url_kwarg = "publication"
    lookup_value_converter = "int"
    queryset = Publication.objects.select_related("profile", "replaces", "user", "run").defer(
        "run__by_query"
    )

    @action(detail=True, methods=["post"])
    @requires(publications.PUBLISH)
    def cancel(self, request: Request, publication: int) -> Response:
        """Stop measuring, and do not publish."""
        return self.shown(publications.cancel(self.get_object(), acting_user=actor(request)))

    @extend_schema(request=OverrideSerializer)
    @action(detail=True, methods=["post"])
    @requires(publications.OVERRIDE)
    def override(self, request: Request, publication: int) -> Response:
        """Publish what the gate refused."""
        reason = read_body(request, OverrideSerializer).validated_data["reason"]
        done = publications.override(self.get_object(), acting_user=actor(request), reason=reason)
        return self.shown(done)


class ChangeFilter(FilterSet):  # type: ignore[misc]
    """Which lines of the audit."""

    profile = filters.CharFilter(field_name="profile__name", help_text="The name of a profile.")
    action = ChoicesFilter(choices=ProfileChange.Action.choices, help_text="May be repeated.")


class ChangeViewSet(mixins.ListModelMixin, ApiViewSet[ProfileChange]):
    """The audit of profiles, newest first."""

    serializer_class = ChangeSerializer
    filterset_class = ChangeFilter
    queryset = ProfileChange.objects.select_related("profile", "replaced", "user")


class RollbackViewSet(ApiViewSet[Any]):
    """Back to a profile that was active before."""

    serializer_class = ProfileNameSerializer
    permission = rollback.ROLL_BACK

    @extend_schema(request=RollbackSerializer, responses=ProfileNameSerializer)
    def create(self, request: Request) -> Response:
        """Roll back to a profile that was active before."""
        given = read_body(request, RollbackSerializer).validated_data
        profile = rollback.roll_back(
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

    def partial_update(self, request: Request) -> Response:
        """Change the gate's settings."""
        form = read_body(request, GateSerializer, instance=gate_inputs.gate_row(), partial=True)
        changed = gate_inputs.change(dict(form.validated_data), acting_user=actor(request))
        return self.shown(changed)


def outcome(publication: Publication) -> Response:
    """The response to a publication: done, being measured, or refused with the reasons."""
    shown: Any = PublicationSerializer(publication).data
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
