"""W3: who leads the groups of a ranking on a sheet: what tells how sure a ranking is."""

from __future__ import annotations

import numpy as np

from ingestion.lexical import signatures
from search.domain import Candidate, Explanation, Hit, IdentifierMatch, Signal
from search.ranking.confidence import FIRST_PAGE
from search.tuning.evaluation.pooled import ABSENT, SIGNALS
from search.tuning.evaluation.sheet import Integers, Shape

_UNEXPLAINED = Explanation.of(())
_READ = (Signal.VECTOR, Signal.KEYWORD)


def leading_hits(shape: Shape, order: Integers) -> list[Hit]:
    """The best hits of the first ten groups, and of all groups those best by each signal.

    `order` are the columns of the query's candidates, best first. They tell
    `confidence.confidence` what the whole ranking would.
    """
    columns = _leaders(shape, order)
    shown = columns[:FIRST_PAGE]
    if len(columns) > FIRST_PAGE:
        shown += [_best(shape, columns, signal) for signal in _READ]
    return [
        Hit(_candidate(shape, column), _UNEXPLAINED, place)
        for place, column in enumerate(shown, start=1)
    ]


def _leaders(shape: Shape, order: Integers) -> list[int]:
    """The columns that `ranking.grouping` makes the best hits of groups, in their order."""
    documents = shape.case.documents[1][shape.rows]
    near = shape.case.near(signatures.MAX_DISTANCE)
    if not near:
        _, first = np.unique(documents[order], return_index=True)
        leaders: list[int] = order[np.sort(first)].tolist()
        return leaders
    pool, seen, grouped, leaders = shape.case.pool, set[int](), set[int](), []
    forms, pins = pool.rows["form"], pool.rows["pin"]
    for column in order.tolist():
        row, document = int(shape.rows[column]), int(documents[column])
        if document not in grouped:
            likes = (other for other in near.get(row, ()) if other in seen)
            free = pins[row] == ABSENT
            if not (free and any(forms[row] in (ABSENT, forms[other]) for other in likes)):
                grouped.add(document)
                leaders.append(column)
        seen.add(row)
    return leaders


def _best(shape: Shape, columns: list[int], signal: Signal) -> int:
    """The column with the highest raw score; of equals the one with the lowest chunk id."""
    rows = shape.rows[columns]
    raw = np.nan_to_num(shape.case.pool.rows["raw"][rows, SIGNALS.index(signal)])
    if signal is Signal.VECTOR and not shape.by_meaning:
        raw = np.zeros(len(rows))
    # A pool's rows stand by chunk id.
    return columns[int(np.lexsort((rows, -raw))[0])]


def _candidate(shape: Shape, column: int) -> Candidate:
    """As much of the candidate as a confidence reads."""
    pool = shape.case.pool
    row = pool.rows[shape.rows[column]]
    scores = dict(zip(SIGNALS, row["raw"].tolist(), strict=True))
    raw = {signal: scores[signal] for signal in _READ if scores[signal] == scores[signal]}
    if not shape.by_meaning:
        raw.pop(Signal.VECTOR, None)
    form = int(row["form"])
    return Candidate(
        chunk_id=int(row["chunk"]),
        document_id=int(row["document"]),
        raw=raw,
        identifier=(
            IdentifierMatch(pool.forms[form], float(row["strength"]), int(row["held_at"]))
            if form != ABSENT
            else None
        ),
        pin=None if row["pin"] == ABSENT else int(row["pin"]),
    )
