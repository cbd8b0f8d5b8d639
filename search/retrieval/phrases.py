"""The quoted phrases and excluded words of a query, as conditions on chunks.

They are part of the scope of every signal, so that none can bypass them. A phrase is its words in
order, stop words too, not inflected, in the text, the headings or the title (ADR 54); a letter that
is typed without an accent stands for those with one (ADR 124). The index of
words (`steelyard_words`, a function of the search migrations) narrows the chunks down to those that
contain all of the words; a regular expression decides. Letters of scripts without spaces are looked
up by their lexemes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from common.database import named
from ingestion.lexical.bigrams import IN_RUN, characters, has_part, spaced
from ingestion.lexical.second_forms import written_as
from ingestion.models import Chunk

# The most chunks with all words of the phrases whose texts are read; a note says if there are more.
# 25 to 45 microseconds each, on two cores shared with other work. No more than the vector signal
# searches exactly.
MOST_CHECKED = 10_000

# The phrase under all text configurations at once (a function of the search migrations): a constant
# for the planner, with a known selectivity, that an index can answer; a query that depends on the
# row's configuration would read every row. If the phrase has no lexemes ("to be", "C++") it
# matches all rows, and the second condition decides.
_ANY_READING = "steelyard_phrase(%s)"
_OWN_READING = "phraseto_tsquery(ingestion_chunk.text_config::regconfig, %s)"
_OWN_VECTOR = "to_tsvector(ingestion_chunk.text_config::regconfig, %s)"
_IN_TEXT = """
(ingestion_chunk.text ~* %s OR array_to_string(ingestion_chunk.heading_path, E'\\n') ~* %s)
"""
_LITERALLY = f"""
({_IN_TEXT} OR (SELECT title ~* %s FROM ingestion_document WHERE id = ingestion_chunk.document_id))
"""
# All words of a phrase, split as `steelyard_words` splits a text.
_ALL_WORDS = "plainto_tsquery('simple', regexp_replace(%s, '[^[:alnum:][:space:]]+', ' ', 'g'))"
_HAS_WORDS = f"steelyard_words(ingestion_chunk.heading_path, ingestion_chunk.text) @@ {_ALL_WORDS}"
# Arrays, which Postgres evaluates once before the scan. A file name counts as a part of the title.
_TITLE_HAS_WORDS = f"""
ingestion_chunk.document_id = ANY(ARRAY(
    SELECT id FROM ingestion_document WHERE steelyard_words(NULL, title) @@ {_ALL_WORDS}))
"""
_TITLED_EXACTLY = f"""
ingestion_chunk.document_id = ANY(ARRAY(
    SELECT id FROM ingestion_document
    WHERE steelyard_words(NULL, title) @@ {_ALL_WORDS} AND title ~* %s
    UNION ALL
    SELECT d.id FROM ingestion_document d JOIN ingestion_documentversion v ON v.id = d.current_id
    WHERE d.title_terms @@ {_ANY_READING} AND translate(v.file_name, '_', ' ') ~* %s))
"""
# Not correlated, so that Postgres hashes the ids once.
_AMONG = """
ingestion_chunk.id IN (
    SELECT ingestion_chunk.id FROM ingestion_chunk WHERE ingestion_chunk.searchable AND ({held}))
"""
# By default Postgres would hash 260,000 ids, and read longer lists again for every row.
EXCLUSION_SETTINGS = {"hash_mem_multiplier": "'32'"}
# Symbols that Postgres' parsers drop although they distinguish C++ from C, A* from A. Hyphens and
# punctuation are left to the parsers.
_SYMBOLS = re.compile(r"[^\w\s,.;:!?'’()/、。，．：；！？（）「」『』・…-]")
# The marks that may stand for one within a word.
_SPELLINGS = {"'": "['’ʼ]", "’": "['’ʼ]", "-": "[-\u2010\u2011]", "\u2010": "[-\u2010\u2011]"}

_LETTERS = re.compile(
    "|".join(pair for pair in written_as() if len(pair) == 2) + "|.", re.DOTALL | re.IGNORECASE
)

# Common tables: the chunks that the index leaves, and of those the ones that contain the phrases.
_TABLES = """
checked(id) AS MATERIALIZED ({checked}),
phrased(id) AS MATERIALIZED (
    SELECT ingestion_chunk.id
    FROM (SELECT id FROM checked LIMIT %(most_checked)s) read JOIN ingestion_chunk USING (id)
    WHERE {exactly}
),
"""
PHRASED = RawSQL("ingestion_chunk.id IN (SELECT id FROM phrased)", (), output_field=BooleanField())
"""The condition that a chunk is one of the common table of those with the phrases."""
UNCHECKED = "(SELECT count(*) > %(most_checked)s FROM checked)"
"""An expression for whether chunks with all words of the phrases were left unread."""

Condition = tuple[str, tuple[str, ...]]


def contains(phrase: str) -> RawSQL:
    """The condition that a chunk, its headings or its title contain exactly `phrase`."""
    return _raw(*_exactly(phrase))


def phrased(within: QuerySet[Chunk], phrases: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Common tables of the chunks of `within` that contain all phrases, and their parameters."""
    for phrase in phrases:
        within = within.filter(_raw(*_by_index(phrase)))
    checked, params = named(within.order_by().values("pk")[: MOST_CHECKED + 1], "checked")
    conditions = [_by_reading(phrase) for phrase in phrases]
    keys = [f"phrase{i}" for i in range(sum(len(values) for _, values in conditions))]
    exactly = " AND ".join(sql for sql, _ in conditions) % tuple(f"%({key})s" for key in keys)
    values = (value for _, values in conditions for value in values)
    tables = _TABLES.format(checked=checked, exactly=exactly)
    return tables, {**params, **dict(zip(keys, values, strict=True)), "most_checked": MOST_CHECKED}


