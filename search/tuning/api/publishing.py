"""Measurements and the gate over HTTP: runs, publications, the audit, rollbacks."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.errors import Problem
from common.api.requests import actor, checked, location, read_body
from common.api.serializers import BooleanField, ChoiceField, Parameters
from common.api.viewsets import ApiViewSet, ListParameters, ReadViewSet, repeatable
from search.presentation.labels import by_measure
from search.tuning import activation as activation
from search.tuning import gate_runs, publications
from search.tuning.api.profile_serializers import (
    ProfileNameSerializer,
    named_profile,
    published_profile,
    visible_profiles,
)
from search.tuning.evaluation import golden_runs
from search.tuning.evaluation.golden_runs import QueryRow, query_rows
from search.tuning.models import EvaluationRun, ProfileChange, Publication


class ReasonSerializer(Parameters):
    """The reason."""

    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)


class CancelSerializer(Parameters):
    """The state that ends it."""

    state = ChoiceField(["cancelled"])


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
            published_profile(data["to"]) if "to" in data else None,
            acting_user=actor(request),
            reason=data["reason"],
            leaving=published_profile(data["leaving"]) if "leaving" in data else None,
        )
        return self.respond(profile)


class MeasuresField(serializers.JSONField):
    """Values by measure, under the names that pages show."""

    def to_representation(self, value: Any) -> Any:
        return by_measure(value)


@extend_schema_field(serializers.DictField(child=serializers.FloatField()))
class QueryMeasuresField(MeasuresField):
    """Those of one query."""


class RunSerializer(serializers.ModelSerializer[EvaluationRun]):
    """A profile's measures on the golden queries."""

    profile = ProfileNameSerializer()
    baseline = ProfileNameSerializer(allow_null=True)
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    measures = MeasuresField()
    differences = MeasuresField()
    by_class = MeasuresField()

    class Meta:
        model = EvaluationRun
        fields = (
            "id", "state", "progress", "error", "profile", "baseline", "queries", "measures",
            "differences", "by_class", "latency_ms", "fingerprint", "embedding_space",
            "code_version", "user", "created",
        )  # fmt: skip
        read_only_fields = fields


class QueryRowSerializer(serializers.Serializer[QueryRow]):
    """A run's measures of one golden query. Documents that you may not see are null."""

    query = serializers.UUIDField()
    text = serializers.CharField()
    query_class = serializers.CharField()
    measures = QueryMeasuresField()
    was = QueryMeasuresField()
    first = serializers.UUIDField(allow_null=True)
    was_first = serializers.UUIDField(allow_null=True)
    must_be_first = serializers.UUIDField(allow_null=True)
    error = serializers.CharField(help_text="Why no search can run it: it counts in no mean.")


class RunDetailSerializer(RunSerializer):
    """A run, with every query that you may see."""

    by_query = serializers.SerializerMethodField()

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, "by_query")  # type: ignore[assignment]
        read_only_fields = fields  # type: ignore[assignment]

    @extend_schema_field(QueryRowSerializer(many=True))
    def get_by_query(self, run: EvaluationRun) -> Any:
        rows: Any = query_rows(run, viewer=self.context["request"].user)
        return QueryRowSerializer(rows, many=True).data


class NewRunSerializer(Parameters):
    """The profile to measure, and the one to compare it with."""

    profile = serializers.CharField(help_text="`name@version`; drafts as well.")
    baseline = serializers.CharField(
        required=False, help_text="`name@version`; the active profile if it is left out."
    )


class RunViewSet(ReadViewSet[EvaluationRun]):
    """Measurements, newest first."""

    serializer_class = RunSerializer
    lookup_url_kwarg = "run"
    queryset = EvaluationRun.objects.select_related("profile", "baseline", "user").defer("by_query")

    def get_serializer_class(self) -> Any:
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    @extend_schema(request=NewRunSerializer, responses={202: RunSerializer})
    def create(self, request: Request) -> Response:
        """Measure a profile on the golden queries.

        A worker measures it; ask `runs/ID/` until its `state` is `done`, `failed` or `cancelled`.
        """
        data = read_body(request, NewRunSerializer).validated_data
        rows = visible_profiles(request.user)
        profile = named_profile(data["profile"], rows)
        baseline = named_profile(data["baseline"], rows) if "baseline" in data else None
        if baseline == profile:
            raise serializers.ValidationError({"baseline": ["It is the profile itself."]})
        run = golden_runs.start(profile, acting_user=actor(request), baseline=baseline)
        return self.respond(run, status.HTTP_202_ACCEPTED)

    @extend_schema(request=CancelSerializer)
    def partial_update(self, request: Request, run: int) -> Response:
        """Stop a run."""
        read_body(request, CancelSerializer)
        row = self.get_object()
        golden_runs.cancel(row)
        return self.respond(row)
