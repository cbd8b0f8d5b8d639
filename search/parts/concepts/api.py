"""The list of concepts over HTTP."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from django.db.models import QuerySet
from rest_framework import mixins, serializers
from rest_framework.fields import empty

from common.api.viewsets import ApiViewSet, ListParameters
from ingestion.api.documents import DocumentListParameters
from ingestion.api.serializers import DocumentIdField
from ingestion.models import Document
from search.parts.concepts.models import Concept


class ConceptSerializer(serializers.Serializer[dict[str, Any]]):
    """A characteristic phrase of documents that the user may read."""

    key = serializers.CharField(
        help_text="Its lexemes: the value of `concept` in searches and the list of documents."
    )
    name = serializers.CharField(source="label", help_text="A form in which the documents use it.")
    documents = serializers.IntegerField(help_text="The number of documents that have it.")
    occurrences = serializers.IntegerField(help_text="In these documents together.")


class ConceptListParameters(ListParameters):
    """Filters of the list of concepts."""

    old_names = MappingProxyType({"q": "query"})

    query = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Part of a concept, without regard to case.",
    )
    document = DocumentIdField(
        required=False,
        help_text="The id of a document: its concepts alone, counted over all documents.",
    )

    def filter_query(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return _of_keys(rows, rows.filter(label__icontains=value))

    def filter_document(self, rows: QuerySet[Any], value: Document) -> QuerySet[Any]:
        return _of_keys(rows, rows.filter(document=value))


def _of_keys(rows: QuerySet[Any], matching: QuerySet[Any]) -> QuerySet[Any]:
    """All rows with the matching keys, so that the counts cover the whole library."""
    return rows.filter(key__in=matching.order_by().values("key"))


class ConceptViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """The concepts of the documents that the user may read, those of most documents first."""

    serializer_class = ConceptSerializer
    list_parameters = ConceptListParameters
    open_to_read = True
    queryset = Concept.objects.all()

    def filter_queryset(self, queryset: Any) -> QuerySet[Any]:
        """The filtered concepts, one row for each key."""
        rows: Any = super().filter_queryset(queryset)
        grouped: QuerySet[Any] = rows.counted()
        return grouped


def _about(rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    """The documents with the concept; a subquery, because a join would repeat rows."""
    return rows.filter(pk__in=Concept.objects.filter(key=value).values("document"))


class ConceptField(serializers.CharField):
    """The key of a concept that some document has."""

    def run_validation(self, data: Any = empty) -> Any:
        key = super().run_validation(data)
        if not Concept.objects.visible_to(self.context["request"].user).filter(key=key).exists():
            raise serializers.ValidationError(f"There is no concept “{key}”.")
        return key


DocumentListParameters.add(
    "concept",
    ConceptField(
        required=False,
        max_length=200,
        help_text="The key of a concept: the documents that have it.",
    ),
    _about,
)
