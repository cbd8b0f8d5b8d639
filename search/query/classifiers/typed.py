"""What the seed systems' classifiers read: the text as it was typed."""

from __future__ import annotations

from search.domain import Query

# None of the seeds but Mind states how sure its classifier is: a rule that fits is certain.
CERTAIN = 1.0


def typed(query: Query) -> str:
    """The query with its punctuation, quotes and operators, which the seeds do not read apart."""
    return query.original or query.text
