"""Q3: the quoted phrases and excluded words of a query, as conditions on chunks.

They stand in the scope that every signal starts from, so that none can go round them. A phrase is
read under each chunk's own text configuration, against lexemes that hold its title and headings.
"""

from __future__ import annotations

import re

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from ingestion.lexical.ngrams import IN_RUN, has_part, spaced
from search.retrieval.sql import literally

# The readings under all text configurations at once (search migration 0003): a constant for the
# planner, which an index can find and whose selectivity it knows; a query that changes with the
# row's configuration would read every row. Where a reading has no lexemes ("to be", "C++") it
# lets all pass, and the second condition decides.
_ANY_READING = "steelyard_phrase(%s)"
_OWN_READING = "phraseto_tsquery(ingestion_chunk.text_config::regconfig, %s)"
_LITERALLY = """
(ingestion_chunk.text ~* %s OR array_to_string(ingestion_chunk.heading_path, E'\\n') ~* %s
 OR (SELECT title ~* %s FROM ingestion_document WHERE id = ingestion_chunk.document_id))
"""
# What the parsers of Postgres drop and yet tells C++ from C, A* from A. Hyphens and the marks of
# sentences are left to them.
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

    The documents come as an array that Postgres fills once ahead of the scan; a join could cost
    the vector index its order.
    """
    pattern, read = _pattern(phrase), spaced(phrase)
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
    literally, read = (_pattern(phrase),) * 3, spaced(phrase)
    if has_part(phrase):
        return _LITERALLY, literally
    precisely = f"AND {_LITERALLY}" if _SYMBOLS.search(phrase) else ""
    sql = f"""
    (ingestion_chunk.lexemes @@ {_ANY_READING}
     AND CASE WHEN numnode({_OWN_READING}) = 0 THEN {_LITERALLY}
              ELSE ingestion_chunk.lexemes @@ {_OWN_READING} END {precisely})
    """
    return sql, (read, read, *literally, read, *(literally if precisely else ()))


def _pattern(phrase: str) -> str:
    """A regular expression of Postgres: the words as they are, whatever stands between them.

    A letter that is written without spaces between the words ends none.
    """
    words = (word.strip(",.;:!?") or word for word in phrase.split())
    escaped = r"\W+".join(map(literally, words))
    begins = "" if IN_RUN.match(phrase) else r"(?<!\w)"
    ends = "" if IN_RUN.match(phrase[-1:]) else r"(?!\w)"
    return f"{begins}{escaped}{ends}"
