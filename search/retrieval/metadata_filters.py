"""Conditions of metadata filters as SQL, and the counts of the values of each key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from django.db import connection
from django.db.models import BooleanField, F, Func, Q, QuerySet, TextField, Value

from common.database import named
from ingestion.metadata import read_value
from ingestion.models import Document
from search.domain import Comparison, MetadataFilter

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
    conditions_of_all = Q()
    for key in dict.fromkeys(one.key for one in equal):
        conditions_of_all &= reduce(or_, (fits(one, column) for one in equal if one.key == key))
    for one in compared:
        conditions_of_all &= fits(one, column)
    return conditions_of_all


def fits(condition: MetadataFilter, column: str = _COLUMN) -> Q:
    """The condition as a Q on chunks, or on the rows from which `column` leads to metadata."""
    if condition.comparison is not Comparison.IS:
        # The index finds documents by key; it does not support paths like these.
        has_key = Q(**{f"{column}__has_key": condition.key})
        return has_key & Q(_PathFinds(F(column), _Path(Value(_path(condition)))))
    key, value = condition.key, condition.value
    number = read_value(value)
    typed = [number] if isinstance(number, int | float) else []
    equal_values = [{key: one} for one in (value, [value], *typed)]
    return reduce(or_, (Q(**{f"{column}__contains": one}) for one in equal_values))


def top_values(
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
