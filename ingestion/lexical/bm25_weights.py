"""Lexemes, BM25 term weights and document frequencies of chunks, in SQL, per version.

BM25 (Robertson & Zaragoza 2009) as an inner product of sparse vectors (ADR 1): a chunk stores
tf·(k1+1) / (tf + k1·(1 - b + b·length/average length)) by term; the query contributes the
idf. A term's index is a hash of its lexeme: the SQL function `steelyard_term_id`.

A compound's joined reading and the parts of a name are lexemes more that do not count into the
length (`languages`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg import Cursor
from psycopg.errors import LockNotAvailable

from common import database
from ingestion import events
from ingestion.lexical.bigrams import spaced, spaced_sql
from ingestion.lexical.compounds import names_sql, quoted_sql, with_readings_sql
from ingestion.lexical.languages import text_config
from ingestion.lexical.second_forms import FOLDED_IN_TEXT, LABEL, folded_sql

K1 = 1.2  # Robertson & Zaragoza 2009, section 3.5: 1.2 to 2 for most collections
B = 0.75
# Term weights depend weakly on the average length: at b = .75, 10% more changes a weight of an
# average chunk by under 4%. Beyond that, all chunks of the collection are reweighted.
MAX_DRIFT = 0.10
# A row must fit a page of 8 kB, at 8 bytes a term. Only chunks of over a thousand tokens contain
# more distinct terms; the lightest ones beyond still match, but add nothing to BM25.
MOST_TERMS = 900
REWEIGH_BATCH = 2_000
# The index of pending changes keeps the size of the largest burst between two folds, for an empty
# table: of a million passages 35 MB. Above this it is built anew while its table is empty: a guess.
MOST_INDEX_BYTES = 16_000_000

_WITH_READINGS = with_readings_sql(
    "own.lexemes", "t.config", "concat_ws(E'\\n', %(title)s::text, t.headings, t.body)"
)
# Of a section that goes on from the chunk before, the text has no heading.
_ABOVE = """
steelyard_headings(c.heading_path || ARRAY(
    SELECT place ->> 2 FROM jsonb_array_elements(c.sections) place), c.text)
"""
# The lexemes of each section's names, with its number in place of a position: the title's, those of
# the headings above all sections, and those of its own.
_NAMES = spaced_sql("array_to_string(c.heading_path || (place ->> 2), ' ')")
_NAMES_AND_PARTS = f"""
SELECT concat_ws(' ', names, (SELECT string_agg(parts, ' ') FROM {names_sql("names")} named),
                 (SELECT string_agg(folded, ' ') FROM {folded_sql("names")} folds))
FROM (SELECT %(title)s::text || ' ' || {_NAMES} AS names) own
"""
_NAMED = f"""
    SELECT string_agg(quoted || ':' || numbers, ' ')::tsvector AS section_terms
    FROM (
        SELECT {quoted_sql("named.lexeme")} AS quoted,
               string_agg(least(number, 16383)::text, ',') AS numbers
        FROM jsonb_array_elements(c.sections) WITH ORDINALITY places(place, number),
             unnest(to_tsvector(t.config, ({_NAMES_AND_PARTS}))) named
        GROUP BY named.lexeme
    ) numbered
"""
# The fences (OFFSET 0) keep the planner from computing to_tsvector once for each use of it.
_READ = f"""
UPDATE ingestion_chunk target
SET lexemes = fresh.lexemes, length = fresh.length, terms = fresh.terms,
    section_terms = fresh.section_terms
