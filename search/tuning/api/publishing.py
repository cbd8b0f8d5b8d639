"""The gate over HTTP: its settings, publications, the audit, rollbacks; and experiments."""

from __future__ import annotations

from typing import Any

from django_filters import filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.errors import body
from common.api.lists import ChoicesFilter, FilterSet
from common.api.requests import actor, read_body
from common.api.viewsets import ApiViewSet, ReadViewSet
from search.tuning.api.serializers.profiles import ProfileNameSerializer, published_profile
from search.tuning.api.serializers.publishing import (
    ChangeSerializer,
    EndSerializer,
    ExperimentSerializer,
    GateSerializer,
    OverrideSerializer,
    PlanSerializer,
    PublicationSerializer,
    RollbackSerializer,
    StartSerializer,
)
from search.tuning.experiments import planning, running
from search.tuning.models import Experiment, ProfileChange, Publication, PublishGate
from search.tuning.publishing import activation, gate_inputs, publications

PublicationState = Publication.State


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

    def partial_update(self, request: Request) -> Response:
        """Change the gate's settings."""
        form = read_body(request, GateSerializer, instance=gate_inputs.gate_row(), partial=True)
        changed = gate_inputs.change(dict(form.validated_data), acting_user=actor(request))
        return self.shown(changed)


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
        else publication.error or "The publication was cancelled."
    )
    details = {"publication": shown}
    return Response(body(code, message, details), status.HTTP_409_CONFLICT)


ExperimentState = Experiment.State


class ExperimentViewSet(ReadViewSet[Experiment]):
    """Experiments, newest first."""

    serializer_class = ExperimentSerializer
    lookup_url_kwarg = "experiment"
    lookup_value_converter = "int"
    queryset = Experiment.objects.select_related("a", "b", "added_by")

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Show an experiment.

        With its current interim analysis, which is valid however often it is requested.
        """
        held: Experiment = self.get_object()
        if held.state == ExperimentState.RUNNING:
            running.analyse(held)
        return self._fresh(held)

    @extend_schema(request=PlanSerializer, responses={201: ExperimentSerializer})
    def create(self, request: Request) -> Response:
        """Plan an experiment."""
        plan = read_body(request, PlanSerializer).fields_given
        return self._fresh(planning.plan(plan, acting_user=actor(request)), status.HTTP_201_CREATED)

    @extend_schema(request=PlanSerializer)
    def partial_update(self, request: Request, experiment: int) -> Response:
        """Change an experiment that has not started."""
        plan = read_body(request, PlanSerializer, partial=True).fields_given
        return self._fresh(planning.edit(self.get_object(), plan, acting_user=actor(request)))

    def destroy(self, request: Request, experiment: int) -> Response:
        """Remove an experiment that has not started."""
        planning.delete(self.get_object(), acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        request=StartSerializer, responses={200: ExperimentSerializer, 202: ExperimentSerializer}
    )
    @action(detail=True, methods=["post"])
    @requires(publications.PUBLISH)
    def start(self, request: Request, experiment: int) -> Response:
        """Start an experiment.

        Each arm that is not active goes through the gate. 202: it is still being measured; 409
        `gate_refused`: the gate refuses, and `details.experiment` says why.
        """
        given = read_body(request, StartSerializer).validated_data
        held = running.start(self.get_object(), acting_user=actor(request), **given)
        if held.state == ExperimentState.CHECKING:
            return self._fresh(held, status.HTTP_202_ACCEPTED)
        if held.state == ExperimentState.RUNNING:
            return self._fresh(held)
        details = {"experiment": ExperimentSerializer(held).data}
        refused = body("gate_refused", " ".join(held.refusals), details)
        return Response(refused, status.HTTP_409_CONFLICT)

    @action(detail=True, methods=["post"])
    @requires(publications.PUBLISH)
    def cancel(self, request: Request, experiment: int) -> Response:
        """Stop measuring, and do not start."""
        return self._fresh(running.cancel(self.get_object(), acting_user=actor(request)))

    @extend_schema(request=EndSerializer)
    @action(detail=True, methods=["post"])
    @requires(publications.PUBLISH)
    def end(self, request: Request, experiment: int) -> Response:
        """End an experiment.

        No profile is published.
        """
        reason = read_body(request, EndSerializer).validated_data["reason"]
        held = running.end(self.get_object(), acting_user=actor(request), reason=reason)
        return self._fresh(held)

    def _fresh(self, held: Experiment, code: int = status.HTTP_200_OK) -> Response:
        return self.shown(self.get_queryset().get(pk=held.pk), code)
