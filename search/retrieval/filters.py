"""The scope of a question: the chunks that the viewer may read, narrowed by filters and query."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Container
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property, partial
from typing import Any, Self, TypeVar
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Model, Q, QuerySet
from django.utils import timezone

from common.database import named
from ingestion.documents.currency import not_current
from ingestion.models import Chunk, Collection, Document
from ingestion.models.chunks import EqualsAny, SubqueryOnce
from ingestion.models.documents import DocumentQuerySet
from ingestion.models.visibility import Viewer, narrower
from search.domain import MetadataFilter, Query, QueryFilters
from search.models import Hide
from search.retrieval import facets
from search.retrieval.metadata_filters import fits, fitting
from search.retrieval.phrases import PHRASED, contains, lacks, lacks_exactly, phrased, titled

Row = TypeVar("Row", bound=Model)
NO_FILTERS = QueryFilters()


@dataclass(frozen=True, slots=True)
class Filters:
    """Empty fields filter nothing. `after` and `before` are inclusive days of the document's date.

    `collections` are slugs, `documents` public ids, `media_types` exact media types, `languages`
    ISO 639-1 codes, `metadata` conditions, where the values of one key are alternatives; `facets`
    are names and keys (`retrieval.facets`), which a document must all have. `current`: without
    documents that are superseded, expired or not yet valid.
    """

    collections: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None
    documents: tuple[UUID, ...] = ()
    metadata: tuple[MetadataFilter, ...] = ()
    facets: tuple[tuple[str, str], ...] = ()
    current: bool = False


@dataclass(frozen=True)
class Scope:
    """The chunks that a question may return, and the collections of its statistics.

    `made` and `made_collections` make the querysets when they are first read. `narrowed`: the
    chunks may be fewer than those of the collections; `is_whole`: they are exactly those;
    `is_public`: the collections are all those that anonymous visitors may read. All of the chunks
    contain `phrases`, and are among `before_phrases`.
    """

    made: Callable[[], QuerySet[Chunk]]
    made_collections: Callable[[], QuerySet[Collection]]
    narrowed: bool = False
    phrases: tuple[str, ...] = ()
    before_phrases: QuerySet[Chunk] | None = None
    is_whole: bool = False
    is_public: bool = False
    viewer: Viewer = None

    @cached_property
    def collections(self) -> QuerySet[Collection]:
        """The collections whose statistics weigh the question's words."""
        return self.made_collections()

    def readable(self, prefix: str) -> tuple[str, dict[str, Any]]:
        """SQL for the ids of the collections and of the viewer's narrower audiences within them.

        And its parameters, whose names have the prefix.
        """
        if self.is_public:
            return readable_to(None, prefix)
        return _with_narrower(self.collections, self.viewer, prefix)

    @cached_property
    def chunks(self) -> QuerySet[Chunk]:
        """The chunks that the question may return."""
        return self.made()

    @classmethod
    def of(cls, viewer: Viewer, filters: Filters) -> Self:
        """The chunks that `viewer` may read and that match the filters; none for unknown values."""
        readable = partial(Chunk.objects.searched_by, viewer, filters.collections)
        collections = partial(Collection.objects.searched_by, viewer, filters.collections)
        if filters == Filters(collections=filters.collections):
            is_public = _is_anonymous(viewer) and not filters.collections
            return cls(readable, collections, is_whole=True, is_public=is_public, viewer=viewer)
        chunks = readable()
        matching = fitting_rows(chunks, filters)
        if filters.documents:
            matching = matching.filter(document__public_id__in=filters.documents)
        for name, key in filters.facets:
            matching = matching.filter(document__in=facets.with_key(name, key))
        if filters.current:
            matching = matching.exclude(document_id__in=not_current(timezone.localdate(), viewer))
        narrowed = matching is not chunks
        return cls(lambda: matching, collections, narrowed=narrowed, viewer=viewer)

    def within_statement(self) -> Self:
        """A whole scope for a statement with the common table `readable` of its collections."""
        return replace(self, made=Chunk.objects.visible_within_statement)

    def narrowed_by(self, query: Query) -> Self:
        """The scope restricted by the query's phrases, filters and exclusions."""
        if not (query.phrases or query.excluded or query.excluded_exactly) and (
            query.filters == query.unwanted == NO_FILTERS
        ):
            return self
        chunks, collections = self.chunks, self.collections
        included, unwanted = query.filters, query.unwanted
        if included.collections or unwanted.collections:
            collections = collections.filter(_by_names(included.collections)).exclude(
                _by_names(unwanted.collections, empty=False)
            )
            # Not a join: see `visible_to`.
            readable = SubqueryOnce(collections, self.viewer)
            chunks = chunks.filter(EqualsAny(F("collection_id"), readable))
        readable_chunks = chunks
        chunks = fitting_rows(chunks, included)
        if unwanted.media_types:
            chunks = chunks.exclude(version__media_type__in=unwanted.media_types)
        if unwanted.languages:
            chunks = chunks.exclude(document__language__in=unwanted.languages)
        words = (each for each in query.excluded if each not in query.excluded_exactly)
        conditions = (
            *map(lacks_exactly, query.excluded_exactly),
            *(lacks(each, query.text) for each in words),
            *map(titled, included.titles),
            *(titled(title, negated=True) for title in unwanted.titles),
            *(~fits(one) for one in unwanted.metadata),
        )
        for condition in conditions:
            chunks = chunks.filter(condition)
        before = chunks
        for phrase in query.phrases:
            chunks = chunks.filter(contains(phrase))
        narrowed = self.narrowed or chunks is not readable_chunks
        return type(self)(
            lambda: chunks, lambda: collections, narrowed, query.phrases, before, viewer=self.viewer
        )

    def with_phrases(self) -> tuple[Self, str, dict[str, Any]]:
        """The scope as a condition on common tables, the tables, and their parameters.

        The tables have the chunks with the phrases, once for all signals. For very common words
        they read at most `MOST_CHECKED` chunks. Without phrases the scope is unchanged.
        """
        if not self.phrases or self.before_phrases is None:
            return self, "", {}
        tables, params = phrased(self.before_phrases, self.phrases)
        # The partial indexes of chunks are for searchable ones.
        chunks = Chunk.objects.filter(PHRASED, searchable=True)
        scope = type(self)(lambda: chunks, self.made_collections, narrowed=True, viewer=self.viewer)
        return scope, tables, params

    def without(self, documents: Container[int]) -> Self:
        """The scope without these documents, by id."""
        if not documents:
            return self
        hidden = sorted(documents)
        chunks, before = self.chunks.exclude(document_id__in=hidden), self.before_phrases
        if before is not None:
            before = before.exclude(document_id__in=hidden)
        return replace(self, made=lambda: chunks, before_phrases=before, is_whole=False)


