"""Golden queries and judgements over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.generics import get_object_or_404
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api import ActionPermission
from ingestion.models import Document
from ingestion.paging import PageParameters, Pages, Parameters
from search.api.serializers import CLASSES
from search.errors import RunConflict
from search.models import GoldenQuery, Judgement
from search.query.expand import fold_query
from search.tuning import exchange, judging
from search.tuning.formats import FORMATS


class SlugsField(serializers.ListField):
    """Slugs of collections."""

    child = serializers.CharField(max_length=120)


class GoldenQuerySerializer(serializers.ModelSerializer[GoldenQuery]):
    """A question whose good answers people have named."""

    id = serializers.UUIDField(source="public_id")
    query_class = serializers.ChoiceField(CLASSES, allow_blank=True)
    must_be_first = serializers.SerializerMethodField()
    judged = serializers.IntegerField(help_text="Documents that anyone has judged.")
    judges = serializers.IntegerField()
    spread = serializers.IntegerField(
        allow_null=True, help_text="How far the grades of one document lie apart: 0 to 3."
    )

    class Meta:
        model = GoldenQuery
        fields = (
            "id", "text", "collections", "query_class", "origin", "must_be_first", "enabled",
            "note", "judged", "judges", "spread", "created",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field({"type": "string", "format": "uuid", "nullable": True})
    def get_must_be_first(self, query: GoldenQuery) -> str | None:
        seen = self.context["seen"].get(query.must_be_first_id)
        return str(seen) if seen else None


class GoldenQueryEditSerializer(Parameters):
    """A golden query as it should be."""

    text = serializers.CharField(max_length=500, required=False)
    collections = SlugsField(
        required=False, max_length=50, help_text="Slugs that it is asked in; empty: all."
    )
    query_class = serializers.ChoiceField(CLASSES, required=False, allow_blank=True)
    must_be_first = serializers.UUIDField(
        required=False, allow_null=True, help_text="A document, or null for none."
    )
    enabled = serializers.BooleanField(required=False)
    note = serializers.CharField(required=False, allow_blank=True)


class JudgementSerializer(serializers.ModelSerializer[Judgement]):
    """What one person thinks of one document as an answer to a golden query."""

    query = serializers.UUIDField(source="query.public_id")
    query_text = serializers.CharField(source="query.text")
    document = serializers.UUIDField(source="reference")
    judge = serializers.CharField(source="judge_name")

    class Meta:
        model = Judgement
        fields = (
            "query", "query_text", "document", "title", "grade", "judge", "note", "updated",
        )  # fmt: skip
        read_only_fields = fields


class GradeSerializer(Parameters):
    """A grade: 0 no answer, 1 touches it, 2 answers, 3 answers in full."""

    grade = serializers.IntegerField(min_value=0, max_value=3)
    note = serializers.CharField(required=False, allow_blank=True)


class NewJudgementSerializer(GradeSerializer):
    """A judgement of a query that need not be a golden query yet."""

    query = serializers.CharField(max_length=500)
    collections = SlugsField(default=list, max_length=50)
    document = serializers.UUIDField()


class UndoneSerializer(serializers.Serializer[Any]):
    """What was taken back; `undone` false: there was nothing."""

    undone = serializers.BooleanField()
    message = serializers.CharField()


class AgreementSerializer(serializers.Serializer[Any]):
    """Where judges differ, the furthest first, and Krippendorff's alpha over all."""

    alpha = serializers.FloatField(allow_null=True)
    queries = GoldenQuerySerializer(many=True)


class ExportParameters(Parameters):
    """The file format."""

    to = serializers.ChoiceField(list(FORMATS), default="csv")


class ImportSerializer(serializers.Serializer[Any]):
    """A file of judgements."""

    file = serializers.FileField()
    queries = serializers.FileField(
        required=False, help_text="TREC's topics or BEIR's queries.jsonl, if `file` is no ZIP."
    )
    file_format = serializers.ChoiceField(list(FORMATS), default="csv")
    judge = serializers.CharField(
        required=False, default="", max_length=150, help_text="Where the file does not say."
    )


class ImportedSerializer(serializers.Serializer[Any]):
    """What became of a file's lines."""

    judgements = serializers.IntegerField()
    queries = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    problems = serializers.ListField(child=serializers.CharField())


class QueryParameters(PageParameters):
    """Which golden queries."""

    q = serializers.CharField(required=False, help_text="Words of the question.")
    query_class = serializers.ChoiceField(CLASSES, required=False)
    enabled = serializers.BooleanField(required=False, allow_null=True, default=None)


