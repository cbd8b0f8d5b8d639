"""The concepts of documents over HTTP, with the number of documents that have each."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django_filters import filters
from rest_framework import mixins, serializers

from common.api.lists import FilterSet
from common.api.viewsets import ApiViewSet
from ingestion.models import Concept
from ingestion.models.statistics import ConceptQuerySet


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
        method="of_found_keys",
        max_length=200,
        help_text="Part of a concept, without regard to case.",
    )
    document = filters.UUIDFilter(
        field_name="document__public_id",
        method="of_found_keys",
        help_text="The id of a document: its concepts alone, counted over all documents.",
    )

    def of_found_keys(self, queryset: Any, name: str, value: Any) -> QuerySet[Any]:
        """All rows of the keys found, so that the counts are those of the whole library."""
        found: QuerySet[Any] = queryset.filter(
            key__in=queryset.filter(**{name: value}).order_by().values("key")
        )
        return found


class ConceptViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """The concepts of the documents that the user may read, those of most documents first."""

    serializer_class = ConceptSerializer
    filterset_class = ConceptFilter
    open_to_read = True
    queryset = Concept.objects.none()

    def get_queryset(self) -> ConceptQuerySet:
        return Concept.objects.visible_to(self.request.user)

    def filter_queryset(self, queryset: Any) -> QuerySet[Any]:
        """The filtered concepts, a row for each key."""
        rows: Any = super().filter_queryset(queryset)
        counted: QuerySet[Any] = rows.counted()
        return counted
