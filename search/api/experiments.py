"""Experiments over HTTP: plan, start through the gate, look, end."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from ingestion.api_choices import ChoiceField
from ingestion.api_requests import actor, posted
from ingestion.paging import PageParameters, Parameters
from search.api.errors import body
from search.api.naming import published_profile
from search.api.reading import ReadViewSet
from search.api.serializers import ProfileNameSerializer
from search.tuning.experiments import planning, running
from search.tuning.experiments.sequential import Verdict
from search.tuning.models import Experiment
from search.tuning.publishing import publications

State = Experiment.State


class ToldSerializer(serializers.Serializer[Any]):
    """What visitors have told by now.

    `value` is B's share of visitors who opened a result less A's (`split`), or the share of
    visitors with a preference who prefer B (`interleaved`). `low` to `high` holds at every look.
    """

    verdict = serializers.ChoiceField(choices=[verdict.value for verdict in Verdict])
    sentence = serializers.CharField()
    value = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    units = serializers.IntegerField(help_text="Visitors that the value counts.")
    visitors = serializers.IntegerField(help_text="Visitors who took part.")
    needed = serializers.IntegerField(
        allow_null=True, help_text="About how many more visitors would tell; null: nobody knows."
    )
    at = serializers.DateTimeField()


class ExperimentSerializer(serializers.ModelSerializer[Experiment]):
    """Two published profiles, compared by what searchers do."""

    a = ProfileNameSerializer()
    b = ProfileNameSerializer()
    told = serializers.SerializerMethodField(help_text="Null before the first look.")
    added_by = serializers.CharField(source="added_by.username", default=None, allow_null=True)

    class Meta:
        model = Experiment
        fields = (
            "id", "name", "kind", "state", "a", "b", "share", "indifference", "days", "note",
            "findings", "refusals", "runs", "override", "override_reason", "started", "ended",
            "end_reason", "told", "added_by", "created",
        )  # fmt: skip
        read_only_fields = fields

    runs = serializers.ListField(
        source="run_ids",
        child=serializers.IntegerField(),
        help_text="The gate's measurements of the arms.",
    )

    @extend_schema_field(ToldSerializer(allow_null=True))
    def get_told(self, experiment: Experiment) -> Any:
        return ToldSerializer(experiment.verdict).data if experiment.verdict else None


class PlanSerializer(Parameters):
    """What is compared, and how. A and B are `name@version` of published profiles."""

    name = serializers.CharField(max_length=120)
    kind = ChoiceField(Experiment.Kind.choices, default=Experiment.Kind.INTERLEAVED)
    a = serializers.CharField(max_length=80)
    b = serializers.CharField(max_length=80)
    share = serializers.FloatField(
        default=1.0, min_value=0.01, max_value=1, help_text="Share of the visitors who take part."
    )
    indifference = serializers.FloatField(
        default=0.02, min_value=0.001, max_value=0.5, help_text="A smaller difference is none."
    )
    days = serializers.IntegerField(
        default=28, min_value=1, max_value=365, help_text="Days after which it ends."
    )
    note = serializers.CharField(default="", allow_blank=True, max_length=2_000)

    @property
    def fields_given(self) -> dict[str, Any]:
        given = dict(self.validated_data)
        return given | {arm: published_profile(given[arm]) for arm in ("a", "b") if arm in given}


class StartSerializer(Parameters):
    """How to start. `override` starts it whatever the gate finds, and needs a reason."""

    override = serializers.BooleanField(default=False)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)


class EndSerializer(Parameters):
    """Why it ends."""

    reason = serializers.CharField(max_length=2_000)


@extend_schema_view(list=extend_schema(summary="List experiments", parameters=[PageParameters]))
class ExperimentViewSet(ReadViewSet[Experiment]):
    """Experiments, newest first."""

    serializer_class = ExperimentSerializer
    lookup_url_kwarg = "experiment"
    queryset = Experiment.objects.select_related("a", "b", "added_by")
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "tuning.view_experiment",
        "retrieve": "tuning.view_experiment",
        "create": "tuning.add_experiment",
        "partial_update": "tuning.change_experiment",
        "destroy": "tuning.delete_experiment",
        "start": publications.PUBLISH,
        "cancel": publications.PUBLISH,
        "end": publications.PUBLISH,
    }

    @extend_schema(
        summary="Show an experiment",
        description="With what its visitors tell by now: looking often makes it no less sure.",
    )
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        held: Experiment = self.get_object()
        if held.state == State.RUNNING:
            running.look(held)
        return self._shown(held)

    @extend_schema(
        operation_id="experiment_plan",
        summary="Plan an experiment",
        request=PlanSerializer,
        responses={201: ExperimentSerializer},
    )
    def create(self, request: Request) -> Response:
        plan = posted(request, PlanSerializer).fields_given
        planned = planning.plan(plan, acting_user=actor(request))
        return self._shown(planned, status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="experiment_edit",
        summary="Change an experiment that has not started",
        request=PlanSerializer,
        responses=ExperimentSerializer,
    )
    def partial_update(self, request: Request, experiment: int) -> Response:
        plan = posted(request, PlanSerializer, partial=True).fields_given
        held = planning.edit(self.get_object(), plan, acting_user=actor(request))
        return self._shown(held)

    @extend_schema(summary="Remove an experiment that has not started")
    def destroy(self, request: Request, experiment: int) -> Response:
        planning.delete(self.get_object(), acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="experiment_start",
        summary="Start an experiment",
        description="Each arm that is not active goes through the gate. 202: it is still being "
        "measured; 409 `gate_refused`: the gate refuses, and `details.experiment` says why.",
        request=StartSerializer,
        responses={200: ExperimentSerializer, 202: ExperimentSerializer},
    )
    def start(self, request: Request, experiment: int) -> Response:
        given = posted(request, StartSerializer).validated_data
        held = running.start(self.get_object(), acting_user=actor(request), **given)
        if held.state == State.CHECKING:
            return self._shown(held, status.HTTP_202_ACCEPTED)
        if held.state == State.RUNNING:
            return self._shown(held)
        details = {"experiment": ExperimentSerializer(held).data}
        refused = body("gate_refused", " ".join(held.refusals), details)
        return Response(refused, status.HTTP_409_CONFLICT)

    @extend_schema(
        operation_id="experiment_cancel",
        summary="Stop measuring, and do not start",
        request=None,
        responses=ExperimentSerializer,
    )
    def cancel(self, request: Request, experiment: int) -> Response:
        return self._shown(running.cancel(self.get_object(), acting_user=actor(request)))

    @extend_schema(
        operation_id="experiment_end",
        summary="End an experiment",
        description="Nothing is published by it.",
        request=EndSerializer,
        responses=ExperimentSerializer,
    )
    def end(self, request: Request, experiment: int) -> Response:
        reason = posted(request, EndSerializer).validated_data["reason"]
        held = running.end(self.get_object(), acting_user=actor(request), reason=reason)
        return self._shown(held)

    def _shown(self, held: Experiment, code: int = status.HTTP_200_OK) -> Response:
        held = self.get_queryset().get(pk=held.pk)
        return Response(ExperimentSerializer(held).data, code)
