"""A BM25 index of the extension pg_textsearch over the chunks' lexemes (ADR 80).

Optional: KEYWORD_BACKEND=pg_textsearch. `migrate` adds or removes it. The extension indexes a
column of text, under one text configuration. This column holds the chunk's own lexemes, those of
title and headings included, in any language: of each the letter t and its term id, once for each
occurrence. Postgres generates it, and leaves it empty for chunks that are not searchable, so that
these are neither indexed nor counted.
"""

from __future__ import annotations

import time
from enum import Enum

from django.conf import settings
from django.db import DatabaseError, connection

from ingestion.lexical.terms import K1, B
from ingestion.models import Chunk

EXTENSION = "pg_textsearch"
COLUMN = "textsearch_words"
INDEX = "chunk_textsearch"
FIND = "steelyard_textsearch"  # the function that finds the best chunks of some collections
# How long a process trusts its last look at the database; a guess.
TRUST_SECONDS = 60.0


class Backend(Enum):
    """The values of KEYWORD_BACKEND: what finds the candidates of the keyword signal."""

    POSTGRES = "postgres"
    PG_TEXTSEARCH = "pg_textsearch"


def word_sql(lexeme: str) -> str:
    """SQL for a lexeme as the column spells it: one word for Postgres' parser, in any language."""
    return f"'t' || steelyard_term_id({lexeme})"


_FUNCTION = f"""
CREATE OR REPLACE FUNCTION steelyard_textsearch_words(lexemes tsvector) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT string_agg(repeat({word_sql("lexeme")} || ' ', cardinality(positions)), '')
    FROM unnest(lexemes)
)
"""
_COLUMN = f"""
ALTER TABLE ingestion_chunk ADD COLUMN IF NOT EXISTS {COLUMN} text GENERATED ALWAYS AS (
    CASE WHEN searchable THEN steelyard_textsearch_words(lexemes) END) STORED
"""
_INDEX = f"""
CREATE INDEX IF NOT EXISTS {INDEX} ON ingestion_chunk USING bm25 ({COLUMN})
WITH (text_config = 'simple', k1 = {K1}, b = {B})
"""
# The extension sees how many chunks are wanted when a statement of its own is planned: in a common
# table or a prepared statement it would score each chunk again, which takes ten times as long.
_FINDER = f"""
CREATE OR REPLACE FUNCTION {FIND}(words text, collections bigint[], most integer)
RETURNS SETOF bigint LANGUAGE plpgsql STABLE STRICT ROWS 100 AS $$
BEGIN
    RETURN QUERY EXECUTE
        'SELECT id FROM ingestion_chunk WHERE searchable AND collection_id = ANY($2) '
        'ORDER BY {COLUMN} <@> to_bm25query($1, ''{INDEX}'') LIMIT $3'
        USING words, collections, most;
END
$$
"""
_IS_THERE = f"""
SELECT indisvalid AND to_regprocedure('{FIND}(text, bigint[], integer)') IS NOT NULL
FROM pg_index
WHERE indexrelid = to_regclass(%s) AND pg_get_indexdef(indexrelid) LIKE '%%USING bm25%%'
"""


def is_wanted() -> bool:
    """Whether the settings choose this index."""
    return bool(Backend.PG_TEXTSEARCH.value == settings.KEYWORD_BACKEND)


def problem() -> str:
    """Why the database cannot use the index, for a person; empty if it can, or is not to."""
    if not is_wanted() or exists():
        return ""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_available_extensions WHERE name = %s", [EXTENSION])
        if cursor.fetchone() is None:
            return "The database server does not have it."
        cursor.execute("SHOW shared_preload_libraries")
        if EXTENSION not in cursor.fetchone()[0]:
            return "It is not in the server's shared_preload_libraries."
    return f"Its index {INDEX} or the function {FIND} is missing."


def exists() -> bool:
    """Whether the database has the index, and its build was completed."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_THERE, [INDEX])
        return bool(cursor.fetchone() == (True,))


def create() -> None:
    """Create extension, column and index; nothing if they are there.

    Rewrites the table of chunks while searches wait: for an hour without readers, once.
    """
    if exists():
        return
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
        cursor.execute(_FUNCTION)
        cursor.execute(_COLUMN)
        cursor.execute(_INDEX)
        cursor.execute(_FINDER)
    _looked.clear()


def remove() -> None:
    """Remove what `create` made besides the extension; nothing if it is not there."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regprocedure('steelyard_textsearch_words(tsvector)')")
        if cursor.fetchone() == (None,):
            return
        cursor.execute(f"ALTER TABLE ingestion_chunk DROP COLUMN IF EXISTS {COLUMN}")
        cursor.execute("DROP FUNCTION IF EXISTS steelyard_textsearch_words(tsvector)")
        cursor.execute(f"DROP FUNCTION IF EXISTS {FIND}(text, bigint[], integer)")
    _looked.clear()


_looked: dict[str, tuple[float, bool]] = {}


def is_ready() -> bool:
    """Whether searches use the index: the settings choose it, and the database has it."""
    if not is_wanted():
        return False
    looked, found = _looked.get(INDEX, (float("-inf"), False))
    if time.monotonic() - looked > TRUST_SECONDS:
        found = exists()
        _looked[INDEX] = time.monotonic(), found
    return found


def follow_settings(**kwargs: object) -> None:
    """After `migrate`: create the index if the settings choose it, and remove it if they do not.

    What the database cannot do is left to `check --database`, which says so.
    """
    if Chunk._meta.db_table not in connection.introspection.table_names():
        return  # migrated to before the first version
    try:
        if is_wanted():
            create()
        else:
            remove()
    except DatabaseError as error:
        print(f"pg_textsearch: {str(error).strip()}")  # noqa: T201  # `migrate` prints to people
