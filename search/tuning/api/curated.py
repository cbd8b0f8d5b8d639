"""Pins, hides, synonyms, rules and profiles by scope over HTTP, under the rules of the admin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet
from django_filters import filters

from common.api.lists import ChoicesFilter, FilterSet
from common.api.requests import actor
from common.api.viewsets import EditableViewSet, Row
from ingestion.models import Collection, Document
from search.models import QUERY_CLASSES, ClassRule, Hide, Pin, ScopeProfile, Synonym
from search.query.expand import query_key
from search.tuning import curated
from search.tuning.api.serializers.profiles import (
    ClassRuleSerializer,
    HideSerializer,
    PinSerializer,
    ScopeProfileSerializer,
    SynonymSerializer,
)


class EnabledFilter(FilterSet):  # type: ignore[misc]
    enabled = filters.BooleanFilter()


class QuestionFilter(EnabledFilter):
    query = filters.CharFilter(
        method="for_query", help_text="The whole question; capitals and spacing make no difference."
    )
    document = filters.UUIDFilter(field_name="document__public_id")

    def for_query(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return rows.filter(folded=query_key(value))


class ClassRuleFilter(EnabledFilter):
    query_class = ChoicesFilter(choices=QUERY_CLASSES, help_text="May be repeated.")


class CuratedViewSet(EditableViewSet[Row]):
    """Manually maintained rows. 409 if a row conflicts with another one."""

    filterset_class = EnabledFilter
    lookup_value_converter = "int"

    def save(self, form: Any) -> Iterable[str]:
        return curated.save(form.row, form.validated_data, acting_user=actor(self.request))

    def remove(self, row: Any) -> None:
        curated.delete(row, acting_user=actor(self.request))


class AboutDocumentViewSet(CuratedViewSet[Row]):
    """Rows about documents: those that the user may read."""

    filterset_class = QuestionFilter

    def get_queryset(self) -> Any:
        readable = Document.objects.visible_to(self.request.user)
        rows = super().get_queryset().filter(document__in=readable)
        return rows.select_related("document").defer("document__title_terms")


class PinViewSet(AboutDocumentViewSet[Pin]):
    """Documents pinned to a question, among those that you may read."""

    serializer_class = PinSerializer
    queryset = Pin.objects.all()


class HideViewSet(AboutDocumentViewSet[Hide]):
    """Documents hidden from a question or from all questions, among those that you may read."""

    serializer_class = HideSerializer
    queryset = Hide.objects.all()


class SynonymViewSet(CuratedViewSet[Synonym]):
    """Words and phrases that are synonyms in questions."""

    serializer_class = SynonymSerializer
    queryset = Synonym.objects.all()


class ClassRuleViewSet(CuratedViewSet[ClassRule]):
    """The classifier's rules, in the order in which they are tried."""

    serializer_class = ClassRuleSerializer
    filterset_class = ClassRuleFilter
    queryset = ClassRule.objects.all()


class ScopeFilter(FilterSet):  # type: ignore[misc]
    collection = filters.CharFilter(field_name="collection__slug", help_text="A slug.")
    media_type = filters.CharFilter(help_text="The media type of a document type.")


class ScopeProfileViewSet(CuratedViewSet[ScopeProfile]):
    """The profiles that collections and document types name for themselves.

    Searches restricted to exactly one of them use its profile.
    """

    serializer_class = ScopeProfileSerializer
    filterset_class = ScopeFilter
    queryset = ScopeProfile.objects.select_related("collection")

    def get_queryset(self) -> Any:
        readable = Collection.objects.visible_to(self.request.user)
        return super().get_queryset().filter(Q(collection=None) | Q(collection__in=readable))
