"""Q3: the vector signal: cosine similarity in one embedding space, over its HNSW index (D4)."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.models import Chunk, EmbeddingSpace
from search.domain import Profile
from search.retrieval.sql import SignalSQL


def vector(
    chunks: QuerySet[Chunk], profile: Profile, space: EmbeddingSpace, embedding: Sequence[float]
) -> SignalSQL:
    """The vector signal: 1 - cosine distance, in [-1, 1]; NULL for a chunk not in the space.

    The cast must read exactly as in the space's index, or Postgres will not use it.
    """
    size = int(space.dimensions)
    literal = "[" + ",".join(format(value, ".7g") for value in embedding) + "]"
    distance = RawSQL(  # `size` is an integer of ours, the vector a parameter
        f"(ingestion_chunkembedding.vector::halfvec({size})) <=> %s::halfvec({size})",
        (literal,),
        output_field=FloatField(),
    )
    nearest = chunks.filter(embeddings__space_id=space.pk).order_by(distance).values("pk")
    return SignalSQL(
        score=(
            f"(SELECT 1 - ((e.vector::halfvec({size})) <=> %(embedding)s::halfvec({size}))"
            " FROM ingestion_chunkembedding e"
            f" WHERE e.chunk_id = c.id AND e.space_id = {int(space.pk)})"
        ),
        find=nearest[: profile.depth],
        score_params={"embedding": literal},
    )