def lacks(word: str, present: str) -> RawSQL:
    """The condition that neither a chunk nor its headings or its title contain `word`.

    In any inflection, unless a word of `present` has the same stem (pagination -paginator),
    and as a part of a dotted, snake or camel name.
    """
    sql, params = _by_stems(word)
    if characters(word):
        return _raw(f"NOT coalesce({sql}, false)", params)
    stems = f"({sql} AND NOT {_OWN_VECTOR} @@ {_OWN_READING})"
    parts, values = _as_part(word) if word.isalnum() else _exactly(word)
    return _raw(
        f"(NOT coalesce({stems}, false) AND NOT {_AMONG.format(held=parts)})",
        (*params, spaced(present), spaced(word), *values),
    )


def lacks_exactly(phrase: str) -> RawSQL:
    """The condition that neither a chunk nor its headings or its title contain `phrase`."""
    sql, params = _exactly(phrase)
    return _raw(f"NOT {_AMONG.format(held=sql)}", params)


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


def literal_pattern(phrase: str) -> str:
    """A Postgres regular expression for the literal words, with any non-word characters between.

    Underscores around a word are emphasis; within a name they belong to it. No word boundary is
    required next to letters of scripts written without spaces. A letter without an accent matches
    those with one; `ue` matches ü.
    """
    words = (word.strip(",.;:!?") or word for word in phrase.split())
    escaped = r"_*\W+_*".join(
        _LETTERS.sub(lambda letters: _spelt(letters[0]), word) for word in words
    )
    begins = "" if IN_RUN.match(phrase) else r"(?<!\w)_*"
    ends = "" if IN_RUN.match(phrase[-1:]) else r"_*(?!\w)"
    return f"{begins}{escaped}{ends}"


def phrase_places(text: str, phrases: Sequence[str]) -> list[tuple[int, int]]:
    """The [start, end) of each place of the phrases in a text."""
    found = (re.finditer(literal_pattern(each), text, re.IGNORECASE) for each in phrases)
    return [match.span() for matches in found for match in matches]


def _spelt(letters: str) -> str:
    """The pattern of one letter, or of two that may stand for one."""
    if len(letters) == 2:
        return f"(?:{''.join(map(_spelt, letters))}|[{written_as()[letters.lower()]}])"
    accented = written_as().get(letters.lower())
    return f"[{letters}{accented}]" if accented else _SPELLINGS.get(letters) or literally(letters)


def _exactly(phrase: str) -> Condition:
    """The condition that a chunk contains the phrase."""
    if characters(phrase):
        return _by_stems(phrase)
    narrowed, params = _by_index(phrase)
    read, values = _by_reading(phrase)
    return f"({narrowed} AND {read})", (*params, *values)


def _by_index(phrase: str) -> Condition:
    """The condition, for an index, that a chunk has the words of the phrase; true for all that
    contain it.
    """
    pattern, read = literal_pattern(phrase), spaced(phrase)
    if has_part(phrase):
        return "true", ()
    if characters(phrase):
        return f"ingestion_chunk.lexemes @@ {_ANY_READING}", (read,)
    sql = f"({_HAS_WORDS} OR {_TITLED_EXACTLY})"
    return sql, (phrase, phrase, pattern, read, pattern)


def _by_reading(phrase: str) -> Condition:
    """The condition that text, headings or title of a chunk contain the phrase; uses no index."""
    if characters(phrase):
        return _by_stems(phrase)
    pattern = literal_pattern(phrase)
    sql = f"({_IN_TEXT} OR {_TITLED_EXACTLY})"
    return sql, (pattern, pattern, phrase, pattern, spaced(phrase), pattern)


def _as_part(word: str) -> Condition:
    """The condition that a chunk has the word as a word or as a part of a name."""
    return f"{_HAS_WORDS} OR {_TITLE_HAS_WORDS}", (word, word)


def _by_stems(phrase: str) -> Condition:
    """The condition that a chunk contains the words of the phrase in order, in any inflection."""
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


def _raw(sql: str, params: tuple[str, ...]) -> RawSQL:
    return RawSQL(sql, params, output_field=BooleanField())


def literally(text: str) -> str:
    """The text as a Postgres regular expression that matches it literally.

    Postgres treats combining marks as letters, and a backslash before a letter as an error.
    """
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def quoted(lexeme: str) -> str:
    """A lexeme as a tsquery reads it."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