FROM (
    SELECT c.id, v.lexemes, m.length, w.terms, named.section_terms
    FROM ingestion_chunk c
    CROSS JOIN LATERAL (
        SELECT c.text_config::regconfig AS config,
               {spaced_sql(_ABOVE)} AS headings,
               {spaced_sql("c.text")} AS body
        OFFSET 0
    ) t
    CROSS JOIN LATERAL (
        SELECT setweight(to_tsvector(t.config, %(title)s), 'A')
            || setweight(to_tsvector(t.config, t.headings), 'B')
            || to_tsvector(t.config, t.body) AS lexemes
        OFFSET 0
    ) own
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(cardinality(positions)), 0) AS length FROM unnest(own.lexemes)
        OFFSET 0
    ) m
    CROSS JOIN LATERAL (
        SELECT {_WITH_READINGS} AS lexemes
        OFFSET 0
    ) v
    CROSS JOIN LATERAL ({{weights}}) w
    CROSS JOIN LATERAL ({_NAMED}) named
    WHERE c.version_id = %(version)s AND c.text_config = %(config)s
      AND (%(chunk)s::bigint IS NULL OR c.id = %(chunk)s)
) fresh
WHERE target.id = fresh.id
"""

_TITLE = with_readings_sql(
    "to_tsvector(%(config)s::regconfig, %(title)s)", "%(config)s::regconfig", "%(title)s::text"
)

_WEIGH_AGAIN = """
UPDATE ingestion_chunk target SET terms = fresh.terms
FROM (
    SELECT c.id, w.terms
    FROM ingestion_chunk c, LATERAL (SELECT c.lexemes, c.length OFFSET 0) v,
         LATERAL (SELECT v.length) m, LATERAL ({weights}) w
    WHERE c.collection_id = %(collection)s AND c.text_config = %(config)s
      AND c.id > %(last)s AND c.id <= %(upper)s
) fresh
WHERE target.id = fresh.id
"""

# Two lexemes of a chunk may share an index, about one pair in 10^9: the heavier weight is kept.
# A word that a chunk only has by its folded form counts `FOLDED_IN_TEXT` of an exact one, and once:
# one said often must not come before it.
_WEIGHTS = f"""
    SELECT ('{{' || string_agg(term || ':' || weight, ',') || '}}/1000000000')::sparsevec AS terms
    FROM (
        SELECT steelyard_term_id(lexeme) AS term,
               max(share * times * (%(k1)s + 1)
                   / (times + %(k1)s * (1 - %(b)s + %(b)s * m.length / %(average)s)))::real
               AS weight
        FROM unnest(v.lexemes) AS word(lexeme, positions, labels),
             LATERAL (SELECT cardinality(array_remove(labels, '{LABEL}')) AS exactly) spelt,
             LATERAL (SELECT CASE exactly WHEN 0 THEN {FOLDED_IN_TEXT} ELSE 1 END AS share,
                             greatest(exactly, 1) AS times) counted
        GROUP BY term
        ORDER BY weight DESC
        LIMIT %(most)s
    ) pairs
"""

_TOTALS = """
SELECT coalesce(sum(chunks), 0), coalesce(sum(total_length), 0), coalesce(max(weighed), 0)
FROM (
    SELECT chunks, total_length, weighed_length AS weighed FROM ingestion_corpusstatistics
    WHERE collection_id = %(collection)s AND text_config = %(config)s
    UNION ALL
    SELECT chunks, total_length, 0 FROM ingestion_corpuschange
    WHERE collection_id = %(collection)s AND text_config = %(config)s
) parts
"""

_COUNT_TERMS = """
INSERT INTO ingestion_termchange (collection_id, lexeme, chunks)
SELECT c.collection_id, lexeme, %(sign)s * count(*)
FROM ingestion_chunk c, unnest(tsvector_to_array(c.lexemes)) lexeme
WHERE c.version_id = %(version)s AND c.searchable
  AND (%(chunk)s::bigint IS NULL OR c.id = %(chunk)s)
GROUP BY c.collection_id, lexeme
"""

_COUNT_CHUNKS = """
INSERT INTO ingestion_corpuschange (collection_id, text_config, chunks, total_length)
SELECT c.collection_id, c.text_config, %(sign)s * count(*), %(sign)s * sum(c.length)
FROM ingestion_chunk c
WHERE c.version_id = %(version)s AND c.searchable
  AND (%(chunk)s::bigint IS NULL OR c.id = %(chunk)s)
