"""Q3: the documents that an administrator pinned to just this query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.models import Chunk
from search.retrieval.lexical import bm25

# The place of a candidate's document among the pins, from 0.
PLACE = "array_position(%(pinned)s::bigint[], c.document_id) - 1"


def pinned_chunks(chunks: QuerySet[Chunk], documents: Sequence[int]) -> QuerySet[Chunk, Any]:
    """The chunk of each pinned document that fits the query's words best; the first of equals."""
    score = RawSQL(bm25("ingestion_chunk"), (), output_field=FloatField())
    held = chunks.filter(document_id__in=documents)
    ordered = held.order_by("document_id", score.desc(nulls_last=True), "pk")
    return ordered.distinct("document_id").values("pk")
