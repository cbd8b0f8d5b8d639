"""The statement's one row: all candidates as the bytes of one array, and their columns.

A row for each candidate would become a tuple of Python objects, one by one; the binary form of
equal records lies side by side, as numpy reads it. `sent` writes the SQL, `read` the columns.

Then the conditions of metadata filters, and the counts of the values of each key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import BooleanField, F, Func, Q, QuerySet, TextField, Value

from common.database import named
from ingestion.metadata import read_value
from ingestion.models import Document
from search.domain import (
    ABSENT,
    GENERATORS,
    SIGNALS,
    Candidates,
    Comparison,
    MetadataFilter,
    Query,
    Reading,
    Signal,
    TermStatistic,
    row_type,
)
from search.domain.candidates import HALF
from search.retrieval.pin_and_boost_sql import forms_of

# Fixed columns of a candidate over the table `scored`, with their types; none may be NULL: that
# has another length. `form` is counted from 1 in the parameter `forms`, 0 without one.
_FIXED = (
    ("chunk", "id", "int8"),
    ("document", "document_id", "int8"),
    ("signature", "coalesce(signature, 0)", "int8"),
    ("signed", "(signature IS NOT NULL)::int4", "int4"),
    ("embedded", "(embedding IS NOT NULL)::int4", "int4"),
    ("pin", f"coalesce(pin, {ABSENT})::int4", "int4"),
    ("form", "coalesce(array_position(%(forms)s::text[], form::text), 0)", "int4"),
    ("held_at", "coalesce(place, 0)::int4", "int4"),
    ("strength", "coalesce(strength, 0)::float8", "float8"),
)
_NUMPY = {"int4": ">i4", "int8": ">i8", "float8": ">f8"}

# As hexadecimal digits, which Python reads faster than psycopg the text form of a bytea.
_SENT = """
SELECT {findings},
       encode(string_agg(record_send(ROW({record})), ''::bytea ORDER BY id), 'hex'),
       {embeddings},
       array_agg(language ORDER BY id),
       {places}
FROM scored
"""
_EMBEDDINGS = "encode(string_agg(embedding, ''::bytea ORDER BY id), 'hex')"


@dataclass(frozen=True, slots=True)
class Sent:
    """The contents of a statement's row: the boosts that can match, by key, and the signals that
    run.

    `boosts` are the keys of all boosts of the profile; `is_wide`: ranks by candidate generator.
    """

    boosts: tuple[str, ...]
    counted: tuple[str, ...]
    signals: tuple[Signal, ...]
    is_wide: bool = False


def sent(counted: int, signals: int, findings: str, *, embeddings: bool, is_wide: bool) -> str:
    """The last SELECT of a statement, over `scored` with so many boosts and then signals.

    Their columns are `value_0` and so on. `findings` is SQL for the query's statistics, as JSON.
    """
    record = [sql for _, sql, _ in _FIXED]
    record += [f"value_{i}::int8" for i in range(counted)]
    record += [f"coalesce(value_{i}, 'NaN')::float8" for i in range(counted, counted + signals)]
    return _SENT.format(
        findings=findings,
        record=", ".join(record),
        embeddings=_EMBEDDINGS if embeddings else "NULL::text",
        places="json_agg(places ORDER BY id)" if is_wide else "NULL::json",
    )


@lru_cache(maxsize=64)
def _record_type(counted: int, signals: int) -> np.dtype[Any]:
    """The dtype of a record as Postgres sends it: a number of fields; type, length, value of each.

    See `record_send` in Postgres' rowtypes.c; all numbers are big-endian.
    """
    fields = [(name, _NUMPY[kind]) for name, _, kind in _FIXED]
    fields += [(f"count_{i}", ">i8") for i in range(counted)]
    fields += [(f"score_{i}", ">f8") for i in range(signals)]
    described: list[tuple[str, str]] = [("", ">i4")]
    for name, kind in fields:
        described += [(f"type and length of {name}", "V8"), (name, kind)]
    return np.dtype(described)


def read(query: Query, row: Sequence[Any], sent: Sent) -> Candidates:
    """The candidates of the statement's row, by chunk id."""
    findings, records, embeddings, language, places = row
    records_read = np.frombuffer(
        bytes.fromhex(records or ""), _record_type(len(sent.counted), len(sent.signals))
    )
    rows = np.zeros(len(records_read), row_type(len(sent.boosts)))
    for name in ("chunk", "document", "signature", "signed", "embedded", "pin", "held_at"):
        rows[name] = records_read[name]
    rows["strength"] = records_read["strength"]
    rows["form"], forms = _forms(query, records_read["form"].tolist())
    rows["language"], languages = _languages(language or ())
    if sent.is_wide:
        ranks = [[each.get(name, 0) for name in GENERATORS] for each in places or ()]
        rows["places"] = np.array(ranks, np.uint16).reshape(len(rows), len(GENERATORS))
    for i, name in enumerate(sent.counted):
        rows["counts"][:, sent.boosts.index(name)] = records_read[f"count_{i}"]
    raw = rows["raw"]
    raw[:] = np.nan
    for i, signal in enumerate(sent.signals):
        raw[:, SIGNALS.index(signal)] = records_read[f"score_{i}"]  # NaN where it cannot score
    vectors = None
    if embeddings:
        embedded = int(np.count_nonzero(rows["embedded"]))
        vectors = np.frombuffer(bytes.fromhex(embeddings), ">f2").reshape(embedded, -1).astype(HALF)
    return Candidates(
        query,
        rows,
        vectors,
        sent.boosts,
        forms,
        **_statistics(findings),
        expanded=len(query.related),
        by_meaning=Signal.VECTOR in sent.signals,
        languages=languages,
        is_wide=sent.is_wide,
    )


def _statistics(findings: Mapping[str, Any]) -> dict[str, Any]:
    """The query's statistics, as fields of Candidates."""
    return {
        "terms": tuple(TermStatistic(*values) for values in findings["terms"] or ()),
        "left_out": findings["left_out"],
        "unchecked": findings["unchecked"],
        "unknown": tuple(findings["unknown"] or ()),
        "readings": tuple(Reading(*values) for values in findings["readings"] or ()),
    }


def _forms(query: Query, places: Sequence[int]) -> tuple[Sequence[int], tuple[str, ...]]:
    """Each candidate's form as an index into the returned forms, ABSENT without one; and these
    forms.
    """
    forms = tuple(forms_of(query))
    if not forms:
        return [ABSENT] * len(places), ()
    matched = tuple(dict.fromkeys(forms[place - 1] for place in places if place))
    at = [ABSENT, *(matched.index(form) if form in matched else ABSENT for form in forms)]
    return [at[place] for place in places], matched


def _languages(languages: Sequence[str]) -> tuple[Sequence[int], tuple[str, ...]]:
    """Each candidate's language as an index into the returned codes, ABSENT for none; and these
    codes.
    """
    distinct = tuple(dict.fromkeys(filter(None, languages)))
    at = {code: place for place, code in enumerate(distinct)}
    return [at.get(code, ABSENT) for code in languages], distinct


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
