"""Golden queries and judgements over HTTP: read, change, import and export."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.errors import Conflict
from common.api.requests import actor, read_body
from common.api.serializers import ChoiceField, CleanSerializer, FileField, Parameters, Strict
from common.api.views import AnyNegotiation, reads
from common.api.viewsets import EditableViewSet, ListParameters, ReadViewSet
from ingestion.api.documents import UploadParser
from ingestion.api.serializers import DocumentIdField
from search.query import MAX_QUERY_CHARS
from search.query.query_key import fold_query, query_key
from search.tuning import golden_import_export as exchange
from search.tuning import golden_queries as golden
from search.tuning import judging
from search.tuning.api.curated import ClassListParameters
from search.tuning.api.profile_serializers import CLASSES
from search.tuning.golden_file_formats import FORMATS
from search.tuning.models import GoldenQuery, Judgement

MEDIA_TYPES = {(200, each.media_type): OpenApiTypes.BINARY for each in FORMATS.values()}


class SlugsField(serializers.ListField):
    """Slugs of collections."""

    child = serializers.CharField(max_length=120)


class FirstDocumentField(DocumentIdField):
    """The must-be-first document; null, too, where the reader may not see it."""

    def get_attribute(self, instance: Any) -> Any:
        return instance.first_visible

    def to_representation(self, value: Any) -> str:
        return str(value)


class GoldenQuerySerializer(CleanSerializer[GoldenQuery]):
    """A question with judged documents. `text` is the `query` under its name of 0.2."""

    old_names = MappingProxyType({"text": "query"})

    id = serializers.UUIDField(source="public_id", read_only=True)
    query = serializers.CharField(source="text", max_length=MAX_QUERY_CHARS)
    text = serializers.CharField(read_only=True)
    collections = SlugsField(
        required=False, max_length=50, help_text="Slugs of the collections to search; empty: all."
    )
    query_class = ChoiceField(CLASSES, required=False, allow_blank=True)
    must_be_first = FirstDocumentField(
        required=False, allow_null=True, help_text="A document, or null for none."
    )
    judged = serializers.IntegerField(read_only=True, help_text="Documents that anyone has judged.")
    judges = serializers.IntegerField(read_only=True)
    spread = serializers.IntegerField(
        read_only=True,
        allow_null=True,
        help_text="The largest difference between grades of one document: 0 to 3.",
    )

    class Meta:
        model = GoldenQuery
        fields = (
            "id", "query", "text", "collections", "query_class", "must_be_first",
            "enabled", "note", "judged", "judges", "spread", "created",
        )  # fmt: skip
        read_only_fields = ("created",)

    def prepare(self, row: GoldenQuery) -> None:
        row.folded, row.collections = query_key(row.text), judging.sorted_slugs(row.collections)


class JudgementSerializer(serializers.ModelSerializer[Judgement]):
    """One person's grade of a document as an answer to a golden query.

    In 0.4 `query` becomes the text of the query, and `golden_query` alone its id.
    """

    golden_query = serializers.UUIDField(source="query.public_id")
    query = serializers.UUIDField(source="query.public_id")
    query_text = serializers.CharField(source="query.text")
    document = serializers.UUIDField(source="reference")
    judge = serializers.CharField(source="judge_name")

    class Meta:
        model = Judgement
        fields = (
            "id", "golden_query", "query", "query_text", "document", "title", "grade", "judge",
            "note", "updated",
        )  # fmt: skip
        read_only_fields = fields


class NewJudgementSerializer(Parameters):
    """A grade of a document for a query, which need not be a golden query yet."""

    needs_request = True
    query = serializers.CharField(max_length=MAX_QUERY_CHARS)
    collections = SlugsField(default=list, max_length=50)
    document = DocumentIdField(help_text="Its id.")
    grade = serializers.IntegerField(
        min_value=0, max_value=3, help_text="0 no answer, 1 related, 2 answers, 3 answers in full."
    )
    note = serializers.CharField(required=False, allow_blank=True)


class ExportParameters(Parameters):
    """The file format."""

    to = ChoiceField(list(FORMATS), default="csv")


class JudgementFileSerializer(Strict, serializers.Serializer[Any]):
    """A file of judgements."""

    file = FileField()
    queries = FileField(required=False, help_text="BEIR's queries.jsonl, if `file` is not a ZIP.")
    file_format = ChoiceField(list(FORMATS), default="csv")
    judge = serializers.CharField(
        required=False, default="", max_length=150, help_text="Where the file does not say."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "queries" in attrs and attrs["file_format"] != "beir":
            raise serializers.ValidationError(
                {"queries": ["Only BEIR has them in a file of their own."]}
            )
        return attrs


class ImportedSerializer(serializers.Serializer[Any]):
    """The results of importing a file's lines."""

    judgements = serializers.IntegerField()
    queries = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    problems = serializers.ListField(child=serializers.CharField())


