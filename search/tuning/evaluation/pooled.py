"""Wide candidate sets as bytes and JSON: small enough to keep for every golden query."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from search.domain import HALF, Candidates, Query, Reading, TermStatistic, row_type


def facts(candidates: Candidates, depth: int) -> dict[str, Any]:
    """All but the arrays and the query, as JSON; `depth`: the most candidates of a signal."""
    vectors = candidates.embeddings
    return {
        "depth": depth,
        "boosts": list(candidates.boosts),
        "forms": list(candidates.forms),
        "terms": [[term.lexeme, term.chunks, term.idf] for term in candidates.terms],
        "readings": [[each.config, each.chunks, each.words] for each in candidates.readings],
        "by_meaning": candidates.by_meaning,
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
        readings=tuple(Reading(*values) for values in facts["readings"]),
        by_meaning=facts["by_meaning"],
        is_wide=True,
        at=at,
    )
