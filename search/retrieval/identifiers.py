"""The SQL of identifiers: which chunks contain those of a query, in which form and place."""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField, F, FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.models import Chunk
from search.domain import MAX_IDENTIFIER_MATCHES, Profile, Query, forms_of
from search.signals.query_terms import bm25

# Common table: the query's forms, without common words.
IDENTIFIER_TABLES = """
asked AS MATERIALIZED (
    SELECT form, strength
    FROM unnest(%(forms)s::text[], %(form_strengths)s::float8[]) given(form, strength)
    WHERE %(alone)s OR (
        SELECT count(*) FROM (
            SELECT 1 FROM ingestion_identifier i JOIN ingestion_chunk c ON c.id = i.chunk_id
            WHERE i.form = given.form AND c.searchable
              AND c.collection_id IN (SELECT id FROM readable)
            LIMIT %(max_holders)s + 1
        ) held
    ) <= %(max_holders)s
),
"""

# One of the two sides must be a full form: `2024-0042` finds `INC-2024-0042`, but PII-2024-0042,
# which shares only its tail, does not.
IDENTIFIER_MATCH = """
LEFT JOIN LATERAL (
    SELECT i.form, i.strength * asked.strength AS strength, i.place
    FROM ingestion_identifier i JOIN asked USING (form)
    WHERE i.chunk_id = c.id AND (i.strength = 1 OR asked.strength = 1)
    ORDER BY 2 DESC, i.place, i.form
    LIMIT 1
) held ON true
"""

# An array, which Postgres evaluates once: for a join it has no size estimate, and reads the table.
_HOLDING = """
ingestion_identifier.form = ANY(ARRAY(SELECT form FROM asked))
AND (ingestion_identifier.strength = 1
     OR ingestion_identifier.form IN (SELECT form FROM asked WHERE strength = 1))
"""


def identifier_params(query: Query) -> dict[str, Any]:
    """The parameters of the common table: the query's identifier forms, with best strengths."""
    forms = forms_of(query.identifiers)
    return {
        "forms": list(forms),
        "form_strengths": list(forms.values()),
        "alone": query.is_identifier,
        "max_holders": MAX_IDENTIFIER_MATCHES,
    }


def identifier_matches(chunks: QuerySet[Chunk], profile: Profile) -> QuerySet[Chunk, Any]:
    """Chunks that contain a form of the query: full forms first, then by place, then by BM25."""
    score = RawSQL(bm25("ingestion_chunk"), (), FloatField())
    # The plain condition joins the identifiers' table, which _HOLDING reads.
    holding = chunks.filter(
        RawSQL(_HOLDING, (), output_field=BooleanField()), identifiers__strength__gt=0
    )
    order = (F("identifiers__strength").desc(), "identifiers__place", score.desc(nulls_last=True))
    return holding.order_by(*order, "pk").values("pk")[: max(profile.depth, MAX_IDENTIFIER_MATCHES)]
