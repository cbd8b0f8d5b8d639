"""The list of concepts over HTTP."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django_filters import filters
from rest_framework import mixins, serializers

from common.api.viewsets import ApiViewSet, FilterSet
from ingestion.api.documents import DocumentFilter
from search.parts.concepts.models import Concept


class ConceptSerializer(serializers.Serializer[dict[str, Any]]):
    """A characteristic phrase of documents that the user may read."""

    key = serializers.CharField(
        help_text="Its lexemes: the value of `concept` in searches and the list of documents."
    )
    name = serializers.CharField(source="label", help_text="A form in which the documents use it.")
    documents = serializers.IntegerField(help_text="The number of documents that have it.")
    occurrences = serializers.IntegerField(help_text="In these documents together.")


class ConceptFilter(FilterSet):  # type: ignore[misc]
    """Filters of the list of concepts."""

    q = filters.CharFilter(
        field_name="label__icontains",
        method="of_matching_keys",
        max_length=200,
        help_text="Part of a concept, without regard to case.",
    )
    document = filters.UUIDFilter(
        field_name="document__public_id",
        method="of_matching_keys",
        help_text="The id of a document: its concepts alone, counted over all documents.",
    )

    def of_matching_keys(self, queryset: Any, name: str, value: Any) -> QuerySet[Any]:
        """All rows with the matching keys, so that the counts cover the whole library."""
        keys = queryset.filter(**{name: value}).order_by().values("key")
        rows: QuerySet[Any] = queryset.filter(key__in=keys)
        return rows


class ConceptViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """The concepts of the documents that the user may read, those of most documents first."""

    serializer_class = ConceptSerializer
    filterset_class = ConceptFilter
    open_to_read = True
    queryset = Concept.objects.all()

    def filter_queryset(self, queryset: Any) -> QuerySet[Any]:
        """The filtered concepts, one row for each key."""
        rows: Any = super().filter_queryset(queryset)
        grouped: QuerySet[Any] = rows.counted()
        return grouped


def _about(rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
    """The documents with the concept; a subquery, because a join would repeat rows."""
    return rows.filter(pk__in=Concept.objects.filter(key=value).values("document"))


DocumentFilter.base_filters["concept"] = filters.CharFilter(
    method=_about, max_length=200, help_text="The key of a concept: the documents that have it."
)
