"""Q3: candidates and scores from an engine, as parts of the retrieval statement.

The engine's candidates are checked against the scope like any others, so that a point that is out
of date is never one; what the engine has not scored is scored by Postgres.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import BooleanField, FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.models import Chunk
from search.domain import Signal
from search.signals.registry import SignalPart, SignalSQL


@dataclass(frozen=True, slots=True)
class External:
    """An engine's candidates: ids by signal, the best first, and the scores of all of them.

    `scores` has a score for each of `ids`, by signal; None where the engine has none.
    """

    candidates: Mapping[Signal, Sequence[int]]
    ids: Sequence[int]
    scores: Mapping[Signal, Sequence[float | None]]

    @property
    def shape(self) -> tuple[frozenset[Signal], frozenset[Signal]]:
        """What the text of the statement depends on."""
        return frozenset(self.candidates), frozenset(self.scores)

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the tables."""
        candidates = {
            f"brought_{signal.value}": list(ids) for signal, ids in self.candidates.items()
        }
        scores = {f"engine_{signal.value}": list(each) for signal, each in self.scores.items()}
        return {**candidates, **scores, "engine_ids": list(self.ids)}

    def tables(self) -> str:
        """The common table of the engine's scores."""
        arrays = ["%(engine_ids)s::bigint[]"]
        arrays += [f"%(engine_{signal.value})s::float8[]" for signal in self.scores]
        columns = ", ".join(("id", *(signal.value for signal in self.scores)))
        return f"engine({columns}) AS MATERIALIZED (SELECT * FROM unnest({', '.join(arrays)})),\n"

    def instead_of(
        self, part: SignalPart, own: SignalSQL, chunks: QuerySet[Chunk], depth: int
    ) -> SignalSQL:
        """The signal's SQL with the engine's candidates and scores in place of Postgres' `own`."""
        signal = part.signal
        if signal in self.scores:
            own = replace(own, score=f"coalesce(engine.{signal.value}, {own.score})")
        if signal not in self.candidates:
            return own
        name = f"brought_{signal.value}"
        table = (
            f"{name}(id, place) AS MATERIALIZED"
            f" (SELECT * FROM unnest(%({name})s::bigint[]) WITH ORDINALITY),\n"
        )
        # An array, which Postgres evaluates once: the condition uses the primary key.
        among = RawSQL(
            f"ingestion_chunk.id = ANY(ARRAY(SELECT id FROM {name}))",
            (),
            output_field=BooleanField(),
        )
        place = RawSQL(
            f"(SELECT place FROM {name} found WHERE found.id = ingestion_chunk.id)",
            (),
            output_field=FloatField(),
        )
        find = chunks.filter(among).order_by(place).values("pk")[:depth]
        # Tables of the score itself stay; those that find candidates have no reader left.
        return replace(own, find=find, tables=part.weights_sql + table)


JOIN = "LEFT JOIN engine ON engine.id = c.id\n"
