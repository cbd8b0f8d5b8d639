"""Q3: the signals of words: keywords, titles and synonyms.

The keyword signal is BM25 (Robertson & Zaragoza 2009): the inner product of a chunk's term weights
with those of the query (`query_terms`). The title signal is the share of the query's idf mass that
is in the title (`coverage`); `once` and `per_term` are concept-rag's rule: 10 when any term is in
the title, or 10 for each. The synonym signal is BM25 of the synonyms of the query's words.
"""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField, FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.lexical.ngrams import spaced
from ingestion.models import Chunk
from search.domain import KeywordScorer, Profile, Query, TitleScorer
from search.retrieval.pruning import pruned
from search.retrieval.query_terms import lexemes, terms, weights
from search.retrieval.signal_sql import SignalSQL, named


def bm25(chunk: str, query: str = "question") -> str:
    """BM25 of the chunk with that alias; `query` is the table with the query's weights."""
    return f"-({chunk}.terms <#> (SELECT weights FROM {query}))"


# As in concept-rag: terms of over 2 letters, counted in every word that contains one; no idf;
# k1 1.5, b .75, and a fixed average length of 100 words. At most 2.5 a term.
_BM25_FIXED = r"""(
    SELECT coalesce(sum(tf * (1.5 + 1) / (tf + 1.5 * (1 - 0.75 + 0.75 * words / 100.0))), 0)::float8
    FROM (
        SELECT count(*) FILTER (WHERE strpos(word, sought) > 0) AS tf, count(*) AS words
        FROM (SELECT DISTINCT regexp_split_to_table(lower(%(text)s::text), '\W+')) asked(sought),
             regexp_split_to_table(lower({c}.text), '\s+') word
        WHERE length(sought) > 2 AND word <> ''
        GROUP BY sought
    ) counted
)"""

_SCORES = {
    KeywordScorer.BM25: bm25("{c}"),
    KeywordScorer.TS_RANK: "ts_rank({c}.lexemes, (SELECT any_term FROM question), 1)::float8",
    KeywordScorer.TS_RANK_CD: "ts_rank_cd({c}.lexemes, (SELECT any_term FROM question), 1)::float8",
    KeywordScorer.OVERLAP: (
        "least((SELECT count(*) FROM term WHERE lexeme = ANY(tsvector_to_array({c}.lexemes)))"
        "::float8 / (SELECT greatest(lexemes, 1) FROM question), 1)"
    ),
    KeywordScorer.BM25_FIXED: _BM25_FIXED,
}
# It rereads each chunk's words, so it scores only candidates that BM25 generates.
_FOUND_BY = {KeywordScorer.BM25_FIXED: KeywordScorer.BM25}


def keyword(chunks: QuerySet[Chunk], profile: Profile) -> SignalSQL:
    """The keyword signal: raw scores of 0 or more; 0 for a chunk without a term of the query.

    `bm25` and the Postgres ranks are unbounded above; `overlap` lies in [0, 1].
    """
    scorer = profile.keyword_scorer
    score = _SCORES[scorer]
    order = _SCORES[_FOUND_BY.get(scorer, scorer)]
    tables, find, found = pruned(
        chunks,
        profile,
        order=order.format(c="ingestion_chunk"),
        bm25=bm25("ingestion_chunk"),
    )
    return SignalSQL(
        score=f"coalesce({score.format(c='c')}, 0)", find=find, score_params=found, tables=tables
    )


_TITLE_COVERED = "FROM term WHERE lexeme = ANY(tsvector_to_array({d}.title_terms))"
_TITLE_SCORES = {
    TitleScorer.COVERAGE: (
        "(SELECT coalesce(sum(idf), 0) " + _TITLE_COVERED + ") / (SELECT total_idf FROM question)"
    ),
    TitleScorer.ONCE: "(SELECT CASE WHEN count(*) > 0 THEN 10 ELSE 0 END "
    + _TITLE_COVERED
    + ")::float8",
    TitleScorer.PER_TERM: "(SELECT 10 * count(*) " + _TITLE_COVERED + ")::float8",
}


# Most titles hold no term of the query: then the sum over its terms need not be made.
_TITLE_HOLDS = "CASE WHEN d.title_terms @@ (SELECT any_term FROM question) THEN {score} ELSE 0 END"


