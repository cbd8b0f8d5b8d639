"""Embedding spaces, and the vectors of chunks in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from common.jobs import BULK, Job
from ingestion.models.chunks import Chunk


class EmbeddingSpace(Job):
    """The vectors of one model. Vectors of two spaces are never compared.

    `config` identifies the embedder of its chunks and queries: the kind and every setting that
    affects the vectors, never a key. If empty, it is filled on first use from the settings, if they
    name the same model (`spaces`).
    """

    class State(models.TextChoices):
        BUILDING = "building", _("Building")
        ACTIVE = "active", _("Active")
        PREVIOUS = "previous", _("Previous")
        DROPPING = "dropping", _("Being removed")

    TASK = "ingestion.tasks.advance_space"
    QUEUES = {BULK: Q()}
    OPEN = (State.BUILDING, State.ACTIVE, State.PREVIOUS, State.DROPPING)

    name = models.CharField(max_length=120)
    fingerprint = models.CharField(max_length=200, unique=True)
    config = models.JSONField(default=dict, blank=True, editable=False)
    dimensions = models.PositiveIntegerField()
    max_tokens = models.PositiveIntegerField()
    languages = ArrayField(
        models.CharField(max_length=8),
        default=list,
        blank=True,
        help_text=_("ISO 639-1 codes that the model supports; empty: multilingual."),
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.BUILDING)
    created = models.DateTimeField(default=timezone.now, editable=False)

    paused = models.BooleanField(default=False, editable=False)
    filling_after = models.BigIntegerField(
        default=0, editable=False, help_text=_("Id of the last chunk embedded.")
    )
    chunks_total = models.PositiveIntegerField(default=0, editable=False)
    chunks_filled = models.PositiveIntegerField(default=0, editable=False)
    filling_since = models.DateTimeField(null=True, editable=False)
    filled_at = models.DateTimeField(null=True, editable=False)
    activated_at = models.DateTimeField(null=True, editable=False)
    left_at = models.DateTimeField(
        null=True, editable=False, help_text=_("When another space replaced it.")
    )
    comparison = models.TextField(
        default="",
        db_default="",
        editable=False,
        help_text=_("The last comparison with another model, a table of text."),
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("state",),
                condition=Q(state="active"),
                name="embedding_space_one_active",
                violation_error_message=_("Another embedding space is active."),
            ),
            models.UniqueConstraint(
                fields=("state",),
                condition=Q(state="previous"),
                name="embedding_space_one_previous",
                violation_error_message=_(
                    "Another embedding space is already kept as the previous one."
                ),
            ),
            models.CheckConstraint(
                # HNSW over halfvec holds up to 4,000 dimensions.
                condition=Q(dimensions__gte=1, dimensions__lte=4000),
                name="embedding_space_dimensions_range",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.dimensions} dimensions)"

    @property
    def index_name(self) -> str:
        return f"chunk_embedding_hnsw_{self.pk}"

    @property
    def is_written(self) -> bool:
        """True if new chunks get a vector in this space."""
        return self.state in WRITTEN_STATES


# The previous space is kept complete, so that one can switch back to it.
WRITTEN_STATES = (
    EmbeddingSpace.State.ACTIVE,
    EmbeddingSpace.State.BUILDING,
    EmbeddingSpace.State.PREVIOUS,
)


class ChunkEmbedding(models.Model):
    """The vector of one chunk in one space: unit length, half precision."""

    if TYPE_CHECKING:
        space_id: int
        chunk_id: int

    pk = models.CompositePrimaryKey("chunk_id", "space_id")
    # Found by the primary key, which begins with it.
    chunk = models.ForeignKey(Chunk, models.CASCADE, related_name="embeddings", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE, related_name="embeddings")
    # Dimensions differ between spaces: each space's index casts to its own (ADR 4).
    vector = HalfVectorField()

    def __str__(self) -> str:
        return f"{self.chunk_id} in space {self.space_id}"
