"""What search reads: chunks, their embeddings by space, their identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.utils import timezone
from pgvector.django import HalfVectorField, SparseVectorField

from ingestion.models.library import Collection, Document, DocumentVersion, Viewer

# pgvector's largest sparse vector; a term's index in it is a hash (see `terms`).
TERM_DIMENSIONS = 1_000_000_000


class EqualsAny(Func):
    """`value = ANY(array)`, which the planner reads as a condition and never as a join."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    arity = 2
    output_field = models.BooleanField()


class ChunkQuerySet(models.QuerySet["Chunk"]):
    def visible_to(self, viewer: Viewer, *, collections: Sequence[str] = ()) -> ChunkQuerySet:
        """The chunks `viewer` may find: the one door of search, pages, downloads and lists.

        With `collections` (slugs) only those of them that the viewer may read.

        The collections come as `= ANY(ARRAY(SELECT ...))`, which Postgres runs once ahead of
        the scan; an IN subquery becomes a join that can cost the vector index its order.
        """
        allowed = Collection.objects.visible_to(viewer).order_by()
        if collections:
            allowed = allowed.filter(slug__in=collections)
        readable = EqualsAny(F("collection_id"), ArraySubquery(allowed.values("pk")))
        return self.filter(readable, searchable=True)


class Chunk(models.Model):
    """A passage of one version: the unit that is found, ranked and shown.

    `start` and `end` are character offsets into the version's text. `terms` holds BM25's
    document side by term (decision D1). `searchable` is true for the chunks of a document's
    current version alone; it changes for a whole version within one transaction.
    """

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, models.CASCADE, related_name="chunks")
    version = models.ForeignKey(DocumentVersion, models.CASCADE, related_name="chunks")
    ordinal = models.PositiveIntegerField()
    searchable = models.BooleanField(default=False)
    text = models.TextField()
    kind = models.CharField(max_length=12)
    heading_path = ArrayField(models.TextField(), default=list)
    page = models.PositiveIntegerField(null=True)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    tokens = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    text_config = models.CharField(max_length=64, default="simple")
    lexemes = SearchVectorField(null=True)
    terms = SparseVectorField(dimensions=TERM_DIMENSIONS, null=True)
    signature = models.BigIntegerField(
        null=True, help_text="Near-duplicates differ in few of its 64 bits."
    )
    length = models.PositiveIntegerField(default=0, help_text="Term occurrences: BM25's length.")

    objects = ChunkQuerySet.as_manager()

    class Meta:
        ordering = ("version", "ordinal")
        constraints = (
            models.UniqueConstraint("version", "ordinal", name="chunk_ordinal_once"),
            models.CheckConstraint(condition=Q(end__gte=F("start")), name="chunk_offsets_in_order"),
        )
        indexes = (
            GinIndex(
                fields=("lexemes",),
                name="chunk_lexemes",
                condition=Q(searchable=True),
                # A pending list makes one search in many pay for the merge.
                fastupdate=False,
            ),
            models.Index(fields=("collection", "content_hash"), name="chunk_content_hash"),
        )

    def __str__(self) -> str:
        return f"{self.document_id}#{self.ordinal}"


class EmbeddingSpace(models.Model):
    """The vectors of one model. Vectors of two spaces are never compared."""

    class State(models.TextChoices):
        BUILDING = "building", "Building"
        ACTIVE = "active", "Active"
        RETIRED = "retired", "Retired"

    name = models.CharField(max_length=120)
    fingerprint = models.CharField(max_length=200, unique=True)
    dimensions = models.PositiveIntegerField()
    max_tokens = models.PositiveIntegerField()
    languages = ArrayField(
        models.CharField(max_length=8),
        default=list,
        blank=True,
        help_text="ISO 639-1 codes the model knows; empty: many.",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.BUILDING)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("state",),
                condition=Q(state="active"),
                name="embedding_space_one_active",
                violation_error_message="Another embedding space is active.",
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


class ChunkEmbedding(models.Model):
    """One chunk's vector in one space: unit length, half precision."""

    if TYPE_CHECKING:
        space_id: int
        chunk_id: int

    pk = models.CompositePrimaryKey("chunk_id", "space_id")
    chunk = models.ForeignKey(Chunk, models.CASCADE, related_name="embeddings")
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE, related_name="embeddings")
    # No dimension here: spaces differ. Each space's index casts to its own (decision D4).
    vector = HalfVectorField()

    def __str__(self) -> str:
        return f"{self.chunk_id} in space {self.space_id}"


class Identifier(models.Model):
    """A canonical form of a code that a chunk names (decision D2)."""

    chunk = models.ForeignKey(Chunk, models.CASCADE, related_name="identifiers")
    form = models.CharField(max_length=200)
    strength = models.FloatField(help_text="1 for the full form, less for a tail or a parent.")
    place = models.PositiveSmallIntegerField(help_text="0 title, 1 heading, 2 body.")

    class Meta:
        constraints = (
            models.UniqueConstraint("form", "chunk", name="identifier_once_per_chunk"),
            models.CheckConstraint(
                condition=Q(strength__gt=0, strength__lte=1), name="identifier_strength_range"
            ),
        )

    def __str__(self) -> str:
        return self.form
