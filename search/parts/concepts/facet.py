"""Concepts as filters of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from ingestion.models import Document
from ingestion.models.documents import READERS
from ingestion.models.visibility import Viewer
from search.parts.concepts.models import Concept
from search.retrieval.facets import Facet, Value
from search.retrieval.filters import readable_to
from search.retrieval.prepared import Shapes, run

CONCEPTS_OF_DOCUMENT = 12

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


class ConceptFacet(Facet):
    """The concepts of documents; the keys are their lexemes."""

    name = "concept"
    label = _("Concepts")
    about = _("Concepts of these documents")
    invitation = _("Only documents about")
    every = _("All concepts")
    page = "search:concepts"
    too_many = _("Choose at most %(most)d concepts.")
    help_text = "Keys of concepts (`concepts/`) that a document must have; may be repeated."

    def documents(self, key: str) -> QuerySet[Any, Any]:
        return Concept.objects.filter(key=key).values("document")

    def of(self, document: Document) -> Sequence[tuple[str, str]]:
        rows = Concept.objects.filter(document=document)[:CONCEPTS_OF_DOCUMENT]
        return [(row.key, row.label) for row in rows]

    def offered(
        self, documents: Sequence[int], viewer: Viewer, *, chosen: Sequence[str], most: int
    ) -> Sequence[Value]:
        """The concepts that some, but not all of the documents have, without the chosen ones.

        Those with the largest sum of weights come first: mere frequency would name the words of
        every page.
        """
        if len(documents) < 3:  # of fewer, all or one have it
            return []
        readable, values = readable_to(viewer, "readable")
        statement = _shapes.get(
            readable, lambda: _STATEMENT.format(readable=readable, readers=READERS)
        )
        values = values | {
            "documents": list(documents),
            "chosen": list(chosen),
            "all": len(documents),
            "most": most,
        }
        return [(key, label, int(count)) for key, label, count in run(statement, values)]

    def named(self, keys: Sequence[str], viewer: Viewer) -> Sequence[Value]:
        rows = Concept.objects.visible_to(viewer).filter(key__in=keys).counted()
        return [(row["key"], row["label"], row["documents"]) for row in rows]
