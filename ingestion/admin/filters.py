"""List filters shared by the admin pages of the library."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.chunking.options import LAYOUT
from ingestion.files.filetypes import TYPE_LABELS
from ingestion.metadata import TAGS, tags_of
from ingestion.models import Collection, SourceKind, State
from ingestion.models.collections import language_name
from ingestion.models.documents import INCOMPLETE
from ingestion.models.versions import UNFINISHED

Choices = list[tuple[str, str]]


class StateFilter(SimpleListFilter):
    title = _("state")
    parameter_name = "state"
    UNFINISHED = "unfinished"
    OUTDATED = "outdated"
    INCOMPLETE = "incomplete"
    UNKNOWN = "unknown"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        listed = (State.READY, State.FAILED, *UNFINISHED)
        in_progress = (self.UNFINISHED, gettext("In progress"))
        states = [(state.value, str(state.label)) for state in listed]
        outdated = (self.OUTDATED, gettext("Passages of an earlier release"))
        incomplete = (self.INCOMPLETE, gettext("Incomplete"))
        unknown = (self.UNKNOWN, gettext("Completeness unknown"))
        return [*states[:2], incomplete, in_progress, *states[2:], outdated, unknown]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (value := self.value()):
            return queryset
        if value == self.OUTDATED:
            return queryset.filter(current__chunk_layout__lt=LAYOUT)
        if value == self.INCOMPLETE:
            return queryset.filter(INCOMPLETE)
        if value == self.UNKNOWN:
            return queryset.filter(current__isnull=False, current__completeness__isnull=True)
        states = UNFINISHED if value == self.UNFINISHED else (value,)
        return queryset.filter(latest__state__in=states)


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


class CollectionFilter(_PresentValues):
    title = _("collection")
    parameter_name = "collection"
    field = "collection__slug"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return list(Collection.objects.visible_to(request.user).values_list("slug", "name"))


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
        tagged = model_admin.get_queryset(request).filter(metadata__has_key=TAGS).order_by()
        values = tagged.values_list("metadata__tags", flat=True)
        counts = Counter(tag for value in values for tag in tags_of({TAGS: value}))
        return [(tag, tag) for tag, _count in counts.most_common(self.OFFERED)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (value := self.value()):
            return queryset
        is_listed = Q(metadata__contains={TAGS: [value]})
        return queryset.filter(is_listed | Q(metadata__contains={TAGS: value}))


class OriginFilter(_PresentValues):
    title = _("origin")
    parameter_name = "origin"
    field = "source_kind"

    def label(self, value: str) -> str:
        return str(SourceKind(value).label)


class TypeFilter(_PresentValues):
    title = _("type")
    parameter_name = "type"
    field = "latest__media_type"

    def label(self, value: str) -> str:
        return TYPE_LABELS.get(value, value)
