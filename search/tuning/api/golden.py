"""Golden queries and judgements over HTTP: create, change, compare, import and export."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext
from django_filters import filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.requests import actor, read_body, read_query
from common.api.viewsets import ApiViewSet, ChoicesFilter, FilterSet, ReadViewSet
from ingestion.api.documents import UploadParser
from ingestion.models import Document
from search.errors import RunConflict
from search.models import QUERY_CLASSES
from search.query.expand import fold_query
from search.tuning.api.golden_serializers import (
    AgreementSerializer,
    ExportParameters,
    GoldenQueryEditSerializer,
    GoldenQuerySerializer,
    GradeSerializer,
    ImportedSerializer,
    JudgementFileSerializer,
    JudgementSerializer,
    NewJudgementSerializer,
    UndoneSerializer,
    shown_queries,
)
from search.tuning.golden import exchange, judging, queries
from search.tuning.golden.formats import FORMATS
from search.tuning.models import GoldenQuery, Judgement

JUDGE = "tuning.add_judgement"
MEDIA_TYPES = {(200, each.media_type): OpenApiTypes.BINARY for each in FORMATS.values()}
ADD, VIEW = "tuning.add_goldenquery", "tuning.view_judgement"


class GoldenQueryFilter(FilterSet):  # type: ignore[misc]
    """Filters of golden queries."""

    q = filters.CharFilter(method="with_words", help_text="Words of the question.")
    query_class = ChoicesFilter(choices=QUERY_CLASSES, help_text="May be repeated.")
    enabled = filters.BooleanFilter()

    def with_words(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return rows.filter(folded__contains=fold_query(value))


class GoldenQueryViewSet(ReadViewSet[GoldenQuery]):
    """The golden queries of collections that you may read."""

    serializer_class = GoldenQuerySerializer
    error_statuses = (404,)
    filterset_class = GoldenQueryFilter
    lookup_field = "public_id"
    lookup_url_kwarg = "golden"
    lookup_value_converter = "uuid"
    queryset = GoldenQuery.objects.none()

    def get_queryset(self) -> QuerySet[GoldenQuery]:
        return queries.listed(self.request.user)

    def list(self, request: Request) -> Response:
        rows: Any = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(shown_queries(rows, request))

    def retrieve(self, request: Request, golden: str) -> Response:
        return self._one(self.get_object())

    @extend_schema(request=GoldenQueryEditSerializer, responses={201: GoldenQuerySerializer})
    def create(self, request: Request) -> Response:
        fields = self._fields(read_body(request, GoldenQueryEditSerializer))
        text, collections = fields.get("text", ""), fields.get("collections", [])
        golden = queries.create(text, collections, fields, acting_user=actor(request))
        return self._one(golden, status.HTTP_201_CREATED)

    @extend_schema(request=GoldenQueryEditSerializer)
    def partial_update(self, request: Request, golden: str) -> Response:
        query = self.get_object()
        fields = self._fields(read_body(request, GoldenQueryEditSerializer))
        return self._one(queries.edit(query, fields, acting_user=actor(request)))

    def destroy(self, request: Request, golden: str) -> Response:
        """Delete a golden query that nobody has judged."""
        query = self.get_object()
        if query.judgements.exists():
            raise RunConflict(
                gettext(
                    "It has judgements, which are never deleted. Set `enabled` to false instead."
                )
            )
        queries.delete(query)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _fields(self, form: GoldenQueryEditSerializer) -> dict[str, Any]:
        fields = dict(form.validated_data)
        if fields.get("must_be_first") is not None:
            readable = Document.objects.visible_to(self.request.user)
            fields["must_be_first"] = get_object_or_404(readable, public_id=fields["must_be_first"])
        return fields

    def _one(self, query: GoldenQuery, code: int = status.HTTP_200_OK) -> Response:
        row = self.get_queryset().get(pk=query.pk)
        return Response(shown_queries([row], self.request)[0], code)


class OwnJudgementViewSet(mixins.ListModelMixin, ApiViewSet[Judgement]):
    """The judgements of one golden query. You can add and withdraw your own."""

    serializer_class = JudgementSerializer
    lookup_url_kwarg = "public_id"
    lookup_value_converter = "uuid"
    queryset = Judgement.objects.none()

    def query(self) -> GoldenQuery:
        rows = queries.listed(self.request.user)
        return get_object_or_404(rows, public_id=self.kwargs["golden"])

    def document(self) -> Document:
        readable = Document.objects.visible_to(self.request.user)
        return get_object_or_404(readable, public_id=self.kwargs["public_id"])

    def get_queryset(self) -> QuerySet[Judgement]:
        rows = Judgement.objects.visible_to(self.request.user).filter(query=self.query())
        return rows.select_related("query")

    @extend_schema(request=GradeSerializer)
    @requires(JUDGE)
    def update(self, request: Request, golden: str, public_id: str) -> Response:
        """Judge a document.

        Creates or changes your own judgement of it.
        """
        query, document = self.query(), self.document()
        given = read_body(request, GradeSerializer).validated_data
        judgement = judging.judge(
            query.text,
            query.collections,
            document,
            given["grade"],
            note=given.get("note"),
            acting_user=actor(request),
        )
        return self.shown(judgement)

    @requires(JUDGE)
    def destroy(self, request: Request, golden: str, public_id: str) -> Response:
        """Withdraw your judgement of a document."""
        judging.clear(self.query(), self.document(), acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class JudgementViewSet(mixins.ListModelMixin, ApiViewSet[Judgement]):
    """Judgements of documents that you may read."""

    serializer_class = JudgementSerializer
    error_statuses = (404,)
    queryset = Judgement.objects.none()

    def get_queryset(self) -> QuerySet[Judgement]:
        rows = Judgement.objects.visible_to(self.request.user).select_related("query")
        return rows.order_by("-updated", "-pk")

    @extend_schema(request=NewJudgementSerializer, responses={200: JudgementSerializer})
    def create(self, request: Request) -> Response:
        """Judge a document for any query.

        The query becomes a golden query if it is not one yet.
        """
        given = read_body(request, NewJudgementSerializer).validated_data
        documents = Document.objects.visible_to(request.user)
        judgement = judging.judge(
            given["query"],
            given["collections"],
            get_object_or_404(documents, public_id=given["document"]),
            given["grade"],
            note=given.get("note"),
            acting_user=actor(request),
        )
        return self.shown(judgement)

    @extend_schema(responses=UndoneSerializer)
    @action(detail=False, methods=["post"])
    @requires(JUDGE)
    def undo(self, request: Request) -> Response:
        """Undo your last action."""
        done = judging.undo(acting_user=actor(request))
        message = done.message if done else gettext("There is nothing to undo.")
        return Response({"undone": done is not None, "message": message})

    @extend_schema(responses=AgreementSerializer)
    @action(detail=False)
    @requires(VIEW)
    def agreement(self, request: Request) -> Response:
        """Show the agreement of judges."""
        differing: Any = queries.listed(request.user)
        differing = differing.filter(spread__gt=0).order_by("-spread", "folded")
        shown = shown_queries(list(differing[:100]), request)
        return Response({"alpha": judging.agreement(request.user), "queries": shown})

    @extend_schema(
        parameters=[ExportParameters],
        responses=MEDIA_TYPES,
    )
    @action(detail=False)
    @requires(VIEW)
    def export(self, request: Request) -> HttpResponse:
        """Download judgements as a file."""
        to = read_query(request, ExportParameters).validated_data["to"]
        export = exchange.export(to, viewer=request.user)
        return HttpResponse(
            export.content,
            content_type=export.media_type,
            headers={"Content-Disposition": f'attachment; filename="{export.file_name}"'},
        )

    @extend_schema(request=JudgementFileSerializer, responses=ImportedSerializer)
    @action(detail=False, methods=["post"], url_path="import", parser_classes=[UploadParser])
    @requires(ADD)
    def import_file(self, request: Request) -> Response:
        """Import judgements from a file."""
        given = read_body(request, JudgementFileSerializer).validated_data
        done = exchange.import_file(
            given["file_format"],
            given["file"].read(),
            queries=given["queries"].read() if "queries" in given else None,
            judge=given["judge"],
            acting_user=actor(request),
        )
        return Response(ImportedSerializer(done).data)