GROUP BY c.collection_id, c.text_config
"""

# The ids of the frequencies that became 0: to look for them costs a scan of the whole vocabulary.
_FOLD_TERMS = """
WITH gone AS (DELETE FROM ingestion_termchange RETURNING collection_id, lexeme, chunks),
put AS (
    INSERT INTO ingestion_termfrequency (collection_id, lexeme, chunks)
    SELECT collection_id, lexeme, sum(chunks) FROM gone GROUP BY collection_id, lexeme
    HAVING sum(chunks) <> 0
    ORDER BY lexeme, collection_id
    ON CONFLICT (lexeme, collection_id)
    DO UPDATE SET chunks = ingestion_termfrequency.chunks + EXCLUDED.chunks
    RETURNING id, chunks
)
SELECT id FROM put WHERE chunks <= 0
"""

_FOLD_CHUNKS = """
WITH gone AS (
    DELETE FROM ingestion_corpuschange
    RETURNING collection_id, text_config, chunks, total_length
)
INSERT INTO ingestion_corpusstatistics
    (collection_id, text_config, chunks, total_length, weighed_length)
SELECT collection_id, text_config, sum(chunks), sum(total_length), 0 FROM gone
GROUP BY collection_id, text_config
ON CONFLICT (collection_id, text_config)
DO UPDATE SET chunks = ingestion_corpusstatistics.chunks + EXCLUDED.chunks,
              total_length = ingestion_corpusstatistics.total_length + EXCLUDED.total_length
"""


def read_terms(version_id: int, *, title: str, chunk_id: int | None = None) -> None:
    """Compute lexemes, length and term weights of a version's chunks, or of one, in one pass.

    Every chunk also gets the lexemes of `title`, with weight A, and of the headings that its text
    does not repeat, with weight B, so that it matches queries for its context.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT collection_id, text_config, avg(tokens) FROM ingestion_chunk"
            " WHERE version_id = %s AND (%s::bigint IS NULL OR id = %s)"
            " GROUP BY collection_id, text_config",
            [version_id, chunk_id, chunk_id],
        )
        for collection_id, config, tokens in cursor.fetchall():
            # The first chunks of a collection use their own average; `fold` reweights them once it
            # has more data.
            average = _average_length(cursor, collection_id, config) or float(tokens)
            which = {"version": version_id, "chunk": chunk_id, "config": config}
            _execute(cursor, _READ, average, **which, title=spaced(title))


def read_title(document_id: int, title: str, language: str) -> None:
    """Compute the lexemes of a document's title in the configuration of its language.

    `title` is the searchable title: the document's own, with the file name.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE ingestion_document SET title_terms = {_TITLE} WHERE id = %(document)s",
            {"config": text_config(language), "title": spaced(title), "document": document_id},
        )


def count_in(version_id: int, *, chunk_id: int | None = None) -> None:
    """Add a version's searchable chunks, or one, to the document frequencies.

    Runs in the caller's transaction.
    """
    _count(version_id, chunk_id, 1)


def count_out(version_id: int, *, chunk_id: int | None = None) -> None:
    """Subtract a version's searchable chunks, or one, from the frequencies, as in `count_in`."""
    _count(version_id, chunk_id, -1)


