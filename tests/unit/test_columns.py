"""The statement's one row as columns: what Postgres sends for a record, as numpy reads it."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from search.domain import ABSENT, SIGNALS, Signal
from search.query import parse
from search.retrieval.columns import Sent, read

FINDINGS = {"terms": None, "left_out": 0, "unchecked": False, "unknown": None, "readings": None}
INTEGER, LONG, DOUBLE = (23, ">i"), (20, ">q"), (701, ">d")


def record(*values: tuple[tuple[int, str], float]) -> bytes:
    """A record by `record_send`: the number of fields, then type, length and value of each."""
    parts = [struct.pack(">i", len(values))]
    for (oid, form), value in values:
        data = struct.pack(form, value)
        parts.append(struct.pack(">Ii", oid, len(data)) + data)
    return b"".join(parts)


def candidate(chunk: int, score: float, *, count: int = 0, form: int = 0) -> bytes:
    fixed: list[Any] = [(LONG, chunk), (LONG, 7), (LONG, -1), (INTEGER, 1), (INTEGER, 1)]
    fixed += [(INTEGER, ABSENT), (INTEGER, form), (INTEGER, 2), (DOUBLE, 0.5)]
    return record(*fixed, (LONG, count), (DOUBLE, score))


SENT = Sent(("first", "second"), ("second",), (Signal.TITLE,))


def test_records_become_columns() -> None:
    vectors = np.array([[1, 0.5], [0, 0.25]], ">f2")
    records = candidate(3, 0.25) + candidate(1 << 40, float("nan"), count=2, form=1)
    query = parse("INC-4711", ())
    found = read(query, (FINDINGS, records.hex(), vectors.tobytes().hex(), ["", "en"], None), SENT)
    rows = found.rows
    assert rows["chunk"].tolist() == [3, 1 << 40]
    assert rows["counts"].tolist() == [[0, 0], [0, 2]]
    assert rows["signature"].tolist() == [-1, -1]
    title = SIGNALS.index(Signal.TITLE)
    assert rows["raw"][0, title] == 0.25
    assert np.isnan(rows["raw"][1]).all()
    assert np.isnan(np.delete(rows["raw"], title, axis=1)).all()
    assert rows["language"].tolist() == [ABSENT, 0]
    assert found.languages == ("en",)
    assert found.embeddings is not None
    assert found.embeddings.tolist() == [[1, 0.5], [0, 0.25]]
    assert not found.by_meaning


def test_nothing_found_is_an_empty_set() -> None:
    found = read(parse("x", ()), (FINDINGS, None, None, None, None), SENT)
    assert len(found) == 0
    assert found.embeddings is None
    assert found.languages == found.forms == ()
