"""The words that are expected of passages, as sparse vectors over the encoder's vocabulary."""

from __future__ import annotations

from django.db import models
from pgvector.django import HnswIndex, SparseVectorField

from ingestion.models import Chunk

# BERT's English vocabulary, which fastembed's SPLADE models share.
VOCABULARY = 30_522


class PassageExpansion(models.Model):
    """The weights of the words that a passage has or might as well have, by token.

    The database deletes it with its passage: a site without the part has nothing more to do.
    """

    chunk = models.OneToOneField(
        Chunk, models.DO_NOTHING, primary_key=True, related_name="expansion", db_constraint=False
    )
    vector = SparseVectorField(dimensions=VOCABULARY)

    class Meta:
        indexes = (
            HnswIndex(
                name="expansion_by_product", fields=("vector",), opclasses=("sparsevec_ip_ops",)
            ),
        )

    def __str__(self) -> str:
        return f"passage {self.chunk_id}"
