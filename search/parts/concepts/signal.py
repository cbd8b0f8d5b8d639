"""The signal of concepts: the share of the question's idf mass in the document's concepts.

A concept is a characteristic phrase of a document (`extraction`). A word counts fully if all words
of a concept are in the query, and two thirds of that if only some are (concept-rag's grades of 1.5
and 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import BooleanField, FloatField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from common.probes import Finding, look
from ingestion.models.documents import READERS
from search.domain import Signal
from search.parts.concepts import extraction
from search.signals.registry import Inputs, SignalPart, SignalSQL

WHOLE, PART = 1.5, 1.0  # concept-rag's grades (F2-04)

# The best document has its best concept's passage as candidate. A concept with common words only
# is none of the question's: the terms that look concepts up are those of the keywords' budget.
_CONCEPTS = f"""
conceptual AS MATERIALIZED (
    SELECT document_id, sum(idf * grade) / ({WHOLE} * %(total_idf)s::float8) AS raw,
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
        WHERE {READERS} IN (SELECT id FROM readable)
        ORDER BY k.document_id, t.lexeme, grade DESC, k.ordinal
    ) graded
    GROUP BY document_id
),
"""
_OF_DOCUMENT = "(SELECT raw FROM conceptual WHERE document_id = {chunk}.document_id)"


class ConceptSignal(SignalPart):
    """The score of a chunk's document, 0 without a concept of the query."""

    signal = Signal.CONCEPT
    label = _("Concepts")
    advice = _(
        "Prefers documents whose concepts, their characteristic phrases, are in the question. "
        "Raising it ranks every passage of such a document above better ones."
    )
    unavailable = _("Concepts are unavailable; showing other matches.")

    def sql(self, inputs: Inputs) -> SignalSQL:
        best = RawSQL(  # constant text: the values come from the common tables
            "(ingestion_chunk.document_id, ingestion_chunk.ordinal) IN"
            " (SELECT document_id, ordinal FROM conceptual)",
            (),
            output_field=BooleanField(),
        )
        own = _OF_DOCUMENT.format(chunk="ingestion_chunk")
        strength = RawSQL(own, (), output_field=FloatField())
        ordered = inputs.scope.chunks.filter(best).order_by(strength.desc(), "pk")
        return SignalSQL(
            score=f"coalesce({_OF_DOCUMENT.format(chunk='c')}, 0)::float8",
            find=ordered.values("pk")[: inputs.profile.depth],
            tables=_CONCEPTS,
        )

    def findings(self) -> Iterator[Finding]:
        if extraction.are_missing():
            text = "The active profile weighs concepts, which some documents do not have yet."
            yield look(text, "Reprocess them in the admin.", "W013")

    def measure(self, scorer: str) -> Any:
        return _("match of its document's concepts")
