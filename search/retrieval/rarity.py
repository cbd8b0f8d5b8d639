"""In how many passages of the readable collections a word occurs; one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from common.replicas import connection
from ingestion.models.library import Viewer
from search.retrieval.filters import readable_to
from search.retrieval.signal_sql import SEARCHED_CONFIGS

_STATEMENT = f"""
WITH readable(id) AS MATERIALIZED ({{readable}}),
{SEARCHED_CONFIGS}
asked AS (
    SELECT DISTINCT word, l.lexeme
    FROM unnest(%(words)s::text[]) word, config,
         unnest(to_tsvector(config.text_config::regconfig, word)) l
)
SELECT word, max(chunks) FROM (
    SELECT word, sum(f.chunks)::bigint AS chunks
    FROM asked JOIN (
        SELECT collection_id, lexeme, chunks FROM ingestion_termfrequency
        UNION ALL
        SELECT collection_id, lexeme, chunks FROM ingestion_termchange
    ) f USING (lexeme)
    WHERE f.collection_id IN (SELECT id FROM readable)
    GROUP BY word, lexeme
) counted
GROUP BY word
"""


def passages_with(words: Sequence[str], viewer: Viewer) -> Mapping[str, int]:
    """For each word the number of readable passages with its stem; unknown words are missing."""
    if not words:
        return {}
    readable, params = readable_to(viewer, "readable_")
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT.format(readable=readable), {"words": list(words), **params})
        return {word: int(count) for word, count in cursor.fetchall() if count and count > 0}
