"""The part “concepts”: documents' characteristic phrases as a signal, and as filters of the page.

The signal, in [0, 1], is the share of the query's idf mass in the document's concepts.

A concept is a characteristic phrase of a document (`ingestion.lexical.concepts`). A word counts
fully if all words of a concept are in the query, and two thirds of that if only some are
(concept-rag's grades of 1.5 and 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import BooleanField, FloatField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from common.probes import Finding, look
from ingestion.lexical import concepts
from ingestion.models.collections import Viewer
from ingestion.models.documents import READERS
from search.domain import Signal
from search.retrieval.filters import readable_to
from search.retrieval.prepared import Shapes, run
from search.signals import registry
from search.signals.registry import Inputs, SignalPart, SignalSQL

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
        if concepts.are_missing():
            text = "The active profile weighs concepts, which some documents do not have yet."
            yield look(text, "Reprocess them in the admin.", "W013")

    def measure(self, scorer: str) -> Any:
        return _("match of its document's concepts")


CONCEPTS = ConceptSignal()


# As `Concept.objects.visible_to(viewer).counted()`, which Django takes longer to compile.
_STATEMENT = """
WITH readable(id) AS MATERIALIZED ({readable})
SELECT c.key, min(c.label), count(c.document_id)
FROM ingestion_concept c JOIN ingestion_document d ON d.id = c.document_id
WHERE c.document_id = ANY(%(documents)s::bigint[]) AND d.deleted_at IS NULL
  AND {readers} IN (SELECT id FROM readable) AND c.key <> ALL(%(chosen)s::text[])
GROUP BY c.key
HAVING count(c.document_id) > 1 AND count(c.document_id) < %(all)s::integer
ORDER BY sum(c.weight) DESC, c.key
LIMIT %(most)s::integer
"""
_shapes = Shapes()


def shared_concepts(
    documents: Sequence[int], viewer: Viewer, *, chosen: Sequence[str], most: int
) -> list[tuple[str, str, int]]:
    """The key, label and number of documents of concepts that some, but not all of them have.

    Those with the largest sum of weights come first; without the `chosen` ones.
    """
    if len(documents) < 3:  # of fewer, all or one have it
        return []
    readable, values = readable_to(viewer, "readable")
    statement = _shapes.get(readable, lambda: _STATEMENT.format(readable=readable, readers=READERS))
    values = values | {
        "documents": list(documents),
        "chosen": list(chosen),
        "all": len(documents),
        "most": most,
    }
    return [(key, label, int(count)) for key, label, count in run(statement, values)]


def register() -> None:
    """Register the signal."""
    registry.register(CONCEPTS)
