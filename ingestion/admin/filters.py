"""Filters that offer only values of documents that the user may read.

Django's own filters list every value in the table, which would reveal the names of hidden
collections and the languages of hidden documents.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.files.filetypes import SUPPORTED
from ingestion.metadata import TAGS
from ingestion.models import Collection, SourceKind, State
from ingestion.models.library import language_name
from ingestion.models.versions import UNFINISHED

TYPE_LABELS = {kind.media_type: kind.label for kind in SUPPORTED.values()}
Choices = list[tuple[str, str]]


class StateFilter(SimpleListFilter):
    title = _("state")
    parameter_name = "state"
    UNFINISHED = "unfinished"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        shown = (State.READY, State.FAILED, *UNFINISHED)
        in_progress = (self.UNFINISHED, gettext("In progress"))
        states = [(state.value, str(state.label)) for state in shown]
        return [*states[:2], in_progress, *states[2:]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (value := self.value()):
            return queryset
        states = UNFINISHED if value == self.UNFINISHED else (value,)
        return queryset.filter(latest__state__in=states)


class CollectionFilter(SimpleListFilter):
    title = _("collection")
    parameter_name = "collection"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        visible = Collection.objects.visible_to(request.user)
        return [(slug, name) for slug, name in visible.values_list("slug", "name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(collection__slug=self.value()) if self.value() else queryset


class _PresentValues(SimpleListFilter):
    """Offers the values of `field` among the documents that the user may read."""

    field: str

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        documents = model_admin.get_queryset(request).order_by()
        values = set(documents.values_list(self.field, flat=True).distinct()) - {None, ""}
        return sorted(((value, self.label(value)) for value in values), key=lambda pair: pair[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.field: self.value()}) if self.value() else queryset

    def label(self, value: str) -> str:
        raise NotImplementedError


class LanguageFilter(_PresentValues):
    title = _("language")
    parameter_name = "language"
    field = "language"

    def label(self, value: str) -> str:
        return language_name(value)


class TagFilter(SimpleListFilter):
    """Documents with a tag, among the most frequent tags of the documents that the user sees."""

    title = _("tag")
    parameter_name = "tag"
    OFFERED = 50  # a guess: a longer list would not be read

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        held = model_admin.get_queryset(request).filter(metadata__has_key=TAGS).order_by()
        counts = Counter(tag for one in held.values_list("metadata__tags") for tag in _texts(one))
        return [(tag, tag) for tag, _count in counts.most_common(self.OFFERED)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (value := self.value()):
            return queryset
        is_listed = Q(metadata__contains={TAGS: [value]})
        return queryset.filter(is_listed | Q(metadata__contains={TAGS: value}))


def _texts(row: tuple[Any, ...]) -> list[str]:
    (value,) = row
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


class OriginFilter(SimpleListFilter):
    title = _("origin")
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(kind.value, str(kind.label)) for kind in SourceKind]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(source_kind=self.value()) if self.value() else queryset


class TypeFilter(_PresentValues):
    title = _("type")
    parameter_name = "type"
    field = "latest__media_type"

    def label(self, value: str) -> str:
        return TYPE_LABELS.get(value, value)