class GoldenListParameters(ClassListParameters):
    """Filters of golden queries."""

    old_names = MappingProxyType({"q": "query"})

    query = serializers.CharField(
        required=False, max_length=MAX_QUERY_CHARS, help_text="Words of the question."
    )

    def filter_query(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(folded__contains=fold_query(value))


class GoldenQueryViewSet(EditableViewSet[GoldenQuery]):
    """The golden queries of collections that you may read. Judged ones cannot be deleted."""

    serializer_class = GoldenQuerySerializer
    error_statuses = (404,)
    list_parameters = GoldenListParameters
    lookup_field = "public_id"
    lookup_url_kwarg = "golden"
    lookup_value_converter = "uuid"
    queryset = GoldenQuery.objects.none()

    def get_queryset(self) -> QuerySet[GoldenQuery]:
        return golden.listed(self.request.user)

    def save(self, form: Any) -> Iterable[str]:
        fields, user = form.validated_data, actor(self.request)
        if form.instance is None:
            text, collections = fields.get("text", ""), fields.get("collections", [])
            form.row = golden.create(text, collections, fields, acting_user=user)
        else:
            golden.edit(form.instance, fields, acting_user=user)
        return ()

    def remove(self, row: GoldenQuery) -> None:
        golden.delete(row)


class JudgementListParameters(ListParameters):
    """Filters of judgements."""

    old_names = MappingProxyType({"query": "golden_query"})

    golden_query = serializers.SlugRelatedField(
        source="query",
        slug_field="public_id",
        queryset=GoldenQuery.objects.all(),
        required=False,
        help_text="A golden query's id.",
    )
    document = DocumentIdField(required=False, help_text="A document's id.")
    judge = serializers.CharField(source="judge_name", required=False, max_length=150)


class JudgementViewSet(ReadViewSet[Judgement]):
    """Judgements of documents that you may read."""

    serializer_class = JudgementSerializer
    error_statuses = (404,)
    list_parameters = JudgementListParameters
    queryset = Judgement.objects.select_related("query").order_by("-updated", "-pk")

    @extend_schema(request=NewJudgementSerializer, responses={200: JudgementSerializer})
    def create(self, request: Request) -> Response:
        """Judge a document for any query.

        Creates or changes your own judgement; the query becomes a golden query if it is not one.
        """
        data = read_body(request, NewJudgementSerializer).validated_data
        judgement = judging.judge(
            data["query"],
            data["collections"],
            data["document"],
            data["grade"],
            note=data.get("note"),
            acting_user=actor(request),
        )
        return self.respond(judgement)

    @requires("tuning.add_judgement")
    def destroy(self, request: Request, pk: int) -> Response:
        """Take a judgement of yours back."""
        own = get_object_or_404(self.get_queryset(), pk=pk, judge=request.user.pk)
        if own.document is None:
            raise Conflict("Its document was deleted: the judgement stays with the golden query.")
        judging.clear(own.query, own.document, acting_user=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses=MEDIA_TYPES)
    @action(
        detail=False,
        url_path="file",
        content_negotiation_class=AnyNegotiation,
        parser_classes=[UploadParser],
        body=JudgementFileSerializer,
    )
    @requires("tuning.view_judgement")
    @reads(ExportParameters)
    def export(self, request: Request) -> HttpResponse:
        """Download judgements as a file."""
        to = self.parameters.validated_data["to"]
        chosen, content = exchange.export(to, viewer=request.user)
        return HttpResponse(
            content,
            content_type=chosen.media_type,
            headers={"Content-Disposition": f'attachment; filename="{chosen.file_name}"'},
        )

    @extend_schema(responses=ImportedSerializer)
    @export.mapping.post
    @requires("tuning.add_goldenquery")
    def import_file(self, request: Request) -> Response:
        """Import judgements from a file."""
        data = read_body(request, JudgementFileSerializer).validated_data
        done = exchange.import_file(
            data["file_format"],
            data["file"].read(),
            queries=data["queries"].read() if "queries" in data else None,
            judge=data["judge"],
            acting_user=actor(request),
        )
        return Response(ImportedSerializer(done).data)
