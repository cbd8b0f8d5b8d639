"""Golden queries and judgements in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from common.api.serializers import ChoiceField, Parameters, Strict
from ingestion.models import Document
from search.query import MAX_QUERY_CHARS
from search.tuning.api.profile_serializers import CLASSES
from search.tuning.golden.formats import FORMATS
from search.tuning.models import GoldenQuery, Judgement


class SlugsField(serializers.ListField):
    """Slugs of collections."""

    child = serializers.CharField(max_length=120)


class GoldenQuerySerializer(serializers.ModelSerializer[GoldenQuery]):
    """A question with judged documents."""

    id = serializers.UUIDField(source="public_id")
    query_class = serializers.ChoiceField(CLASSES, allow_blank=True)
    must_be_first = serializers.SerializerMethodField()
    judged = serializers.IntegerField(help_text="Documents that anyone has judged.")
    judges = serializers.IntegerField()
    spread = serializers.IntegerField(
        allow_null=True, help_text="The largest difference between grades of one document: 0 to 3."
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


class JudgementSerializer(serializers.ModelSerializer[Judgement]):
    """One person's grade of a document as an answer to a golden query."""

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
    """A grade: 0 no answer, 1 related, 2 answers, 3 answers in full."""

    grade = serializers.IntegerField(min_value=0, max_value=3)
    note = serializers.CharField(required=False, allow_blank=True)


class GoldenQueryEditSerializer(Parameters):
    """The new values of a golden query."""

    text = serializers.CharField(max_length=MAX_QUERY_CHARS, required=False)
    collections = SlugsField(
        required=False, max_length=50, help_text="Slugs of the collections to search; empty: all."
    )
    query_class = ChoiceField(CLASSES, required=False, allow_blank=True)
    must_be_first = serializers.UUIDField(
        required=False, allow_null=True, help_text="A document, or null for none."
    )
    enabled = serializers.BooleanField(required=False)
    note = serializers.CharField(required=False, allow_blank=True)


class NewJudgementSerializer(GradeSerializer):
    """A judgement of a query that need not be a golden query yet."""

    query = serializers.CharField(max_length=MAX_QUERY_CHARS)
    collections = SlugsField(default=list, max_length=50)
    document = serializers.UUIDField()


class UndoneSerializer(serializers.Serializer[Any]):
    """The action that was undone; `undone` is false if there was nothing to undo."""

    undone = serializers.BooleanField()
    message = serializers.CharField()


class AgreementSerializer(serializers.Serializer[Any]):
    """Disagreements of judges, the largest first, and Krippendorff's alpha over all."""

    alpha = serializers.FloatField(allow_null=True)
    queries = GoldenQuerySerializer(many=True)


class ExportParameters(Parameters):
    """The file format."""

    to = ChoiceField(list(FORMATS), default="csv")


class JudgementFileSerializer(Strict, serializers.Serializer[Any]):
    """A file of judgements."""

    file = serializers.FileField()
    queries = serializers.FileField(
        required=False, help_text="BEIR's queries.jsonl, if `file` is not a ZIP."
    )
    file_format = ChoiceField(list(FORMATS), default="csv")
    judge = serializers.CharField(
        required=False, default="", max_length=150, help_text="Where the file does not say."
    )


class ImportedSerializer(serializers.Serializer[Any]):
    """The results of importing a file's lines."""

    judgements = serializers.IntegerField()
    queries = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    problems = serializers.ListField(child=serializers.CharField())


def shown_queries(queries: list[GoldenQuery], request: Request) -> list[Any]:
    """The queries as the API shows them; what must be first where its reader may see it."""
    firsts = [query.must_be_first_id for query in queries if query.must_be_first_id]
    seen = Document.objects.visible_to(request.user).filter(pk__in=firsts)
    context = {"seen": dict(seen.values_list("pk", "public_id"))}
    return list(GoldenQuerySerializer(queries, many=True, context=context).data)
