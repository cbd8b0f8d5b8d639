"""Words of the searched collections: those spelt like an unknown one, and how many hold one.

One query each. The vocabulary is that of the document frequencies: stems. A suggestion must be a
word, so it is read from a chunk with the stem. Collections outside the scope are never read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

from common.database import named
from ingestion.lexical.compounds import humps_sql, quoted_sql
from ingestion.models.visibility import Viewer
from search.domain import TermStatistic
from search.query.spelling_correction import Neighbour
from search.retrieval.filters import Scope, readable_to
from search.retrieval.phrases import quoted

# Common table: the text configurations of the collections in `readable`, each once.
SEARCHED_CONFIGS = """config AS (
    SELECT text_config FROM ingestion_corpusstatistics
    WHERE collection_id IN (SELECT id FROM readable)
    UNION
    SELECT text_config FROM ingestion_corpuschange
    WHERE collection_id IN (SELECT id FROM readable)
),
"""


# The first letter is rarely misspelt (Pollock & Zamora 1984), and requiring it is fast: of 137,000
# stems a trigram index leaves 25,000 to compare, the plain index of a letter some 6,000. Words that
# differ in it alone are looked up one by one, as are those next to words of SHORT letters, which
# share few trigrams: hahf and half.
SHORT = 5
# Trigram similarity. Two letters swapped in the middle of a word of six leave .27 (pyhton).
MIN_SIMILARITY = 0.2
# Guesses that bound the work: stems kept per word, chunks read per stem.
MOST_STEMS = 8
# With three, all may contain “relation” where “related” was meant.
MOST_CHUNKS = 10
MOST_COUNTED = 1000
CONTEXT = 2  # known words of the query, its rarest, with which a neighbour is counted
# “manager” and “managers” may fill those of the stem of “management”: of the nearest stems, so many
# are read for a word that also ends as the one typed.
MOST_READ = 200
MOST_LIKE = 2
SAME_END = 2
# Letters that a word shares with its stem: stemmers remove endings, and in German the dots.
SAME_BEGINNING = 2
# The maximum difference in length, in letters.
MOST_DIFFERENCE = 2
# The letters of an ending that a misspelling hides from the stemmer: migratioj.
MOST_ENDING = 5

_STATEMENT = f"""
WITH readable(id) AS MATERIALIZED ({{readable}}),
{SEARCHED_CONFIGS}
asked AS (
    SELECT DISTINCT word, stem
    FROM unnest(%(words)s::text[]) word, LATERAL (
        SELECT lower(word) AS stem
        UNION
        SELECT l.lexeme FROM config, unnest(to_tsvector(config.text_config::regconfig, word)) l
    ) stems
),
near AS (
    SELECT word, lexeme, chunks, row_number() OVER (
        PARTITION BY word
        ORDER BY similarity + same_letters::int * {MIN_SIMILARITY} DESC, chunks DESC, lexeme
    ) AS place
    FROM (
        SELECT word, lexeme, max(
                   similarity(lexeme, left(stem, length(lexeme) + {MOST_DIFFERENCE}))
               ) AS similarity,
               bool_or(ARRAY(SELECT unnest(string_to_array(lexeme, NULL)) ORDER BY 1)
                       = ARRAY(SELECT unnest(string_to_array(stem, NULL)) ORDER BY 1)
               ) AS same_letters,
               (sum(chunks) / count(DISTINCT stem))::bigint AS chunks
        FROM asked JOIN ingestion_termfrequency f
          ON f.lexeme >= left(asked.stem, 1) AND f.lexeme < left(asked.stem, 1) || chr(1114111)
        WHERE CASE  -- the cheap conditions first
            WHEN f.collection_id <> ALL(ARRAY(SELECT id FROM readable)) OR f.chunks <= 0
                OR length(f.lexeme) - length(asked.stem) > {MOST_DIFFERENCE}
                OR length(asked.stem) - length(f.lexeme) > {MOST_ENDING} THEN false
            ELSE similarity(f.lexeme, left(asked.stem, length(f.lexeme) + {MOST_DIFFERENCE}))
                >= {MIN_SIMILARITY} AND f.lexeme !~ '[0-9]'
        END
        GROUP BY word, lexeme
        UNION ALL
        SELECT word, lexeme, 1, false, sum(chunks)::bigint
        FROM (
            SELECT DISTINCT word, l.lexeme
            FROM unnest(%(edited)s::text[], %(edits)s::text[]) edited(word, spelling), config,
                 unnest(to_tsvector(config.text_config::regconfig, spelling)) l
        ) edited JOIN ingestion_termfrequency USING (lexeme)
        WHERE collection_id IN (SELECT id FROM readable) AND chunks > 0
        GROUP BY word, lexeme
    ) alike
),
nearest AS MATERIALIZED (
    SELECT *, replace(replace(replace(replace(translate(
                  left(lexeme, {SAME_BEGINNING}), 'äöü', 'aou'
              ), 'a', '[aä]'), 'o', '[oö]'), 'u', '[uü]'), 'i', '[iİ]') AS beginning
    FROM near WHERE place <= {MOST_STEMS} AND lexeme ~ '^[[:alpha:]]{{{{{SAME_BEGINNING}}}}}'
)
SELECT DISTINCT nearest.word, spelt.word, nearest.chunks, beside.chunks
FROM nearest
CROSS JOIN LATERAL (
    SELECT count(*) AS chunks
    FROM (
        SELECT FROM ({{chunks}}) readable_chunk(id) JOIN ingestion_chunk c USING (id)
        WHERE c.searchable AND c.lexemes @@ (({{lexeme}})::tsquery && %(context)s::tsquery)
        LIMIT {MOST_COUNTED}
    ) counted
) beside
CROSS JOIN LATERAL (
    SELECT c.text_config, c.text, c.heading_path, d.title FROM (
        ({{holding}} LIMIT {MOST_CHUNKS})
        UNION
        (SELECT id FROM (
            SELECT id, text
            FROM ({{holding}} LIMIT {MOST_READ}) nearby JOIN ingestion_chunk USING (id)
        ) read
        WHERE place <= {MOST_LIKE} AND text ~* (
            '\\m' || left(word, {SAME_BEGINNING}) || '[[:alpha:]]*' || right(word, {SAME_END})
            || '\\M')
        LIMIT {MOST_CHUNKS})
    ) sample JOIN ingestion_chunk c USING (id) JOIN ingestion_document d ON d.id = c.document_id
) held
CROSS JOIN LATERAL (
    SELECT DISTINCT one[1] AS word
    FROM (
        SELECT string_agg(one[1], ' ') AS t
        FROM regexp_matches(
            concat_ws(' ', held.title, array_to_string(held.heading_path, ' '), held.text),
            '[[:alnum:]]*' || beginning || '[[:alnum:]]*', 'gi') one
    ) names,
    regexp_matches(t || ' ' || lower({humps_sql("t")}),
                   '(?<![[:alpha:]])' || beginning || '[[:alpha:]]*', 'gi') one
) spelt
WHERE nearest.lexeme = ANY(tsvector_to_array(
    to_tsvector(held.text_config::regconfig, spelt.word)
))
"""


_HOLDING = """
SELECT c.id FROM ({chunks}) readable_chunk(id) JOIN ingestion_chunk c USING (id)
WHERE c.lexemes @@ ({lexeme})::tsquery AND c.searchable
"""
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyzäöüéèàçñåøæ", "абвгдежзийклмнопрстуфхцчшщъыьэюя")


def looked_up(word: str) -> set[str]:
    """The spellings one edit from a lower-case word that are looked up.

    All for a short word; else those without or with another first letter, or one more before it,
    and with two letters swapped: similarity search finds the rest.
    """
    letters = next((each for each in _ALPHABETS if word[:1] in each), "")
    count = len(word) + 1 if len(word) <= SHORT else 1
    parts = [(word[:at], word[at:]) for at in range(count)]
    edited = {head + letter + tail for head, tail in parts for letter in ("", *letters)}
    edited |= {head + letter + tail[1:] for head, tail in parts for letter in ("", *letters)}
    pairs = range(len(word) - 1)
    return edited | {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in pairs}


def neighbours(
    words: Sequence[str], scope: Scope, terms: Sequence[TermStatistic]
) -> Mapping[str, Sequence[Neighbour]]:
    """The similarly spelt words of the scope for each word, unordered; possibly none.

    `terms` are those of the query, rarest first.
    """
    edits = [(word, spelling) for word in words for spelling in looked_up(word.lower())]
    readable, readable_params = scope.readable("readable_")
    chunks, chunk_params = named(scope.chunks.order_by().values("pk"), "chunks_")
    lexeme = quoted_sql("nearest.lexeme")
    statement = _STATEMENT.format(
        readable=readable,
        chunks=chunks,
        lexeme=lexeme,
        holding=_HOLDING.format(chunks=chunks, lexeme=lexeme),
    )
    by_word: dict[str, list[Neighbour]] = defaultdict(list)
    with connection.cursor() as cursor:
        values: dict[str, Any] = {
            "words": list(words),
            "context": " & ".join(quoted(term.lexeme) for term in terms[:CONTEXT]),
            "edited": [word for word, _ in edits],
            "edits": [spelling for _, spelling in edits],
        }
        cursor.execute(statement, {**values, **readable_params, **chunk_params})
        for word, *neighbour in cursor.fetchall():
            by_word[word].append(Neighbour(*neighbour))
    return by_word


_COUNTS = f"""
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
        cursor.execute(_COUNTS.format(readable=readable), {"words": list(words), **params})
        return {word: int(count) for word, count in cursor.fetchall() if count and count > 0}
