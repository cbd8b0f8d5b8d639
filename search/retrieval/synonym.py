"""Q3: the synonym signal: BM25 of the synonyms of the query's words."""

from __future__ import annotations

from django.db.models import BooleanField, FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.lexical.ngrams import spaced
from ingestion.models import Chunk
from search.domain import Profile, Query
from search.retrieval import lexical
from search.retrieval.sql import SignalSQL

# Common tables after those of the keyword signal, which already scores the query's own lexemes.
TABLES = f"""
expansion_lexeme AS (
    SELECT DISTINCT l.lexeme
    FROM config, unnest(%(expansions)s::text[]) said,
         unnest(to_tsvector(config.text_config::regconfig, said)) l
    WHERE l.lexeme NOT IN (SELECT lexeme FROM term)
),
{lexical.terms("expansion_")},
expansion AS MATERIALIZED (
    SELECT
        {lexical.weights("expansion_")},
        (SELECT string_agg(quoted, ' | ')::tsquery FROM expansion_term
         WHERE chunks_before < %(budget)s) AS rare_term
),
"""


def synonym(chunks: QuerySet[Chunk], profile: Profile, query: Query) -> SignalSQL:
    """The synonym signal: BM25 raw scores of 0 or more; 0 for a chunk without an expansion."""
    found = chunks.filter(
        RawSQL(  # constant text: the values come from the common tables
            "ingestion_chunk.lexemes @@ (SELECT rare_term FROM expansion)",
            (),
            output_field=BooleanField(),
        )
    )
    score = RawSQL(lexical.bm25("ingestion_chunk", "expansion"), (), output_field=FloatField())
    ordered = found.order_by(score.desc(), "pk").values("pk")[: profile.depth]
    return SignalSQL(
        score=f"coalesce({lexical.bm25('c', 'expansion')}, 0)",
        find=ordered,
        tables=TABLES,
        score_params={"expansions": list(map(spaced, query.expansions))},
    )
