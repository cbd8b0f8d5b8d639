"""The learned classifier over HTTP: train a version, read its figures, put it in use."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.requests import actor, read_body
from common.api.serializers import Parameters
from common.api.viewsets import ReadViewSet
from search.models import LearnedClassifier
from search.query.learned import THRESHOLD
from search.tuning.golden import learning


class TrainSerializer(Parameters):
    """How sure the classifier must be to decide."""

    noun = "field"

    threshold = serializers.FloatField(min_value=0, max_value=1, default=THRESHOLD)


class LearnedClassifierSerializer(serializers.ModelSerializer[LearnedClassifier]):
    """A version of the learned classifier, with the figures of its cross-validation.

    `measures` are numbers of queries: right by the `rules`, `learned` (the model alone) and `both`;
    `thresholds` are over those that no rule matches.
    """

    class Meta:
        model = LearnedClassifier
        fields = ("version", "in_use", "threshold", "queries", "measures", "created")
        read_only_fields = fields


class LearnedClassifierViewSet(ReadViewSet[LearnedClassifier]):
    """Classifiers learned from the golden queries' classes, newest first.

    The one in use classifies questions that no rule matches.
    """

    serializer_class = LearnedClassifierSerializer
    lookup_field = "version"
    lookup_value_converter = "int"
    queryset = LearnedClassifier.objects.defer("model")

    @extend_schema(request=TrainSerializer, responses={201: LearnedClassifierSerializer})
    @requires(learning.TRAIN)
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Train the next version from the golden queries that have a class.

        It is not in use yet. 400 with fewer than ten queries of a class.
        """
        given = read_body(request, TrainSerializer).validated_data
        row = learning.learn(acting_user=actor(request), threshold=given["threshold"])
        return self.shown(row, status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=LearnedClassifierSerializer)
    @action(detail=True, methods=["post"])
    @requires(learning.USE)
    def use(self, request: Request, version: int) -> Response:
        """Put a version in use from the next search."""
        return self.shown(learning.use(self.get_object(), acting_user=actor(request)))

    @extend_schema(request=None, responses=LearnedClassifierSerializer)
    @action(detail=True, methods=["post"])
    @requires(learning.USE)
    def stop(self, request: Request, version: int) -> Response:
        """Take a version out of use."""
        return self.shown(learning.stop(self.get_object(), acting_user=actor(request)))
