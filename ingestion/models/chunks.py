"""Chunks: the passages of a version, with their identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.expressions import Combinable, RawSQL
from django.utils.translation import gettext_lazy as _
from pgvector.django import SparseVectorField

from ingestion.models.collections import Collection
from ingestion.models.documents import Document
from ingestion.models.versions import ChunkEdit, DocumentVersion
from ingestion.models.visibility import Viewer, narrower

# pgvector's largest sparse vector; a term's index in it is a hash (see `lexical.bm25_weights`).
TERM_DIMENSIONS = 1_000_000_000


class EqualsAny(Func):
    """`value = ANY(array)`, which the planner reads as a condition and never as a join."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    arity = 2
    output_field = models.BooleanField()


class SubqueryOnce(ArraySubquery):
    """An array of collections and the audiences within them that include `viewer`.

    Compiled once: every candidate generator contains it.
    """

    _compiled: tuple[object, Any] | None = None

    def __init__(self, collections: Any, viewer: Viewer) -> None:
        super().__init__(collections.order_by().values("pk"))
        self._viewer = viewer

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **kwargs: Any) -> Any:
        # Django copies an expression to change its query: the copy compiles its own.
        if self._compiled is None or self._compiled[0] is not self.query:
            array, params = super().as_sql(compiler, connection, *args, **kwargs)
            sql, more = narrower(array.removeprefix("ARRAY(").removesuffix(")"), self._viewer)
            self._compiled = self.query, (f"ARRAY({sql})", (*params, *more))
        return self._compiled[1]


class ChunkQuerySet(models.QuerySet["Chunk"]):
    def visible_to(self, viewer: Viewer) -> ChunkQuerySet:
        """The searchable chunks that `viewer` may read.

        The collections come as `= ANY(ARRAY(SELECT ...))`, which Postgres runs once ahead of
        the scan; an IN subquery becomes a join that can cost the vector index its order.
        """
        return self._of(SubqueryOnce(Collection.objects.visible_to(viewer), viewer))

    def searched_by(self, viewer: Viewer, slugs: Sequence[str] = ()) -> ChunkQuerySet:
        """The chunks in `Collection.objects.searched_by`; every search starts here."""
        return self._of(SubqueryOnce(Collection.objects.searched_by(viewer, slugs), viewer))

    def visible_within_statement(self) -> ChunkQuerySet:
        """`visible_to`, in a statement with a common table `readable` of the collections' ids.

        That table must hold the collections that are `visible_to` the viewer, or some of them.
        """
        return self._of(RawSQL("ARRAY(SELECT id FROM readable)", ()))

    def _of(self, collections: Combinable) -> ChunkQuerySet:
        """The searchable chunks of the collections in an array of ids."""
        return self.filter(EqualsAny(F("collection_id"), collections), searchable=True)


class Chunk(models.Model):
    """A passage of one version: the unit that is retrieved, ranked and shown.

    `start` and `end` are character offsets into the version's parsed text, even where `text` was
    edited. `terms` holds the BM25 weight of each term (ADR 1). `searchable` is true only for chunks
    of a document's current version that are neither disabled by hand nor of a deleted document; it
    changes for a whole version within one transaction. `layout` has the blocks of the parsed text,
    [start, kind, level] each, and `sections` the sections of the text, as `domain.SectionPlace`;
    both are empty for chunks made before they were kept. `section_terms` are the lexemes of their
    names and of those above them, the numbers of the sections in place of positions.
    """

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, models.CASCADE, related_name="chunks")
    # Found by `chunk_ordinal_once`, which begins with it.
    version = models.ForeignKey(
        DocumentVersion, models.CASCADE, related_name="chunks", db_index=False
    )
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
        null=True, help_text=_("64 bits; near-duplicates differ in few of them.")
    )
    length = models.PositiveIntegerField(
        default=0, help_text=_("Number of term occurrences (BM25 document length).")
    )
    # Found by `chunk_edit`: nearly all chunks have none.
    edit = models.ForeignKey(
        ChunkEdit,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="chunks",
        editable=False,
        db_index=False,
    )
    original = models.TextField(
        blank=True, editable=False, help_text=_("The parsed text, if it was edited by hand.")
    )
    layout = models.JSONField(default=list, editable=False)
    sections = models.JSONField(default=list, editable=False)
    section_terms = SearchVectorField(null=True, editable=False)

    objects = ChunkQuerySet.as_manager()

    class Meta:
        ordering = ("version", "ordinal")
        constraints = (
            models.UniqueConstraint("version", "ordinal", name="chunk_ordinal_once"),
            models.CheckConstraint(condition=Q(end__gte=F("start")), name="chunk_offsets_in_order"),
            models.UniqueConstraint(
                "version", "edit", condition=~Q(edit=None), name="chunk_edit_once_per_version"
            ),
        )
        indexes = (
            GinIndex(
                fields=("lexemes",),
                name="chunk_lexemes",
                condition=Q(searchable=True),
                # A pending list makes one search in many pay for the merge.
                fastupdate=False,
            ),
            models.Index(fields=("edit",), name="chunk_edit", condition=~Q(edit=None)),
        )

    def __str__(self) -> str:
        return f"{self.document_id}#{self.ordinal}"


class Identifier(models.Model):
    """A canonical form of an identifier that occurs in a chunk (ADR 2)."""

    chunk = models.ForeignKey(Chunk, models.CASCADE, related_name="identifiers")
    form = models.CharField(max_length=200)
    strength = models.FloatField(help_text=_("1 for the full form, less for a tail or a parent."))
    place = models.SmallIntegerField(
        help_text=_("-1 the heading of its own section, 0 title, 1 heading, 2 body.")
    )

    class Meta:
        constraints = (
            models.UniqueConstraint("form", "chunk", name="identifier_once_per_chunk"),
            models.CheckConstraint(
                condition=Q(strength__gt=0, strength__lte=1), name="identifier_strength_range"
            ),
        )

    def __str__(self) -> str:
        return self.form
