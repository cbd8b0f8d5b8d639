"""The input of the seed systems' classifiers: the text as typed."""

from __future__ import annotations

from search.domain import Query

# No seed but Mind states its classifier's confidence: a rule that matches is certain.
CERTAIN = 1.0


def typed(query: Query) -> str:
    """The query with its punctuation, quotes and operators, which the seeds do not parse."""
    return query.original or query.text
