"""The statement's one row: all candidates as the bytes of one array, and their columns.

A row for each candidate would become a tuple of Python objects, one by one; the binary form of
equal records lies side by side, as numpy reads it. `sent` writes the SQL, `read` the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from search.domain import (
    ABSENT,
    GENERATORS,
    SIGNALS,
    Candidates,
    Query,
    Signal,
    TermStatistic,
    forms_of,
    row_type,
)
from search.domain.candidates import HALF
from search.signals.query_terms import AskedWords

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

_SENT = """
SELECT {unchecked},
       string_agg(record_send(ROW({record})), ''::bytea ORDER BY id),
       {embeddings},
       array_agg(language ORDER BY id),
       {places}
FROM scored
"""
_EMBEDDINGS = "string_agg(embedding, ''::bytea ORDER BY id)"


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


def sent(counted: int, signals: int, unchecked: str, *, embeddings: bool, is_wide: bool) -> str:
    """The last SELECT of a statement, over `scored` with so many boosts and then signals.

    Their columns are value_0 and so on. `unchecked` is SQL for whether chunks with all words of the
    query's phrases were left unread.
    """
    record = [sql for _, sql, _ in _FIXED]
    record += [f"value_{i}::int8" for i in range(counted)]
    record += [f"coalesce(value_{i}, 'NaN')::float8" for i in range(counted, counted + signals)]
    return _SENT.format(
        unchecked=unchecked,
        record=", ".join(record),
        embeddings=_EMBEDDINGS if embeddings else "NULL::bytea",
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


def read(query: Query, words: AskedWords, row: Sequence[Any], sent: Sent) -> Candidates:
    """The candidates of the statement's row, by chunk id."""
    unchecked, records, embeddings, language, places = row
    records_read = np.frombuffer(records or b"", _record_type(len(sent.counted), len(sent.signals)))
    rows = np.zeros(len(records_read), row_type(len(sent.boosts)))
    for name, _, _ in _FIXED:
        rows[name] = records_read[name]
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
        vectors = np.frombuffer(embeddings, ">f2").reshape(embedded, -1).astype(HALF)
    return Candidates(
        query,
        rows,
        vectors,
        sent.boosts,
        forms,
        terms=tuple(
            TermStatistic(term.lexeme, term.chunks, term.idf, int(term.times))
            for term in words.terms.items
            if term.seeks
        ),
        left_out=words.terms.left_out,
        unchecked=unchecked,
        unknown=words.unknown,
        readings=words.readings,
        expanded=len(query.related),
        by_meaning=Signal.VECTOR in sent.signals,
        languages=languages,
        is_wide=sent.is_wide,
    )


def _forms(query: Query, places: Sequence[int]) -> tuple[Sequence[int], tuple[str, ...]]:
    """Each candidate's form as an index into the returned forms, ABSENT without one; and these
    forms.
    """
    forms = tuple(forms_of(query.identifiers))
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
