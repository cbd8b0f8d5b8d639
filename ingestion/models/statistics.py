"""Document frequencies for BM25 with their recount, by collection.

Writers only insert: when a version becomes searchable or stops being so, its counts go into the
Change tables, so that workers never wait for one another. `bm25_weights.fold` moves them into the
totals; readers sum both. An error there, or in a restored database, would slightly change every
keyword score without notice: `differences` detects it, `recount` repairs it.
"""

from __future__ import annotations

from django.db import connection, models, transaction
from django.utils.translation import gettext_lazy as _

from common import database
from ingestion.models.collections import Collection


class TermFrequency(models.Model):
    """The number of searchable chunks of a collection with a lexeme, as of the last fold."""

    # Without an index of its own: only the deletion of a collection looks for it alone.
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+", db_index=False)
    lexeme = models.TextField()
    chunks = models.BigIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint("lexeme", "collection", name="term_once_per_collection"),
        )

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunks}"


class TermChange(models.Model):
    """A pending change of a TermFrequency.

    In the database `id` has no index: a row is written for each lexeme of a version, and read by
    its lexeme or with all others.
    """

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+", db_index=False)
    lexeme = models.TextField()
    chunks = models.IntegerField()

    class Meta:
        indexes = (models.Index(fields=("lexeme", "collection"), name="term_change_lexeme"),)

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunks:+d}"


class CorpusStatistics(models.Model):
    """Number and total length of a collection's searchable chunks, by text configuration."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    text_config = models.CharField(max_length=64)
    chunks = models.BigIntegerField()
    total_length = models.BigIntegerField()
    weighed_length = models.FloatField(
        default=0, help_text=_("Average length used for the stored weights; 0: none yet.")
    )

    class Meta:
        constraints = (
            models.UniqueConstraint("collection", "text_config", name="corpus_once_per_config"),
        )

    def __str__(self) -> str:
        return f"{self.text_config}: {self.chunks} chunks"


class CorpusChange(models.Model):
    """A pending change of a CorpusStatistics row."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    text_config = models.CharField(max_length=64)
    chunks = models.IntegerField()
    total_length = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.text_config}: {self.chunks:+d} chunks"


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
    """The collections with wrong statistics, as (id, recorded passages, counted passages).

    One statement over the chunks, not their words: seconds for a million passages.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DIFFERENCES)
        return [
            (int(pk), int(recorded), int(counted)) for pk, recorded, counted in cursor.fetchall()
        ]


def recount() -> None:
    """Recount all document frequencies; documents may be added and removed meanwhile.

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
