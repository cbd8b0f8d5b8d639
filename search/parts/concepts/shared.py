"""The concepts that documents share, which the search page offers as filters; one query."""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.models.library import Viewer
from search.retrieval.filters import readable_to
from search.retrieval.prepared import Shapes, Statement, run

# As `Concept.objects.visible_to(viewer).counted()`, which Django takes longer to compile.
_STATEMENT = """
WITH readable(id) AS MATERIALIZED ({readable})
SELECT c.key, min(c.label), count(c.document_id)
FROM ingestion_concept c JOIN ingestion_document d ON d.id = c.document_id
WHERE c.document_id = ANY(%(documents)s::bigint[]) AND d.deleted_at IS NULL
  AND d.collection_id IN (SELECT id FROM readable) AND c.key <> ALL(%(chosen)s::text[])
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
    statement = _shapes.get(readable, lambda: Statement(_STATEMENT.format(readable=readable)))
    values = values | {
        "documents": list(documents),
        "chosen": list(chosen),
        "all": len(documents),
        "most": most,
    }
    return [(key, label, int(count)) for key, label, count in run(statement, values)]
