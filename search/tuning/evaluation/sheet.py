"""Golden queries with their candidates and judgements, batched in arrays; candidates as bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from search.domain import (
    HALF,
    Candidates,
    Floats,
    Integers,
    Query,
    QueryClass,
    Reading,
    TermStatistic,
    row_type,
)
from search.ranking import Batch

# The discount of a gain at ranks 1 to 10: nDCG@10 as in trec_eval.
DISCOUNTS = 1 / np.log2(np.arange(2, 12))


@dataclass(frozen=True, eq=False)
class Case:
    """A query with a candidate pool and its judgements: grades by document.

    `query_class`: overrides the classifier's class. `must_be_first` is a document.
    """

    key: str
    pool: Candidates
    grades: Mapping[int, int] = field(default_factory=dict)
    query_class: QueryClass | None = None
    must_be_first: int | None = None

    @cached_property
    def answers(self) -> int:
        """The number of relevant documents, in the pool or not."""
        return sum(grade > 0 for grade in self.grades.values())

    @cached_property
    def ideal(self) -> float:
        """The discounted gain of the ideal ranking of all judged documents, in its first ten."""
        best = sorted(self.grades.values(), reverse=True)[: len(DISCOUNTS)]
        return float((np.array(best, np.float64) * DISCOUNTS[: len(best)]).sum())

    @cached_property
    def gains(self) -> Integers:
        """The grades of the pool's documents, in their order; 0 for those without a judgement."""
        return np.array([self.grades.get(int(pk), 0) for pk in self.pool.documents[0]], np.int64)


@dataclass(frozen=True, eq=False)
class Sheet:
    """A batch of cases, ready to be ranked and measured. `gains` are grades by column."""

    cases: tuple[Case, ...]
    batch: Batch
    gains: Integers

    @classmethod
    def of(cls, cases: Sequence[Case], batch: Batch) -> Sheet:
        gains = np.zeros(batch.valid.shape, np.int64)
        for place, (case, prepared) in enumerate(zip(cases, batch.prepared, strict=True)):
            gains[place, : len(prepared)] = case.gains[prepared.documents]
        return cls(tuple(cases), batch, gains)

    @cached_property
    def answers(self) -> tuple[Floats, Floats]:
        """The number of relevant documents and the ideal gain, by query."""
        counts = np.array([case.answers for case in self.cases], np.float64)
        return counts, np.array([case.ideal for case in self.cases], np.float64)


def facts(candidates: Candidates, depth: int) -> dict[str, Any]:
    """All but the arrays and the query, as JSON; `depth`: the most candidates of a signal."""
    vectors = candidates.embeddings
    return {
        "depth": depth,
        "boosts": list(candidates.boosts),
        "forms": list(candidates.forms),
        "terms": [[each.lexeme, each.chunks, each.idf, each.times] for each in candidates.terms],
        "unknown": list(candidates.unknown),
        "readings": [[each.config, each.chunks, each.words] for each in candidates.readings],
        "languages": list(candidates.languages),
        "by_meaning": candidates.by_meaning,
        "reranked": sorted(candidates.reranked.items()),
        "expanded": candidates.expanded,
        "dimensions": 0 if vectors is None else int(vectors.shape[1]),
    }


def from_facts(
    query: Query, facts: Mapping[str, Any], rows: bytes, embeddings: bytes, at: datetime | None
) -> Candidates:
    """The candidate set that `facts` and the arrays' bytes describe."""
    boosts = tuple(facts["boosts"])
    return Candidates(
        query,
        np.frombuffer(rows, row_type(len(boosts))),
        np.frombuffer(embeddings, HALF).reshape(-1, facts["dimensions"] or 1),
        boosts,
        tuple(facts["forms"]),
        terms=tuple(TermStatistic(*values) for values in facts["terms"]),
        unknown=tuple(facts["unknown"]),
        readings=tuple(Reading(*values) for values in facts["readings"]),
        by_meaning=facts["by_meaning"],
        reranked=dict(facts.get("reranked", ())),
        languages=tuple(facts["languages"]),
        expanded=facts["expanded"],
        is_wide=True,
        at=at,
    )
