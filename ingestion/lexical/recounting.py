"""Whether the document frequencies equal the chunks that they count, and counting them anew.

They are kept by adding and subtracting (`terms`): a fault of that, or of a restored database, would
stay unnoticed and shift every keyword score a little.
"""

from __future__ import annotations

from django.db import connection, transaction

from common import database
from ingestion.models import CorpusStatistics, TermFrequency
from ingestion.models.statistics import CorpusChange, TermChange

_DIFFERENCES = """
WITH stated AS (
    SELECT collection_id, text_config, sum(chunks) AS chunks, sum(total_length) AS length FROM (
        SELECT collection_id, text_config, chunks, total_length FROM ingestion_corpusstatistics
        UNION ALL
        SELECT collection_id, text_config, chunks, total_length FROM ingestion_corpuschange
    ) parts GROUP BY 1, 2
), counted AS (
    SELECT collection_id, text_config, count(*) AS chunks, sum(length) AS length
    FROM ingestion_chunk WHERE searchable GROUP BY 1, 2
)
SELECT collection_id, coalesce(stated.chunks, 0)::bigint, coalesce(counted.chunks, 0)::bigint
FROM stated FULL JOIN counted USING (collection_id, text_config)
WHERE coalesce(stated.chunks, 0) <> coalesce(counted.chunks, 0)
   OR coalesce(stated.length, 0) <> coalesce(counted.length, 0)
ORDER BY collection_id
"""
_TERMS = """
INSERT INTO ingestion_termfrequency (collection_id, lexeme, chunks)
SELECT c.collection_id, lexeme, count(*)
FROM ingestion_chunk c, unnest(tsvector_to_array(c.lexemes)) lexeme
WHERE c.searchable GROUP BY 1, 2
"""
_CHUNKS = """
INSERT INTO ingestion_corpusstatistics
    (collection_id, text_config, chunks, total_length, weighed_length)
SELECT c.collection_id, c.text_config, count(*), sum(c.length),
       coalesce(max(before.weighed_length), 0)
FROM ingestion_chunk c LEFT JOIN pg_temp.weighed before
  ON before.collection_id = c.collection_id AND before.text_config = c.text_config
WHERE c.searchable GROUP BY 1, 2
"""


def differences() -> list[tuple[int, int, int]]:
    """The collections whose statistics are wrong: id, passages stated, passages counted.

    One statement over the chunks, not their words: seconds for a million passages.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DIFFERENCES)
        return [
            (int(pk), int(recorded), int(counted)) for pk, recorded, counted in cursor.fetchall()
        ]


def recount() -> None:
    """Count all document frequencies anew, while documents come and go.

    One snapshot for all statements: what becomes searchable meanwhile adds its own change, which
    this neither sees nor removes. Must not run within a transaction.
    """
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        database.hold(database.TERM_STATISTICS)
        cursor.execute(
            "CREATE TEMPORARY TABLE weighed ON COMMIT DROP AS"
            " SELECT collection_id, text_config, weighed_length FROM ingestion_corpusstatistics"
        )
        for model in (TermChange, CorpusChange, TermFrequency, CorpusStatistics):
            model._default_manager.all().delete()
        cursor.execute(_TERMS)
        cursor.execute(_CHUNKS)
