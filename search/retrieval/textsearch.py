"""Q3: candidates of the keyword signal from the extension pg_textsearch (ADR 80).

Only the candidates come from it. Their scores are ours, of the stored term weights, so that
profiles, explanations and golden queries do not know which index found a chunk. Its BM25 has the
same lexemes, k1 and b, but counts chunks and lengths over all collections: `docs/adr/0080` bounds
what that changes.

The index is read in its order until enough chunks pass the filter of the readable collections. A
viewer who may read few of all chunks would wait for many that are passed over: for them the own
index finds the candidates (`pruning`), in the same statement.
"""

from __future__ import annotations

from ingestion.lexical.textsearch import FIND, word_sql
from search.domain import Profile

# The least share of all chunks that a viewer may read, for this index to find their candidates.
# A guess: of a depth of 100 then some 500 are looked at. 10,000 took 70 ms on a busy machine.
LEAST_SHARE = 0.2

# Common tables before those of `pruning`. `sought` has a text without words for other viewers.
_TABLES = """
reach AS MATERIALIZED (
    SELECT coalesce((SELECT chunks FROM corpus), 0) >= {least} * (
        SELECT coalesce(sum(chunks), 0) FROM ingestion_corpusstatistics) AS is_wide
),
sought AS MATERIALIZED (
    SELECT coalesce(string_agg(repeat({word} || ' ', times::int), ''), '') AS words
    FROM term, reach WHERE is_wide
),
"""
# Whether the own index must find the candidates.
OWN_IS_NEEDED = "NOT (SELECT is_wide FROM reach)"

# Chunks without a word of the question may come last. Version 1.0.0 returns a chunk twice now and
# then, where a part of the index is on disk: hence a few more than wanted (ADR 80).
_FIND = """
(SELECT id FROM {function}(
    (SELECT words FROM sought), ARRAY(SELECT id FROM readable), {asked}
 ) WITH ORDINALITY found(id, place) JOIN ingestion_chunk USING (id)
 WHERE (SELECT is_wide FROM reach) AND lexemes @@ (SELECT any_term FROM question)
 GROUP BY id ORDER BY min(place) LIMIT {depth})
UNION ALL
SELECT id FROM ({otherwise}) own WHERE NOT (SELECT is_wide FROM reach)
"""


def tables() -> str:
    """The common tables `reach` and `sought`, which follow `term` and `corpus`."""
    return _TABLES.format(least=LEAST_SHARE, word=word_sql("lexeme"))


def find(profile: Profile, *, otherwise: str) -> str:
    """SQL for the ids of the best `depth` chunks of the index, or those of `otherwise`."""
    depth = int(profile.depth)
    return _FIND.format(function=FIND, asked=depth + 10, depth=depth, otherwise=otherwise)
