"""A step after the ranking: results are grouped by document, near-duplicates under the best."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from search.domain import ABSENT, Group, Integers
from search.ranking.batch import Prepared

T = TypeVar("T")


def grouped(prepared: Prepared, order: Integers, hits: Sequence[T]) -> list[Group[T]]:
    """The groups of a ranking, in the order of their best columns; `hits` stand for the columns.

    A column joins its document's group; else that of its best near-duplicate before it; else it
    starts a group. A pinned candidate is never folded under another document, nor one that matches
    an identifier of the query under one that does not match the same.
    """
    duplicates = prepared.candidates.duplicates
    documents, rows = prepared.documents.tolist(), prepared.rows.tolist()
    if not duplicates:
        return _by_document(zip(order.tolist(), hits, strict=True), documents)
    gathered: list[tuple[T, list[T], list[T]]] = []
    by_document: dict[int, int] = {}
    by_row: dict[int, int] = {}
    for column, hit in zip(order.tolist(), hits, strict=True):
        row, document = rows[column], documents[column]
        group = by_document.get(document)
        original = None
        if group is None:
            original = _original(prepared, row, duplicates.get(row, ()), by_row)
        if group is not None:
            gathered[group][1].append(hit)
        elif original is not None:
            group = by_row[original]
            gathered[group][2].append(hit)
        else:
            group = by_document[document] = len(gathered)
            gathered.append((hit, [], []))
        by_row[row] = group
    return [Group(best, tuple(folded), tuple(copies)) for best, folded, copies in gathered]


def _by_document(ranked: Iterable[tuple[int, T]], documents: Sequence[int]) -> list[Group[T]]:
    """The groups where nothing is a near-duplicate."""
    gathered: dict[int, list[T]] = {}
    for column, hit in ranked:
        gathered.setdefault(documents[column], []).append(hit)
    return [Group(best, tuple(folded)) for best, *folded in gathered.values()]


def leaders(prepared: Prepared, order: Integers) -> list[int]:
    """The groups' best columns, in order."""
    if prepared.candidates.duplicates:
        return [group.best for group in grouped(prepared, order, order.tolist())]
    _, first = np.unique(prepared.documents[order], return_index=True)
    best: list[int] = order[np.sort(first)].tolist()
    return best


def _original(
    prepared: Prepared, row: int, alike: Collection[int], placed: Mapping[int, int]
) -> int | None:
    """The best placed row under which its near-duplicate `row` may be folded, or None.

    `placed` has the rows in the ranking's order.
    """
    candidates = prepared.candidates.rows
    if not alike or candidates["pin"][row] != ABSENT:
        return None
    own, forms = candidates["form"][row], candidates["form"]
    fitting = (row for row in placed if row in alike and (own == ABSENT or forms[row] == own))
    return next(fitting, None)
