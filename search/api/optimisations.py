"""The search for better weights over HTTP; and judgements to start with where there are none."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_choices import ChoiceField
from ingestion.api_requests import ActionPermission, actor, posted
from ingestion.paging import PageParameters, Parameters
from search.api.naming import SEE_DRAFTS, named_profile, published, visible_profiles
from search.api.reading import ReadViewSet
from search.api.serializers import ProfileNameSerializer
from search.domain import QueryClass, Signal
from search.errors import NotPermitted
from search.tuning.golden import from_clicks, synthetic
from search.tuning.models import GoldenQuery, Judgement, Optimisation
from search.tuning.optimiser import optimisations
from search.tuning.optimiser.optimisations import MAX_FOLDS, MEASURES, PRESETS, WEIGHTS, Options
from search.tuning.optimiser.weight_search import FOLDS

CHANGE = "search.change_searchprofile"
JUDGE, SEARCHES = "tuning.add_judgement", "analytics.view_searchevent"
FOUND = {
    "verdict": "What to make of it, in a sentence.",
    "reliable": "Whether the interval of the gain lies above 0.",
    "gain": "On questions set aside: mean, low and high of the 95% interval.",
    "classes": "For each class: its questions, its weights before and after, its gain.",
}


class OptimisationSerializer(serializers.ModelSerializer[Optimisation]):
    """A search for better weights. `found` is empty until its `state` is `done`."""

    profile = ProfileNameSerializer()
    draft = ProfileNameSerializer(allow_null=True)
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    options = serializers.DictField()
    found = serializers.DictField(
        help_text=" ".join(f"`{name}`: {said}" for name, said in FOUND.items())
    )

    class Meta:
        model = Optimisation
        fields = (
            "id", "state", "progress", "error", "profile", "options", "found", "draft", "user",
            "created", "finished",
        )  # fmt: skip
        read_only_fields = fields


class NewOptimisationSerializer(Parameters):
    """What to look for; what is left out is as in the admin."""

    profile = serializers.CharField(help_text="`name@version`; drafts as well.")
    kind = ChoiceField(
        (WEIGHTS, PRESETS), default=WEIGHTS, help_text="`presets` compares the shipped profiles."
    )
    measure = ChoiceField(MEASURES, default=MEASURES[0])
    classes = serializers.ListField(
        child=ChoiceField([each.value for each in QueryClass]), required=False
    )
    signals = serializers.ListField(
        child=ChoiceField([each.value for each in Signal]), required=False
    )
    origins = serializers.ListField(
        child=ChoiceField(GoldenQuery.Origin.values),
        required=False,
        help_text="Left out: people's and imported ones, synthetic ones where there are no others.",
    )
    normalisers = serializers.BooleanField(default=True)
    folds = serializers.IntegerField(min_value=2, max_value=MAX_FOLDS, default=FOLDS)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)


class DraftSerializer(Parameters):
    """Which of the compared profiles; for better weights nothing is to be said."""

    preset = serializers.CharField(required=False, help_text="`name@version`.")


class SyntheticSerializer(Parameters):
    count = serializers.IntegerField(
        min_value=1, max_value=synthetic.MAX_COUNT, default=synthetic.COUNT
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)


class SyntheticMadeSerializer(serializers.Serializer[synthetic.Made]):
    queries = serializers.IntegerField(help_text="New ones.")
    already = serializers.IntegerField(help_text="Golden queries already.")


class LearnedSerializer(serializers.Serializer[dict[str, int]]):
    judgements = serializers.IntegerField(help_text="Documents judged by what searchers did.")


@extend_schema_view(
    list=extend_schema(summary="List searches for better weights", parameters=[PageParameters]),
    retrieve=extend_schema(summary="Show a search for better weights"),
)
class OptimisationViewSet(ReadViewSet[Optimisation]):
    """Searches for better weights, newest first."""

    serializer_class = OptimisationSerializer
    lookup_url_kwarg = "optimisation"
    queryset = Optimisation.objects.select_related("profile", "draft", "user")
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": SEE_DRAFTS,
        "retrieve": SEE_DRAFTS,
        "create": CHANGE,
        "cancel": CHANGE,
        "draft": CHANGE,
    }

    @extend_schema(
        operation_id="optimisation_start",
        summary="Find better weights",
        description="A worker looks for them; ask for `tuning/optimisations/ID/` until its `state` "
        "is `done`, `failed` or `cancelled`. A reliable gain on people's judgements becomes a "
        "draft by itself; nothing is published.",
        request=NewOptimisationSerializer,
        responses={202: OptimisationSerializer},
    )
    def create(self, request: Request) -> Response:
        given = dict(posted(request, NewOptimisationSerializer).validated_data)
        profile = named_profile(given.pop("profile"), visible_profiles(request.user))
        row = optimisations.start(profile, Options.from_json(given), acting_user=actor(request))
        return Response(OptimisationSerializer(row).data, status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="optimisation_cancel",
        summary="Stop a search for better weights",
        request=None,
        responses=OptimisationSerializer,
    )
    def cancel(self, request: Request, optimisation: int) -> Response:
        row = self.get_object()
        optimisations.cancel(row, acting_user=actor(request))
        return Response(OptimisationSerializer(row).data)

    @extend_schema(
        operation_id="optimisation_draft",
        summary="Make a draft of what was found",
        description="Also where the gain is not reliable: the draft then says so.",
        request=DraftSerializer,
        responses={201: OptimisationSerializer},
    )
    def draft(self, request: Request, optimisation: int) -> Response:
        row = self.get_object()
        key = posted(request, DraftSerializer).validated_data.get("preset")
        preset = named_profile(key, published()) if key else None
        optimisations.make_draft(row, acting_user=actor(request), preset=preset)
        return Response(OptimisationSerializer(self.get_object()).data, status.HTTP_201_CREATED)


class StartingViewSet(GenericViewSet[Judgement]):
    """Judgements to start with: of headings and first sentences, and of what searchers did."""

    queryset = Judgement.objects.none()
    serializer_class = SyntheticSerializer
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {
        "make_synthetic": "tuning.add_goldenquery",
        "remove_synthetic": "tuning.delete_goldenquery",
        "learn": JUDGE,
        "take_back": JUDGE,
    }

    @extend_schema(
        operation_id="synthetic_make",
        summary="Make synthetic golden queries",
        description="Of headings and first sentences of documents that you may read. They are "
        "marked as synthetic, and the same seed makes the same ones.",
        request=SyntheticSerializer,
        responses={201: SyntheticMadeSerializer},
    )
    def make_synthetic(self, request: Request) -> Response:
        given = posted(request, SyntheticSerializer).validated_data
        made = synthetic.make(given["count"], seed=given["seed"], acting_user=actor(request))
        return Response(SyntheticMadeSerializer(made).data, status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="synthetic_remove",
        summary="Remove all synthetic golden queries",
        description="Those that people have judged meanwhile stay, as theirs.",
        responses={204: None},
    )
    def remove_synthetic(self, request: Request) -> Response:
        synthetic.remove(acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="clicks_learn",
        summary="Make judgements of what searchers did",
        description="Of searches and documents that you may see, where several visitors agree.",
        request=None,
        responses=LearnedSerializer,
    )
    def learn(self, request: Request) -> Response:
        self._check_searches(request)
        return Response({"judgements": from_clicks.learn(acting_user=actor(request))})

    @extend_schema(
        operation_id="clicks_take_back",
        summary="Remove the judgements made of what searchers did",
        responses={204: None},
    )
    def take_back(self, request: Request) -> Response:
        self._check_searches(request)
        from_clicks.take_back()
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _check_searches(self, request: Request) -> None:
        """What people asked is theirs: to judge is not enough."""
        if not request.user.has_perm(SEARCHES):
            raise NotPermitted("You do not have permission to see what was searched for.")
