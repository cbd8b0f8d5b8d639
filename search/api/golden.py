"""Golden queries over HTTP, and what people judged of each."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_choices import ChoiceField
from ingestion.api_requests import ActionPermission, actor, asked, posted
from ingestion.models import Document
from ingestion.paging import PageParameters, Pages, Parameters
from search.api.serializers import (
    CLASSES,
    GoldenQuerySerializer,
    GradeSerializer,
    JudgementSerializer,
    SlugsField,
    shown_queries,
)
from search.errors import RunConflict
from search.query.expand import fold_query
from search.tuning.golden import judging, queries
from search.tuning.models import GoldenQuery, Judgement


class GoldenQueryEditSerializer(Parameters):
    """A golden query as it should be."""

    text = serializers.CharField(max_length=500, required=False)
    collections = SlugsField(
        required=False, max_length=50, help_text="Slugs that it is asked in; empty: all."
    )
    query_class = ChoiceField(CLASSES, required=False, allow_blank=True)
    must_be_first = serializers.UUIDField(
        required=False, allow_null=True, help_text="A document, or null for none."
    )
    enabled = serializers.BooleanField(required=False)
    note = serializers.CharField(required=False, allow_blank=True)


class QueryParameters(PageParameters):
    """Which golden queries."""

    q = serializers.CharField(required=False, help_text="Words of the question.")
    query_class = ChoiceField(CLASSES, required=False)
    enabled = serializers.BooleanField(required=False, allow_null=True, default=None)


class GoldenQueryViewSet(GenericViewSet[GoldenQuery]):
    """The golden queries asked in collections that you may read."""

    serializer_class = GoldenQuerySerializer
    pagination_class = Pages
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "tuning.view_goldenquery",
        "retrieve": "tuning.view_goldenquery",
        "create": "tuning.add_goldenquery",
        "partial_update": "tuning.change_goldenquery",
        "destroy": "tuning.delete_goldenquery",
        "judgements": "tuning.view_judgement",
        "judge": "tuning.add_judgement",
        "clear": "tuning.add_judgement",
    }

    def get_queryset(self) -> QuerySet[GoldenQuery]:
        return queries.listed(self.request.user)

    def get_object(self) -> GoldenQuery:
        return get_object_or_404(self.get_queryset(), public_id=self.kwargs["golden"])

    @extend_schema(
        operation_id="golden_list", summary="List golden queries", parameters=[QueryParameters]
    )
    def list(self, request: Request) -> Response:
        given, rows = asked(request, QueryParameters).validated_data, self.get_queryset()
        if "q" in given:
            rows = rows.filter(folded__contains=fold_query(given["q"]))
        if "query_class" in given:
            rows = rows.filter(query_class=given["query_class"])
        if given["enabled"] is not None:
            rows = rows.filter(enabled=given["enabled"])
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(shown_queries(page or [], request))

    @extend_schema(operation_id="golden_show", summary="Show a golden query")
    def retrieve(self, request: Request, golden: str) -> Response:
        return Response(self._one(self.get_object()))

    @extend_schema(
        operation_id="golden_create",
        summary="Make a golden query",
        request=GoldenQueryEditSerializer,
        responses={201: GoldenQuerySerializer},
    )
    def create(self, request: Request) -> Response:
        form = posted(request, GoldenQueryEditSerializer)
        fields = self._fields(form)
        text, collections = fields.get("text", ""), fields.get("collections", [])
        made = queries.create(text, collections, fields, acting_user=actor(request))
        return Response(self._one(made), status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="golden_edit",
        summary="Edit a golden query",
        request=GoldenQueryEditSerializer,
        responses=GoldenQuerySerializer,
    )
    def partial_update(self, request: Request, golden: str) -> Response:
        query = self.get_object()
        form = posted(request, GoldenQueryEditSerializer)
        done = queries.edit(query, self._fields(form), acting_user=actor(request))
        return Response(self._one(done))

    @extend_schema(
        operation_id="golden_delete",
        summary="Delete a golden query that nobody has judged",
        responses={204: None},
    )
    def destroy(self, request: Request, golden: str) -> Response:
        query = self.get_object()
        if query.judgements.exists():
            raise RunConflict("It has judgements, and none is lost. Set `enabled` to false.")
        queries.delete(query)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="golden_judgements",
        summary="The judgements of a golden query",
        parameters=[PageParameters],
        responses=JudgementSerializer(many=True),
    )
    def judgements(self, request: Request, golden: str) -> Response:
        rows = Judgement.objects.visible_to(request.user).filter(query=self.get_object())
        page: Any = self.paginate_queryset(rows.select_related("query"))  # type: ignore[arg-type]
        return self.get_paginated_response(JudgementSerializer(page, many=True).data)

    @extend_schema(
        operation_id="golden_judge",
        summary="Judge a document",
        description="Your own judgement of it, made or changed.",
        request=GradeSerializer,
        responses=JudgementSerializer,
    )
    def judge(self, request: Request, golden: str, public_id: str) -> Response:
        query, document = self.get_object(), self._document(public_id)
        given = posted(request, GradeSerializer).validated_data
        judgement = judging.judge(
            query.text,
            query.collections,
            document,
            given["grade"],
            note=given.get("note"),
            acting_user=actor(request),
        )
        return Response(JudgementSerializer(judgement).data)

    @extend_schema(
        operation_id="golden_judgement_clear",
        summary="Take your judgement of a document back",
        responses={204: None},
    )
    def clear(self, request: Request, golden: str, public_id: str) -> Response:
        query, document = self.get_object(), self._document(public_id)
        judging.clear(query, document, acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _document(self, public_id: str) -> Document:
        return get_object_or_404(
            Document.objects.visible_to(self.request.user), public_id=public_id
        )

    def _fields(self, form: GoldenQueryEditSerializer) -> dict[str, Any]:
        fields = dict(form.validated_data)
        if fields.get("must_be_first") is not None:
            fields["must_be_first"] = self._document(fields["must_be_first"])
        return fields

    def _one(self, query: GoldenQuery) -> Any:
        return shown_queries([self.get_queryset().get(pk=query.pk)], self.request)[0]
