"""The scope of a question: the chunks that the viewer may read, narrowed by filters and query.

Narrowing only ever removes chunks.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from dataclasses import dataclass
from datetime import date
from typing import Self
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, Q, QuerySet

from ingestion.models import Chunk, Collection
from ingestion.models.index import EqualsAny
from ingestion.models.library import Viewer
from search.domain import MetadataFilter, Query, QueryFilters
from search.retrieval.metadata import fits, fitting
from search.retrieval.phrases import contains, lacks, titled


@dataclass(frozen=True, slots=True)
class Filters:
    """Empty fields filter nothing. `after` and `before` are inclusive days of the document's date.

    `collections` are slugs, `documents` public ids, `media_types` exact media types, `languages`
    ISO 639-1 codes, `metadata` conditions, where the values of one key are alternatives.
    """

    collections: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None
    documents: tuple[UUID, ...] = ()
    metadata: tuple[MetadataFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """The chunks that a question may return, and the collections of its statistics.

    `narrowed`: the chunks may be fewer than those of the collections.
    """

    chunks: QuerySet[Chunk]
    collections: QuerySet[Collection]
    narrowed: bool = False

    @classmethod
    def of(cls, viewer: Viewer, filters: Filters) -> Self:
        """The chunks that `viewer` may read and that match the filters; none for unknown values."""
        chunks = Chunk.objects.visible_to(viewer, collections=filters.collections)
        collections = Collection.objects.visible_to(viewer)
        if filters.collections:
            collections = collections.filter(slug__in=filters.collections)
        fitting = _fitting(chunks, filters)
        if filters.documents:
            fitting = fitting.filter(document__public_id__in=filters.documents)
        return cls(fitting, collections, narrowed=fitting is not chunks)

    def narrowed_by(self, query: Query) -> Self:
        """The scope restricted by the query's phrases, filters and exclusions."""
        chunks, collections = self.chunks, self.collections
        wanted, unwanted = query.filters, query.unwanted
        if wanted.collections or unwanted.collections:
            collections = collections.filter(_named(wanted.collections)).exclude(
                _named(unwanted.collections, empty=False)
            )
            # Not a join: see `visible_to`.
            readable = ArraySubquery(collections.order_by().values("pk"))
            chunks = chunks.filter(EqualsAny(F("collection_id"), readable))
        readable_chunks = chunks
        chunks = _fitting(chunks, wanted)
        if unwanted.media_types:
            chunks = chunks.exclude(version__media_type__in=unwanted.media_types)
        if unwanted.languages:
            chunks = chunks.exclude(document__language__in=unwanted.languages)
        conditions = (
            *map(contains, query.phrases),
            *map(lacks, query.excluded),
            *map(titled, wanted.titles),
            *(titled(title, negated=True) for title in unwanted.titles),
            *(~fits(one) for one in unwanted.metadata),
        )
        for condition in conditions:
            chunks = chunks.filter(condition)
        narrowed = self.narrowed or chunks is not readable_chunks
        return type(self)(chunks, collections, narrowed)

    def without(self, documents: Container[int]) -> Self:
        """The scope without these documents, by id."""
        if not documents:
            return self
        chunks = self.chunks.exclude(document_id__in=sorted(documents))
        return type(self)(chunks, self.collections, self.narrowed)


def _fitting(chunks: QuerySet[Chunk], filters: Filters | QueryFilters) -> QuerySet[Chunk]:
    """The chunks that match the filters' types, languages, days and metadata."""
    if filters.media_types:
        chunks = chunks.filter(version__media_type__in=filters.media_types)
    if filters.languages:
        chunks = chunks.filter(document__language__in=filters.languages)
    if filters.after:
        chunks = chunks.filter(document__created__date__gte=filters.after)
    if filters.before:
        chunks = chunks.filter(document__created__date__lte=filters.before)
    if filters.metadata:
        chunks = chunks.filter(fitting(filters.metadata))
    return chunks


def _named(names: tuple[str, ...], *, empty: bool = True) -> Q:
    """A condition for one of the slugs or names, case-insensitive; `empty`: all, for no names."""
    if not names:
        return Q() if empty else Q(pk__in=())
    named = Q()
    for name in names:
        named |= Q(slug__iexact=name) | Q(name__iexact=name)
    return named
