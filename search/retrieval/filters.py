"""The scope of a question: the chunks that the viewer may read, narrowed by filters and query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Collection as Container
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, reduce
from operator import or_
from typing import Any, Self, TypeVar
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, F, Func, Model, Q, QuerySet, TextField, Value

from common.replicas import connection
from ingestion.metadata import read_value
from ingestion.models import Chunk, Collection, Concept, Document
from ingestion.models.index import EqualsAny
from ingestion.models.library import Viewer
from search.domain import Comparison, MetadataFilter, Query, QueryFilters
from search.models import Hide
from search.retrieval.phrases import PHRASED, contains, lacks, lacks_exactly, phrased, titled
from search.retrieval.signal_sql import named

Row = TypeVar("Row", bound=Model)
NO_FILTERS = QueryFilters()


@dataclass(frozen=True, slots=True)
class Filters:
    """Empty fields filter nothing. `after` and `before` are inclusive days of the document's date.

    `collections` are slugs, `documents` public ids, `media_types` exact media types, `languages`
    ISO 639-1 codes, `metadata` conditions, where the values of one key are alternatives;
    `concepts` are keys, which a document must all have.
    """

    collections: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None
    documents: tuple[UUID, ...] = ()
    metadata: tuple[MetadataFilter, ...] = ()
    concepts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scope:
    """The chunks that a question may return, and the collections of its statistics.

    `made` makes the queryset of the chunks, when it is first read. `narrowed`: the chunks may be
    fewer than those of the collections; `is_whole`: they are exactly those. All of them contain
    `phrases`, and are among `before_phrases`.
    """

    made: Callable[[], QuerySet[Chunk]]
    collections: QuerySet[Collection]
    narrowed: bool = False
    phrases: tuple[str, ...] = ()
    before_phrases: QuerySet[Chunk] | None = None
    is_whole: bool = False

    @cached_property
    def chunks(self) -> QuerySet[Chunk]:
        """The chunks that the question may return."""
        return self.made()

    @classmethod
    def of(cls, viewer: Viewer, filters: Filters) -> Self:
        """The chunks that `viewer` may read and that match the filters; none for unknown values."""

        def readable() -> QuerySet[Chunk]:
            return Chunk.objects.visible_to(viewer, collections=filters.collections)

        collections = Collection.objects.visible_to(viewer)
        if filters.collections:
            collections = collections.filter(slug__in=filters.collections)
        if filters == Filters(collections=filters.collections):
            return cls(readable, collections, is_whole=True)
        chunks = readable()
        fitting = fitting_rows(chunks, filters)
        if filters.documents:
            fitting = fitting.filter(document__public_id__in=filters.documents)
        for key in filters.concepts:
            fitting = fitting.filter(
                document__in=Concept.objects.filter(key=key).values("document")
            )
        return cls(lambda: fitting, collections, narrowed=fitting is not chunks)

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
        wanted, unwanted = query.filters, query.unwanted
        if wanted.collections or unwanted.collections:
            collections = collections.filter(_named(wanted.collections)).exclude(
                _named(unwanted.collections, empty=False)
            )
            # Not a join: see `visible_to`.
            readable = ArraySubquery(collections.order_by().values("pk"))
            chunks = chunks.filter(EqualsAny(F("collection_id"), readable))
        readable_chunks = chunks
        chunks = fitting_rows(chunks, wanted)
        if unwanted.media_types:
            chunks = chunks.exclude(version__media_type__in=unwanted.media_types)
        if unwanted.languages:
            chunks = chunks.exclude(document__language__in=unwanted.languages)
        words = (each for each in query.excluded if each not in query.excluded_exactly)
        conditions = (
            *map(lacks_exactly, query.excluded_exactly),
            *(lacks(each, query.text) for each in words),
            *map(titled, wanted.titles),
            *(titled(title, negated=True) for title in unwanted.titles),
            *(~fits(one) for one in unwanted.metadata),
        )
        for condition in conditions:
            chunks = chunks.filter(condition)
        before = chunks
        for phrase in query.phrases:
            chunks = chunks.filter(contains(phrase))
        narrowed = self.narrowed or chunks is not readable_chunks
        return type(self)(lambda: chunks, collections, narrowed, query.phrases, before)

    def with_phrases_found(self) -> tuple[Self, str, dict[str, Any]]:
        """The scope as a condition on common tables, the tables, and their parameters.

        They find the chunks with the phrases once for all signals. Of very common words they read
        no more than `MOST_CHECKED` chunks. Without phrases the scope itself.
        """
        if not self.phrases or self.before_phrases is None:
            return self, "", {}
        tables, params = phrased(self.before_phrases, self.phrases)
        # The partial indexes of chunks are for searchable ones.
        chunks = Chunk.objects.filter(PHRASED, searchable=True)
        return type(self)(lambda: chunks, self.collections, narrowed=True), tables, params

    def without(self, documents: Container[int]) -> Self:
        """The scope without these documents, by id."""
        if not documents:
            return self
        hidden = sorted(documents)
        chunks, before = self.chunks.exclude(document_id__in=hidden), self.before_phrases
        if before is not None:
            before = before.exclude(document_id__in=hidden)
        return replace(self, made=lambda: chunks, before_phrases=before, is_whole=False)


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


def searchable(viewer: Viewer) -> QuerySet[Document]:
    """The documents that searches of `viewer` may find: none that is hidden from every question."""
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
    for key in filters.concepts:
        documents = documents.filter(pk__in=Concept.objects.filter(key=key).values("document"))
    return fitting_rows(documents, filters, document="", version="current__")


def _named(names: tuple[str, ...], *, empty: bool = True) -> Q:
    """A condition for one of the slugs or names, case-insensitive; `empty`: all, for no names."""
    if not names:
        return Q() if empty else Q(pk__in=())
    named = Q()
    for name in names:
        named |= Q(slug__iexact=name) | Q(name__iexact=name)
    return named


_COLUMN = "document__metadata"
# A date or a date and time, as `ingestion.metadata` writes them. They compare as text.
_DATE = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
# Sorts after any time of a day, so that all times of a day count as that day.
_LATER = "~"
_LATE_BOUNDS = (Comparison.AT_MOST, Comparison.ABOVE)

# Equal values are counted before lists are unnested: most documents share few values.
_VALUES = """
WITH held AS (
    SELECT key, metadata -> key AS value, count(*) AS documents
    FROM ({documents}) document(id, metadata), unnest(%(keys)s::text[]) key
    WHERE metadata ? key
    GROUP BY 1, 2
),
counted AS (
    SELECT key, value, sum(documents)::bigint AS documents,
           row_number() OVER (PARTITION BY key ORDER BY sum(documents) DESC, value) AS place
    FROM (SELECT key, jsonb_path_query(value, '$[*]') #>> '{{}}' AS value, documents FROM held) one
    GROUP BY key, value
)
SELECT key, value, documents FROM counted WHERE place <= %(most)s
ORDER BY key, documents DESC, value
"""


def fitting(conditions: Sequence[MetadataFilter], column: str = _COLUMN) -> Q:
    """The conditions combined: any of the values that a key may equal, and all comparisons.

    `column` is the path from the filtered rows to a document's metadata.
    """
    equal = [one for one in conditions if one.comparison is Comparison.IS]
    compared = [one for one in conditions if one.comparison is not Comparison.IS]
    wanted = Q()
    for key in dict.fromkeys(one.key for one in equal):
        wanted &= reduce(or_, (fits(one, column) for one in equal if one.key == key))
    for one in compared:
        wanted &= fits(one, column)
    return wanted


def fits(condition: MetadataFilter, column: str = _COLUMN) -> Q:
    """The condition as a Q on chunks, or on the rows from which `column` leads to metadata."""
    if condition.comparison is not Comparison.IS:
        # The index finds documents by key; it does not support paths like these.
        has_key = Q(**{f"{column}__has_key": condition.key})
        return has_key & Q(_PathFinds(F(column), _Path(Value(_path(condition)))))
    key, value = condition.key, condition.value
    number = read_value(value)
    typed = [number] if isinstance(number, int | float) else []
    held = [{key: one} for one in (value, [value], *typed)]
    return reduce(or_, (Q(**{f"{column}__contains": one}) for one in held))


def most_held(
    documents: QuerySet[Document], keys: Iterable[str], *, most: int
) -> list[tuple[str, str, int]]:
    """Each key's `most` frequent values, with the number of documents that have them.

    By key, the most frequent first. One query.
    """
    sql, params = named(documents.order_by().values("pk", "metadata"), "documents")
    values = {**params, "keys": sorted(keys), "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_VALUES.format(documents=sql), values)
        return list(cursor.fetchall())


class _Path(Func):
    template = "(%(expressions)s)::jsonpath"
    output_field = TextField()


class _PathFinds(Func):
    """`metadata @? path`: whether the path matches anything; never an error."""

    template = "(%(expressions)s)"
    arg_joiner = " @? "
    arity = 2
    output_field = BooleanField()


def _path(condition: MetadataFilter) -> str:
    """The JSON path to matching values: numbers, also as text; dates, also with a time.

    Key and value need no quoting: see `MetadataFilter`.
    """
    operator, tests = condition.comparison.value, []
    if condition.number:
        tests.append(f"(@.double() {operator} {condition.number})")
    if condition.day:
        bound = condition.day + (_LATER if condition.comparison in _LATE_BOUNDS else "")
        tests.append(f'(@ like_regex "{_DATE}" && @ {operator} "{bound}")')
    return f'$."{condition.key}" ? ({" || ".join(tests)})'
