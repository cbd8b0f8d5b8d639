"""The SQL of pins: the place of each pinned passage, as a candidate generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import FloatField, Q, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.models import Chunk
from search.domain import Pinned
from search.signals.query_terms import bm25

# The place of a candidate's document among the pins, from 0. If a document is pinned by one of
# its passages, only that passage has a place, so that it is the one shown.
PLACE = """CASE WHEN coalesce((%(pinned_edits)s::bigint[])[
        array_position(%(pinned)s::bigint[], c.document_id)], 0) IN (0, c.edit_id)
    THEN array_position(%(pinned)s::bigint[], c.document_id) - 1 END"""


def pin_params(pins: Sequence[Pinned]) -> dict[str, list[int]]:
    """The parameters of PLACE. The id 0 means no edit."""
    return {
        "pinned": [pin.document_id for pin in pins],
        "pinned_edits": [pin.edit_id or 0 for pin in pins],
    }


def pinned_chunks(chunks: QuerySet[Chunk], pins: Sequence[Pinned]) -> QuerySet[Chunk, Any]:
    """The pinned passages, and of each pinned document the chunk with the highest BM25.

    If several chunks have the highest, the first one.
    """
    score = RawSQL(bm25("ingestion_chunk"), (), output_field=FloatField())
    documents = [pin.document_id for pin in pins if pin.edit_id is None]
    edits = [pin.edit_id for pin in pins if pin.edit_id is not None]
    pinned = chunks.filter(Q(document_id__in=documents) | Q(edit_id__in=edits))
    ordered = pinned.order_by("document_id", score.desc(nulls_last=True), "pk")
    return ordered.distinct("document_id").values("pk")