def fold() -> bool:
    """Move all pending changes into the totals; return False if another process is doing so.

    Then reweight the chunks of each collection whose average length has drifted.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        if not database.try_hold(database.TERM_STATISTICS):
            return False
        cursor.execute(_FOLD_TERMS)
        unused = [pk for (pk,) in cursor.fetchall()]
        cursor.execute(_FOLD_CHUNKS)
        cursor.execute("DELETE FROM ingestion_termfrequency WHERE id = ANY(%s)", [unused])
    _shrink_index()
    _reweigh_drifted()
    return True


def _average_length(cursor: Any, collection_id: int, config: str) -> float:
    """The average length for the weights of new chunks; 0 if the collection has none yet."""
    cursor.execute(_TOTALS, {"collection": collection_id, "config": config})
    chunks, total, weighed = cursor.fetchone()
    return float(weighed) or (float(total) / float(chunks) if chunks > 0 else 0.0)


def _execute(cursor: Any, statement: str, average: float, **params: Any) -> None:
    """Run the statement, prepared if it may be: to plan it takes as long as two passages."""
    values = {"k1": K1, "b": B, "average": max(average, 1.0), "most": MOST_TERMS, **params}
    if database.may_prepare():
        cursor = database.preparing(Cursor)
    cursor.execute(statement.replace("{weights}", _WEIGHTS), values)


def _count(version_id: int, chunk_id: int | None, sign: int) -> None:
    which = {"version": version_id, "chunk": chunk_id, "sign": sign}
    with connection.cursor() as cursor:
        for statement in (_COUNT_TERMS, _COUNT_CHUNKS):
            cursor.execute(statement, which)


def _shrink_index() -> None:
    """Rebuild the index of pending changes if it is large and its table is empty after a vacuum.

    That takes milliseconds, with both locked; if they are in use, the next fold tries again.
    """
    with suppress(OperationalError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_relation_size('ingestion_termchange') = 0"
            " AND pg_relation_size('term_change_lexeme') > %s",
            [MOST_INDEX_BYTES],
        )
        if cursor.fetchone()[0]:
            cursor.execute("SET LOCAL lock_timeout = '100ms'")
            cursor.execute("REINDEX INDEX term_change_lexeme")


def _reweigh_drifted() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, collection_id, text_config, total_length::float / chunks"
            " FROM ingestion_corpusstatistics WHERE chunks > 0 AND"
            " abs(total_length::float / chunks - weighed_length) > %s * weighed_length",
            [MAX_DRIFT],
        )
        drifted = cursor.fetchall()
    for pk, collection_id, config, average in drifted:
        # First the average for new chunks, then the existing chunks.
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE ingestion_corpusstatistics SET weighed_length = %s WHERE id = %s",
                [average, pk],
            )
        _reweigh(collection_id, config, average)


def _reweigh(collection_id: int, config: str, average: float) -> None:
    """Reweight every chunk of a collection, in batches so that searches do not wait long."""
    last: int | None = 0
    while last is not None:
        # Another process may hold a row of the batch and wait for another. Give up before Postgres
        # looks for a deadlock, which it does after a second, and ends either.
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '500ms'")
                last = _reweigh_batch(cursor, collection_id, config, average, last)
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise


def _reweigh_batch(
    cursor: Any, collection_id: int, config: str, average: float, last: int
) -> int | None:
    """Reweight the next chunks after `last`; returns the last one's id, None if there is none."""
    # In the order of their ids: two processes may reweigh at once, and an update has no order.
    cursor.execute(
        "SELECT max(id) FROM (SELECT id FROM ingestion_chunk WHERE collection_id = %s"
        " AND text_config = %s AND id > %s ORDER BY id LIMIT %s FOR NO KEY UPDATE) batch",
        [collection_id, config, last, REWEIGH_BATCH],
    )
    upper: int | None = cursor.fetchone()[0]
    if upper is not None:
        batch = {"collection": collection_id, "config": config, "last": last, "upper": upper}
        _execute(cursor, _WEIGH_AGAIN, average, **batch)
        cursor.execute(
            "SELECT DISTINCT version_id FROM ingestion_chunk WHERE collection_id = %(collection)s"
            " AND text_config = %(config)s AND id > %(last)s AND id <= %(upper)s AND searchable",
            batch,
        )
        events.tell_of_index(*(version for (version,) in cursor.fetchall()))
    return upper
