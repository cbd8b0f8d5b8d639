"""What follows the order: superseded documents are put behind those that replace them; groups
hold the passages of a document together, near-duplicates under the best.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from search.domain import ABSENT, Floats, Group, Integers
from search.ranking.batch import Prepared
from search.ranking.pins_and_tiers import PLAIN
from search.ranking.rank import Ranked, ordered

STEP = 1e-6  # between the scores of two documents that `put_behind` orders


def put_behind(ranked: Ranked, behind: Sequence[Mapping[int, Sequence[int]]]) -> Ranked:
    """The rankings with each document after the best passages of the documents that must precede
    it.

    `behind` has these documents by document, for each query; all of them are candidates. A passage
    that comes before gets a score below theirs, and their tier. Pinned passages stay, and so do
    those with an identifier of the query that the preceding document lacks: the question names it.
    """
    if not any(behind):
        return ranked
    scores, tiers, order = ranked.scores.copy(), ranked.tiers.copy(), ranked.order.copy()
    lowered: dict[int, dict[int, float]] = {}
    for place, pairs in enumerate(behind):
        if not pairs:
            continue
        columns, each = ranked.columns(place), ranked.batch.prepared[place]
        documents = each.candidates.rows["document"][each.rows]
        before = scores[place].copy()
        # Until nothing moves: a document may be behind one that is itself moved.
        for _ in pairs:
            unmoved = columns
            for pair in pairs.items():
                if _lower(documents, columns, scores[place], tiers[place], *pair):
                    columns = ordered(columns, scores[place], tiers[place])
            if columns is unmoved:
                break
        order[place, : len(each)] = columns
        loss = before - scores[place]
        lowered[place] = {at: float(loss[at]) for at in np.flatnonzero(loss).tolist()}
    return replace(ranked, order=order, scores=scores, tiers=tiers, lowered=lowered)


def _lower(
    documents: Integers,
    columns: Integers,
    scores: Floats,
    tiers: Integers,
    document: int,
    others: Sequence[int],
) -> bool:
    """Move a document's passages behind the best of the other documents; return whether any did."""
    ordered = documents[columns]
    place = max(int(np.argmax(ordered == other)) for other in others)
    limit, ahead = columns[place], columns[:place][ordered[:place] == document]
    ahead = ahead[(tiers[ahead] >= 0) & ((tiers[ahead] >= PLAIN) | (tiers[limit] < PLAIN))]
    if not len(ahead):
        return False
    steps = STEP * (1 + scores[ahead].max() - scores[ahead])
    scores[ahead] = np.minimum(scores[ahead], scores[limit] - steps)
    tiers[ahead] = tiers[limit]
    return True


def grouped(prepared: Prepared, order: Integers) -> list[Group[int]]:
    """The groups of a ranking, in the order of their best columns.

    A column joins its document's group; else that of its best near-duplicate before it; else it
    starts a group. A pinned candidate is never folded under another document, nor one that matches
    an identifier of the query under one that does not match the same.
    """
    duplicates = prepared.candidates.duplicates
    documents, rows = prepared.documents.tolist(), prepared.rows.tolist()
    if not duplicates:
        return _by_document(order.tolist(), documents)
    gathered: list[tuple[int, list[int], list[int]]] = []
    by_document: dict[int, int] = {}
    by_row: dict[int, int] = {}
    for column in order.tolist():
        row, document = rows[column], documents[column]
        group = by_document.get(document)
        original = None
        if group is None:
            original = _original(prepared, row, duplicates.get(row, ()), by_row)
        if group is not None:
            gathered[group][1].append(column)
        elif original is not None:
            group = by_row[original]
            gathered[group][2].append(column)
        else:
            group = by_document[document] = len(gathered)
            gathered.append((column, [], []))
        by_row[row] = group
    return [Group(best, tuple(folded), tuple(copies)) for best, folded, copies in gathered]


def _by_document(order: Sequence[int], documents: Sequence[int]) -> list[Group[int]]:
    """The groups where nothing is a near-duplicate."""
    gathered: dict[int, list[int]] = {}
    for column in order:
        gathered.setdefault(documents[column], []).append(column)
    return [Group(best, tuple(folded)) for best, *folded in gathered.values()]


def leaders(prepared: Prepared, order: Integers) -> list[int]:
    """The groups' best columns, in order."""
    if prepared.candidates.duplicates:
        return [group.best for group in grouped(prepared, order)]
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
