"""Q3: the keyword signal.

BM25 (Robertson & Zaragoza 2009) as the inner product of a chunk's term weights with the
query's idf, ln(1 + (N - df + .5) / (df + .5)) (decision D1). The idf and N are those of the
collections that the viewer may read, so that nothing of the others shows in a score.
"""

from __future__ import annotations

from django.db.models import BooleanField, FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.models import Chunk
from search.domain import KeywordScorer, Profile
from search.retrieval.sql import SignalSQL

# Common tables of the statement. `readable` holds the ids of the searched collections.
# A lexeme is looked up as it stands in the index, so it is quoted, never parsed again.
TABLES = """
lexeme AS (
    SELECT DISTINCT l.lexeme
    FROM (
        SELECT text_config FROM ingestion_corpusstatistics
        WHERE collection_id IN (SELECT id FROM readable)
        UNION
        SELECT text_config FROM ingestion_corpuschange
        WHERE collection_id IN (SELECT id FROM readable)
    ) configs, unnest(to_tsvector(configs.text_config::regconfig, %(text)s)) l
),
corpus AS (
    SELECT greatest(coalesce(sum(chunks), 0), 1) AS chunks
    FROM (
        SELECT chunks FROM ingestion_corpusstatistics
        WHERE collection_id IN (SELECT id FROM readable)
        UNION ALL
        SELECT chunks FROM ingestion_corpuschange
        WHERE collection_id IN (SELECT id FROM readable)
    ) parts
),
frequency AS (
    SELECT lexeme, sum(chunks) AS chunks
    FROM (
        SELECT lexeme, chunks FROM ingestion_termfrequency
        WHERE lexeme = ANY(ARRAY(SELECT lexeme FROM lexeme))
          AND collection_id IN (SELECT id FROM readable)
        UNION ALL
        SELECT lexeme, chunks FROM ingestion_termchange
        WHERE lexeme = ANY(ARRAY(SELECT lexeme FROM lexeme))
          AND collection_id IN (SELECT id FROM readable)
    ) parts
    GROUP BY lexeme
    HAVING sum(chunks) > 0
),
term AS MATERIALIZED (
    SELECT lexeme, f.chunks,
           ln(1 + (greatest(corpus.chunks - f.chunks, 0) + 0.5) / (f.chunks + 0.5))::float8 AS idf,
           sum(f.chunks) OVER (ORDER BY f.chunks, lexeme) - f.chunks AS chunks_before,
           '''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''' AS quoted
    FROM frequency f, corpus
),
question AS MATERIALIZED (
    SELECT
        (SELECT ('{' || string_agg(id || ':' || idf, ',') || '}/1000000000')::sparsevec
         FROM (SELECT steelyard_term_id(lexeme) AS id, max(idf)::real AS idf
               FROM term GROUP BY 1) weights) AS weights,
        (SELECT string_agg(quoted, ' | ')::tsquery FROM term) AS any_term,
        (SELECT string_agg(quoted, ' | ')::tsquery FROM term
         WHERE chunks_before < %(budget)s) AS rare_term,
        (SELECT greatest(sum(idf), 1e-9) FROM term) AS total_idf,
        (SELECT count(*) FROM lexeme) AS lexemes
)
"""

_SCORES = {
    KeywordScorer.BM25: "-({c}.terms <#> (SELECT weights FROM question))",
    KeywordScorer.TS_RANK: "ts_rank({c}.lexemes, (SELECT any_term FROM question), 1)::float8",
    KeywordScorer.TS_RANK_CD: "ts_rank_cd({c}.lexemes, (SELECT any_term FROM question), 1)::float8",
    KeywordScorer.OVERLAP: (
        "(SELECT count(*) FROM term WHERE lexeme = ANY(tsvector_to_array({c}.lexemes)))::float8"
        " / (SELECT greatest(lexemes, 1) FROM question)"
    ),
}


def keyword(chunks: QuerySet[Chunk], profile: Profile) -> SignalSQL:
    """The keyword signal: raw scores of 0 or more; 0 where no term of the query stands.

    `bm25` and the Postgres ranks are unbounded above; `overlap` lies in [0, 1].
    """
    score = _SCORES[profile.keyword_scorer]
    found = chunks.filter(
        RawSQL(  # constant text: the values come from the common tables
            "ingestion_chunk.lexemes @@ (SELECT rare_term FROM question)",
            (),
            output_field=BooleanField(),
        )
    )
    strength = RawSQL(score.format(c="ingestion_chunk"), (), output_field=FloatField())
    ordered = found.order_by(strength.desc(), "pk").values("pk")[: profile.depth]
    return SignalSQL(score=f"coalesce({score.format(c='c')}, 0)", find=ordered)