class GoldenQueryViewSet(GenericViewSet[GoldenQuery]):
    """The golden queries asked in collections that you may read."""

    serializer_class = GoldenQuerySerializer
    pagination_class = Pages
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "search.view_goldenquery",
        "retrieve": "search.view_goldenquery",
        "create": "search.add_goldenquery",
        "partial_update": "search.change_goldenquery",
        "destroy": "search.delete_goldenquery",
        "judgements": "search.view_judgement",
        "judge": "search.add_judgement",
        "clear": "search.add_judgement",
    }

    def get_queryset(self) -> QuerySet[GoldenQuery]:
        return judging.listed(self.request.user)

    def get_object(self) -> GoldenQuery:
        return get_object_or_404(self.get_queryset(), public_id=self.kwargs["golden"])

    @extend_schema(
        operation_id="golden_list", summary="List golden queries", parameters=[QueryParameters]
    )
    def list(self, request: Request) -> Response:
        parameters = QueryParameters(data=request.query_params)
        parameters.is_valid(raise_exception=True)
        given, rows = parameters.validated_data, self.get_queryset()
        if "q" in given:
            rows = rows.filter(folded__contains=fold_query(given["q"]))
        if "query_class" in given:
            rows = rows.filter(query_class=given["query_class"])
        if given["enabled"] is not None:
            rows = rows.filter(enabled=given["enabled"])
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(shown(page or [], request))

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
        form = GoldenQueryEditSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields = self._fields(form)
        text, collections = fields.get("text", ""), fields.get("collections", [])
        made = judging.create_query(text, collections, fields, acting_user=request.user)  # type: ignore[arg-type]
        return Response(self._one(made), status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="golden_edit",
        summary="Edit a golden query",
        request=GoldenQueryEditSerializer,
        responses=GoldenQuerySerializer,
    )
    def partial_update(self, request: Request, golden: str) -> Response:
        query = self.get_object()
        form = GoldenQueryEditSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        done = judging.edit_query(query, self._fields(form), acting_user=request.user)  # type: ignore[arg-type]
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
        judging.delete_query(query)
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
        form = GradeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        judgement = judging.judge(
            query.text,
            query.collections,
            document,
            given["grade"],
            note=given.get("note"),
            acting_user=request.user,  # type: ignore[arg-type]
        )
        return Response(JudgementSerializer(judgement).data)

    @extend_schema(
        operation_id="golden_judgement_clear",
        summary="Take your judgement of a document back",
        responses={204: None},
    )
    def clear(self, request: Request, golden: str, public_id: str) -> Response:
        query, document = self.get_object(), self._document(public_id)
        judging.clear(query, document, acting_user=request.user)  # type: ignore[arg-type]
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
        return shown([self.get_queryset().get(pk=query.pk)], self.request)[0]


class JudgementViewSet(GenericViewSet[Judgement]):
    """Judgements of documents that you may read."""

    serializer_class = JudgementSerializer
    pagination_class = Pages
    queryset = Judgement.objects.none()
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "search.view_judgement",
        "create": "search.add_judgement",
        "undo": "search.add_judgement",
        "agreement": "search.view_judgement",
        "export": "search.view_judgement",
        "import_file": "search.add_goldenquery",
    }

    @extend_schema(
        operation_id="judgement_list", summary="List judgements", parameters=[PageParameters]
    )
    def list(self, request: Request) -> Response:
        PageParameters(data=request.query_params).is_valid(raise_exception=True)
        rows = Judgement.objects.visible_to(request.user).select_related("query")
        page = self.paginate_queryset(rows.order_by("-updated", "-pk"))
        return self.get_paginated_response(JudgementSerializer(page, many=True).data)

    @extend_schema(
        operation_id="judgement_create",
        summary="Judge a document for any query",
        description="The query becomes a golden query if it is none yet.",
        request=NewJudgementSerializer,
        responses=JudgementSerializer,
    )
    def create(self, request: Request) -> Response:
        form = NewJudgementSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        documents = Document.objects.visible_to(request.user)
        judgement = judging.judge(
            given["query"],
            given["collections"],
            get_object_or_404(documents, public_id=given["document"]),
            given["grade"],
            note=given.get("note"),
            acting_user=request.user,  # type: ignore[arg-type]
        )
        return Response(JudgementSerializer(judgement).data)

    @extend_schema(
        operation_id="judgement_undo",
        summary="Take your last step back",
        request=None,
        responses=UndoneSerializer,
    )
    def undo(self, request: Request) -> Response:
        done = judging.undo(acting_user=request.user)  # type: ignore[arg-type]
        message = done.message if done else "There is nothing to take back."
        return Response({"undone": done is not None, "message": message})

    @extend_schema(
        operation_id="judgement_agreement",
        summary="Where judges differ",
        responses=AgreementSerializer,
    )
    def agreement(self, request: Request) -> Response:
        differing: Any = judging.listed(request.user)
        differing = differing.filter(spread__gt=0).order_by("-spread", "folded")
        return Response(
            {
                "alpha": judging.agreement(request.user),
                "queries": shown(list(differing[:100]), request),
            }
        )

    @extend_schema(
        operation_id="judgement_export",
        summary="Judgements as a file",
        parameters=[ExportParameters],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def export(self, request: Request) -> HttpResponse:
        parameters = ExportParameters(data=request.query_params)
        parameters.is_valid(raise_exception=True)
        made = exchange.export(parameters.validated_data["to"], viewer=request.user)
        disposition = f'attachment; filename="{made.file_name}"'
        return HttpResponse(
            made.content,
            content_type=made.media_type,
            headers={"Content-Disposition": disposition},
        )

    @extend_schema(
        operation_id="judgement_import",
        summary="Take judgements from a file",
        request={"multipart/form-data": ImportSerializer},
        responses=ImportedSerializer,
    )
    def import_file(self, request: Request) -> Response:
        form = ImportSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        done = exchange.import_file(
            given["file_format"],
            given["file"].read(),
            queries=given["queries"].read() if "queries" in given else None,
            judge=given["judge"],
            acting_user=request.user,  # type: ignore[arg-type]
        )
        return Response(
            {
                "judgements": done.judgements,
                "queries": done.queries,
                "unchanged": done.unchanged,
                "problems": [str(problem) for problem in done.problems],
            }
        )

    def get_parsers(self) -> Any:
        # Before the action is known: its name stands in the map of the request's address.
        names = getattr(self, "action_map", {}) or {}
        return [MultiPartParser()] if "import_file" in names.values() else super().get_parsers()


def shown(queries: list[GoldenQuery], request: Request) -> list[Any]:
    """The queries as the API shows them; what must be first where its reader may see it."""
    firsts = [query.must_be_first_id for query in queries if query.must_be_first_id]
    seen = Document.objects.visible_to(request.user).filter(pk__in=firsts)
    context = {"seen": dict(seen.values_list("pk", "public_id"))}
    return list(GoldenQuerySerializer(queries, many=True, context=context).data)
