"""Experiments over HTTP: plan, start through the gate, look, end."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.errors import body
from common.api.permissions import requires
from common.api.requests import actor, read_body
from common.api.viewsets import ReadViewSet
from search.tuning.api.serializers.experiments import (
    EndSerializer,
    ExperimentSerializer,
    PlanSerializer,
    StartSerializer,
)
from search.tuning.experiments import planning, running
from search.tuning.models import Experiment
from search.tuning.publishing import publications

State = Experiment.State


class ExperimentViewSet(ReadViewSet[Experiment]):
    """Experiments, newest first."""

    serializer_class = ExperimentSerializer
    lookup_url_kwarg = "experiment"
    lookup_value_converter = "int"
    queryset = Experiment.objects.select_related("a", "b", "added_by")

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Show an experiment.

        With what its visitors tell by now: looking often makes it no less sure.
        """
        held: Experiment = self.get_object()
        if held.state == State.RUNNING:
            running.look(held)
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
        if held.state == State.CHECKING:
            return self._fresh(held, status.HTTP_202_ACCEPTED)
        if held.state == State.RUNNING:
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

        Nothing is published by it.
        """
        reason = read_body(request, EndSerializer).validated_data["reason"]
        held = running.end(self.get_object(), acting_user=actor(request), reason=reason)
        return self._fresh(held)

    def _fresh(self, held: Experiment, code: int = status.HTTP_200_OK) -> Response:
        return self.shown(self.get_queryset().get(pk=held.pk), code)
