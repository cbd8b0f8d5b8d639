"""Q3: the quoted phrases and excluded words of a query, as conditions on chunks.

They are part of the scope of every signal, so that none can bypass them. A phrase is
parsed under each chunk's own text configuration, and matched to lexemes of title, headings, text.
"""

from __future__ import annotations

import re

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from ingestion.lexical.ngrams import IN_RUN, has_part, spaced
from search.retrieval.signal_sql import literally

# The phrase under all text configurations at once (a function of the search migrations): a constant
# for the planner, with a known selectivity, that an index can answer; a query that depends on the
# row's configuration would read every row. If the phrase has no lexemes ("to be", "C++") it
# matches all rows, and the second condition decides.
_ANY_READING = "steelyard_phrase(%s)"
_OWN_READING = "phraseto_tsquery(ingestion_chunk.text_config::regconfig, %s)"
_LITERALLY = """
(ingestion_chunk.text ~* %s OR array_to_string(ingestion_chunk.heading_path, E'\\n') ~* %s
 OR (SELECT title ~* %s FROM ingestion_document WHERE id = ingestion_chunk.document_id))
"""
# Symbols that Postgres' parsers drop although they distinguish C++ from C, A* from A. Hyphens and
# punctuation are left to the parsers.
_SYMBOLS = re.compile(r"[^\w\s,.;:!?'’()/、。，．：；！？（）「」『』・…-]")


def contains(phrase: str) -> RawSQL:
    """The condition that a chunk, its headings or its title contain `phrase`."""
    sql, params = _containing(phrase)
    return RawSQL(sql, params, output_field=BooleanField())


def lacks(phrase: str) -> RawSQL:
    """The condition that neither a chunk nor its headings or its title contain `phrase`."""
    sql, params = _containing(phrase)
    return RawSQL(f"NOT coalesce({sql}, false)", params, output_field=BooleanField())


def titled(phrase: str, *, negated: bool = False) -> RawSQL:
    """The condition that the title of a chunk's document contains `phrase`, or does not.

    The documents are an array that Postgres evaluates once before the scan; a join could prevent
    an ordered scan of the vector index.
    """
    pattern, read = literal_pattern(phrase), spaced(phrase)
    if has_part(phrase):
        sql = """(SELECT d.title ~* %s FROM ingestion_document d
                  WHERE d.id = ingestion_chunk.document_id)"""
        return RawSQL(f"NOT {sql}" if negated else sql, (pattern,), output_field=BooleanField())
    precisely = "AND d.title ~* %s" if _SYMBOLS.search(phrase) else ""
    sql = f"""
    (ingestion_chunk.document_id = ANY(ARRAY(
         SELECT id FROM ingestion_document WHERE title_terms @@ {_ANY_READING}))
     AND (SELECT CASE WHEN numnode({_OWN_READING}) = 0 THEN d.title ~* %s
                      ELSE d.title_terms @@ {_OWN_READING} END {precisely}
          FROM ingestion_document d WHERE d.id = ingestion_chunk.document_id))
    """
    params = (read, read, pattern, read, *((pattern,) if precisely else ()))
    return RawSQL(f"NOT {sql}" if negated else sql, params, output_field=BooleanField())


def _containing(phrase: str) -> tuple[str, tuple[str, ...]]:
    literally, read = (literal_pattern(phrase),) * 3, spaced(phrase)
    if has_part(phrase):
        return _LITERALLY, literally
    precisely = f"AND {_LITERALLY}" if _SYMBOLS.search(phrase) else ""
    sql = f"""
    (ingestion_chunk.lexemes @@ {_ANY_READING}
     AND CASE WHEN numnode({_OWN_READING}) = 0 THEN {_LITERALLY}
              ELSE ingestion_chunk.lexemes @@ {_OWN_READING} END {precisely})
    """
    return sql, (read, read, *literally, read, *(literally if precisely else ()))


def literal_pattern(phrase: str) -> str:
    """A Postgres regular expression for the literal words, with any non-word characters between.

    No word boundary is required next to letters of scripts written without spaces.
    """
    words = (word.strip(",.;:!?") or word for word in phrase.split())
    escaped = r"\W+".join(map(literally, words))
    begins = "" if IN_RUN.match(phrase) else r"(?<!\w)"
    ends = "" if IN_RUN.match(phrase[-1:]) else r"(?!\w)"
    return f"{begins}{escaped}{ends}"
