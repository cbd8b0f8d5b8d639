"""Q3: SQL that counts the matches of a profile's boosts in the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from search.domain import Boost, Query
from search.ranking.boosts import anchors
from search.retrieval.sql import literally


def counts(boosts: Sequence[Boost], query: Query) -> tuple[dict[str, str], dict[str, Any]]:
    """An expression over chunk `c` by name of each boost that can match, and their parameters.

    Each counts the boost's patterns that match the chunk's text.
    """
    expressions: dict[str, str] = {}
    params: dict[str, Any] = {}
    for place, boost in enumerate(boosts):
        sought = patterns(boost, query.original)
        if not sought:
            continue
        params[f"boost_{place}"] = list(sought)
        params[f"boost_kinds_{place}"] = list(boost.kinds)
        kinds = f"c.kind = ANY(%(boost_kinds_{place})s::text[]) AND " if boost.kinds else ""
        expressions[boost.name] = (
            f"(SELECT count(*) FROM unnest(%(boost_{place})s::text[]) p WHERE {kinds}c.text ~ p)"
        )
    return expressions, params


def patterns(boost: Boost, text: str) -> tuple[str, ...]:
    """The Postgres regular expressions of a boost for a query, one per anchor.

    Empty: nothing can match; ("",): every chunk of the boost's kinds does.
    """
    if not boost.anchor:
        return (boost.pattern,)
    template = boost.pattern or "{anchor}"
    return tuple(template.replace("{anchor}", literally(each)) for each in anchors(boost, text))