# The same order from a row for each term and document, as the index finds them.
_TITLE_SUMS = {
    TitleScorer.COVERAGE: "coalesce(sum(idf), 0)",
    TitleScorer.ONCE: "0 * count(*)",
    TitleScorer.PER_TERM: "count(*)",
}

# The documents of each rare term; common terms count only in these, and only if the query has any.
# Then first chunks in the order of the titles, until so many are in the scope: a word may be in the
# titles of hundreds of documents.
_TITLED = """
SELECT first.id
FROM (
    SELECT d.id, d.current_id, {sum} + {common} AS strength
    FROM term JOIN ingestion_document d ON d.title_terms @@ term.quoted::tsquery
    WHERE {is_rare}
    GROUP BY d.id
    ORDER BY strength DESC, d.id
) titled, LATERAL ({first}) first(id)
ORDER BY titled.strength DESC, titled.id
LIMIT {depth}
"""
_COMMON_TITLED = """
CASE WHEN (SELECT bool_or(NOT {is_rare}) FROM term)
     THEN (SELECT {sum} FROM term
           WHERE NOT {is_rare} AND lexeme = ANY(tsvector_to_array(d.title_terms)))
     ELSE 0 END
""".strip()
_IS_RARE = "chunks_before < %(budget)s"  # as of `rare_term`


def title(chunks: QuerySet[Chunk], profile: Profile) -> SignalSQL:
    """The title signal, in [0, 1] for `coverage`; a document's candidate is its first chunk."""
    score = _TITLE_SCORES[profile.title_scorer].format(d="d")
    parts = {"sum": _TITLE_SUMS[profile.title_scorer], "is_rare": _IS_RARE}
    # Only the current version's chunks are searchable. By it the first one is one look into an
    # index; by the document it would be found among all of its chunks.
    current = RawSQL(
        "ingestion_chunk.version_id = titled.current_id", (), output_field=BooleanField()
    )
    first = chunks.filter(current, ordinal=0).order_by().values("pk")[:1]
    first_sql, params = named(first, "titled")
    return SignalSQL(
        score=_TITLE_HOLDS.format(score=score),
        find=_TITLED.format(
            **parts,
            common=_COMMON_TITLED.format(**parts),
            first=first_sql,
            depth=int(profile.depth),
        ),
        score_params=params,
    )


# The keyword signal already scores the query's own lexemes. No other one is repeated in the query.
_EXPANSION_LEXEMES = lexemes(
    "%(expansions)s::text[]",
    "expansion_",
    times="1",
    condition="lexeme NOT IN (SELECT lexeme FROM lexeme)",
)
# Common tables after those of the keyword signal.
SYNONYM_TABLES = f"""
{_EXPANSION_LEXEMES},
{terms("expansion_")},
expansion AS MATERIALIZED (
    SELECT
        {weights("expansion_")},
        (SELECT string_agg(quoted, ' | ')::tsquery FROM expansion_term
         WHERE chunks_before < %(budget)s) AS rare_term
),
"""


def synonym(chunks: QuerySet[Chunk], profile: Profile) -> SignalSQL:
    """The synonym signal: BM25 raw scores of 0 or more; 0 for a chunk without an expansion."""
    return of_added_words("expansion", chunks, profile, SYNONYM_TABLES)


def synonym_params(query: Query) -> dict[str, Any]:
    """The parameters of the synonym signal."""
    return {"expansions": list(map(spaced, query.expansions))}


def of_added_words(
    table: str,
    chunks: QuerySet[Chunk],
    profile: Profile,
    tables: str,
) -> SignalSQL:
    """The signal that scores words beside the query's own by BM25.

    `table` is the one of `tables`, the common tables, with the row of their weights and rare terms.
    """
    found = chunks.filter(
        RawSQL(  # constant text: the values come from the common tables
            f"ingestion_chunk.lexemes @@ (SELECT rare_term FROM {table})",
            (),
            output_field=BooleanField(),
        )
    )
    score = RawSQL(bm25("ingestion_chunk", table), (), output_field=FloatField())
    return SignalSQL(
        score=f"coalesce({bm25('c', table)}, 0)",
        find=found.order_by(score.desc(), "pk").values("pk")[: profile.depth],
        tables=tables,
    )
