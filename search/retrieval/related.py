"""Q3: the signals beyond the question's words: its concepts, and WordNet's related words.

A concept is a characteristic phrase of a document (`ingestion.lexical.concepts`). The concept
signal is the share of the query's idf mass that is in the document's concepts: a word counts fully
if all words of a concept are in the query, and two thirds of that if only some are (concept-rag's
grades of 1.5 and 1). The WordNet signal is BM25 of the words related to the query's, each times
its grade (`search.query.wordnet`), for queries that are read as English.
"""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField, FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.lexical.ngrams import spaced
from ingestion.models import Chunk
from search.domain import Profile, Query
from search.retrieval.lexical import of_added_words
from search.retrieval.query_terms import lexemes, terms, weights
from search.retrieval.signal_sql import SignalSQL

WHOLE, PART = 1.5, 1.0  # concept-rag's grades (F2-04)

# The best document has its best concept's passage as candidate. A concept with common words only
# is none of the question's: the terms that look concepts up are those of the keywords' budget.
_CONCEPTS = f"""
conceptual AS MATERIALIZED (
    SELECT document_id, sum(idf * grade) / ({WHOLE} * (SELECT total_idf FROM question)) AS raw,
           (array_agg(ordinal ORDER BY grade DESC, idf DESC, ordinal))[1] AS ordinal
    FROM (
        SELECT DISTINCT ON (k.document_id, t.lexeme) k.document_id, t.idf, k.ordinal,
               CASE WHEN k.lexemes <@ asked.lexemes THEN {WHOLE} ELSE {PART} END AS grade
        FROM (SELECT array_agg(lexeme) AS lexemes,
                     array_agg(lexeme) FILTER (WHERE chunks_before < %(budget)s) AS rare
              FROM term) asked
        JOIN ingestion_concept k ON k.lexemes && asked.rare
        JOIN ingestion_document d ON d.id = k.document_id
        JOIN term t ON t.lexeme = ANY(k.lexemes)
        WHERE d.collection_id IN (SELECT id FROM readable)
        ORDER BY k.document_id, t.lexeme, grade DESC, k.ordinal
    ) graded
    GROUP BY document_id
),
"""
_OF_DOCUMENT = "(SELECT raw FROM conceptual WHERE document_id = {chunk}.document_id)"


def concept(chunks: QuerySet[Chunk], profile: Profile) -> SignalSQL:
    """The concept signal, in [0, 1]; every chunk has its document's, 0 without a concept."""
    held = RawSQL(  # constant text: the values come from the common tables
        "(ingestion_chunk.document_id, ingestion_chunk.ordinal) IN"
        " (SELECT document_id, ordinal FROM conceptual)",
        (),
        output_field=BooleanField(),
    )
    strength = RawSQL(_OF_DOCUMENT.format(chunk="ingestion_chunk"), (), output_field=FloatField())
    ordered = chunks.filter(held).order_by(strength.desc(), "pk").values("pk")[: profile.depth]
    score = f"coalesce({_OF_DOCUMENT.format(chunk='c')}, 0)::float8"
    return SignalSQL(score=score, find=ordered, tables=_CONCEPTS)


_RELATED_LEXEMES = lexemes(
    "%(related)s::text[]",
    "wordnet_",
    times="1",
    condition="lexeme NOT IN (SELECT lexeme FROM lexeme)"
    " AND (SELECT own FROM language) = 'english'",
)
_GRADE = "(SELECT grade FROM wordnet_grade WHERE lexeme = term.lexeme)"
WORDNET_TABLES = f"""
{_RELATED_LEXEMES},
wordnet_grade AS MATERIALIZED (
    SELECT lexeme, max((%(grades)s::float8[])[text]) AS grade FROM wordnet_word GROUP BY lexeme
),
{terms("wordnet_")},
wordnet AS MATERIALIZED (
    SELECT
        {weights("wordnet_", factor=_GRADE)},
        (SELECT string_agg(quoted, ' | ')::tsquery FROM wordnet_term
         WHERE chunks_before < %(budget)s) AS rare_term
),
"""


def wordnet(chunks: QuerySet[Chunk], profile: Profile) -> SignalSQL:
    """The WordNet signal: graded BM25 raw scores of 0 or more; 0 without a related word."""
    return of_added_words("wordnet", chunks, profile, WORDNET_TABLES)


def wordnet_params(query: Query) -> dict[str, Any]:
    """The parameters of the WordNet signal."""
    return {
        "related": [spaced(each.text) for each in query.related],
        "grades": [each.grade for each in query.related],
    }
