"""Q3: what the results of a question depend on besides the question; one query.

As the database says at this moment, and within one statement: which collections the viewer may
read, and the state of their passages. Whatever changes what is found in them adds a row to the
statistics or changes one, in its own transaction (`ingestion.lexical.stamps`).
"""

from __future__ import annotations

from dataclasses import dataclass

from common.replicas import connection
from ingestion.models.library import Viewer
from search.retrieval.filters import readable_to

# A row of the totals is known by its transaction and place, because totals can return to what they
# were; a pending change by its id, which no other ever has. Sums of hashes need no order.
_STATEMENT = """
WITH readable(id) AS MATERIALIZED ({readable})
SELECT coalesce((SELECT number FROM search_configurationstamp WHERE id = 1), 0),
       ARRAY(SELECT id FROM readable ORDER BY id),
       coalesce((SELECT sum(hashtextextended(xmin::text || ctid::text, id))
                 FROM ingestion_corpusstatistics
                 WHERE collection_id IN (SELECT id FROM readable)), 0)::text,
       coalesce((SELECT sum(hashint8extended(id, 0)) FROM ingestion_corpuschange
                 WHERE collection_id IN (SELECT id FROM readable)), 0)::text
"""


@dataclass(frozen=True, slots=True)
class LibraryState:
    """The collections that a viewer may read, and two numbers that change with their passages.

    `configuration` is the number of the saved configuration.
    """

    configuration: int
    readable: tuple[int, ...]
    counted: str
    pending: str


def library_state(viewer: Viewer) -> LibraryState:
    """The state of the viewer's library now."""
    readable, values = readable_to(viewer, "readable")
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT.format(readable=readable), values)
        number, found, counted, pending = cursor.fetchone()
    return LibraryState(number, tuple(found), counted, pending)
