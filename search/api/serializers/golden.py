"""What the API shows of golden queries and judgements."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from ingestion.models import Document
from ingestion.paging import Parameters
from search.api.serializers.profiles import CLASSES
from search.tuning.models import GoldenQuery, Judgement


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


def shown_queries(queries: list[GoldenQuery], request: Request) -> list[Any]:
    """The queries as the API shows them; what must be first where its reader may see it."""
    firsts = [query.must_be_first_id for query in queries if query.must_be_first_id]
    seen = Document.objects.visible_to(request.user).filter(pk__in=firsts)
    context = {"seen": dict(seen.values_list("pk", "public_id"))}
    return list(GoldenQuerySerializer(queries, many=True, context=context).data)
