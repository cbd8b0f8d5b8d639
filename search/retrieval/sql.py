"""The pieces a signal brings to the one statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from ingestion.models import Chunk


@dataclass(frozen=True, slots=True)
class SignalSQL:
    """One signal's part of the statement.

    `find` selects the ids of its candidates, best first, cut to the profile's depth; None when
    it only scores. `score` is an expression over chunk `c` and document `d`, NULL where the
    signal cannot score the chunk. Both may read the common tables `term` and `question`.
    """

    score: str
    find: QuerySet[Chunk, Any] | None = None
    score_params: Mapping[str, Any] = field(default_factory=dict)


def compiled(queryset: QuerySet[Any, Any]) -> tuple[str, tuple[Any, ...]]:
    """A queryset's SQL and its positional parameters."""
    sql, params = queryset.query.sql_with_params()
    return sql, tuple(params)