def readable_to(viewer: Viewer, prefix: str) -> tuple[str, dict[str, Any]]:
    """SQL for the ids of the collections and audiences that `viewer` may read, and its parameters.

    Compiled for each reader; for anonymous visitors, whose rights are equal, once in a process.
    """
    if _is_anonymous(viewer):
        sql, params = _public(prefix)
        return sql, dict(params)
    return _with_narrower(Collection.objects.visible_to(viewer), viewer, prefix)


def _with_narrower(
    collections: QuerySet[Collection], viewer: Viewer, prefix: str
) -> tuple[str, dict[str, Any]]:
    sql, params = named(collections.order_by().values("pk"), prefix)
    sql, keys = narrower(sql, viewer)
    key = f"{prefix}viewer"
    return sql.replace("%s", f"%({key})s"), params | ({key: keys[0]} if keys else {})


def _is_anonymous(viewer: Viewer) -> bool:
    return viewer is None or isinstance(viewer, AnonymousUser)


@cache
def _public(prefix: str) -> tuple[str, dict[str, Any]]:
    return named(Collection.objects.visible_to(None).order_by().values("pk"), prefix)


def fitting_rows(
    rows: QuerySet[Row],
    filters: Filters | QueryFilters,
    *,
    document: str = "document__",
    version: str = "version__",
) -> QuerySet[Row]:
    """The rows that match the filters' types, languages, days and metadata.

    `document` and `version` are the paths from a row, a chunk by default, to its document and to
    the version it shows.
    """
    if filters.media_types:
        rows = rows.filter(**{f"{version}media_type__in": filters.media_types})
    if filters.languages:
        rows = rows.filter(**{f"{document}language__in": filters.languages})
    if filters.after:
        rows = rows.filter(**{f"{document}created__date__gte": filters.after})
    if filters.before:
        rows = rows.filter(**{f"{document}created__date__lte": filters.before})
    if filters.metadata:
        rows = rows.filter(fitting(filters.metadata, f"{document}metadata"))
    return rows


def searchable(viewer: Viewer) -> DocumentQuerySet:
    """The documents that searches of `viewer` may find, without those hidden from all questions."""
    hidden = Hide.objects.filter(enabled=True, folded="").values("document")
    documents = Document.objects.visible_to(viewer).filter(current__isnull=False)
    return documents.exclude(pk__in=hidden).order_by()


def documents_of(viewer: Viewer, filters: Filters) -> QuerySet[Document]:
    """The searchable documents that match the filters."""
    documents = searchable(viewer)
    if filters.collections:
        documents = documents.filter(collection__slug__in=filters.collections)
    if filters.documents:
        documents = documents.filter(public_id__in=filters.documents)
    for name, key in filters.facets:
        documents = documents.filter(pk__in=facets.with_key(name, key))
    if filters.current:
        documents = documents.exclude(pk__in=not_current(timezone.localdate(), viewer))
    return fitting_rows(documents, filters, document="", version="current__")


def _by_names(names: tuple[str, ...], *, empty: bool = True) -> Q:
    """A condition for one of the slugs or names, case-insensitive; without names, `empty` means
    all.
    """
    if not names:
        return Q() if empty else Q(pk__in=())
    condition = Q()
    for name in names:
        condition |= Q(slug__iexact=name) | Q(name__iexact=name)
    return condition
