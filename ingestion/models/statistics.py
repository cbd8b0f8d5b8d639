"""Document frequencies for BM25, and concepts, by collection.

Writers only insert: when a version becomes searchable or stops being so, its counts go into the
Change tables, so that workers never wait for one another. `terms.fold` moves them into the
totals; readers sum both.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Count, Min, Sum
from django.utils.translation import gettext_lazy as _

from ingestion.models.documents import Document
from ingestion.models.library import Collection, Viewer
from ingestion.models.versions import DocumentVersion


class TermFrequency(models.Model):
    """The number of searchable chunks of a collection with a lexeme, as of the last fold."""

    # Without an index of its own: only the deletion of a collection looks for it alone.
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+", db_index=False)
    lexeme = models.TextField()
    chunks = models.BigIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint("lexeme", "collection", name="term_once_per_collection"),
        )

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunks}"


class TermChange(models.Model):
    """A pending change of a TermFrequency.

    In the database `id` has no index: a row is written for each lexeme of a version, and read by
    its lexeme or with all others.
    """

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+", db_index=False)
    lexeme = models.TextField()
    chunks = models.IntegerField()

    class Meta:
        indexes = (models.Index(fields=("lexeme", "collection"), name="term_change_lexeme"),)

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunks:+d}"


class CorpusStatistics(models.Model):
    """Number and total length of a collection's searchable chunks, by text configuration."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    text_config = models.CharField(max_length=64)
    chunks = models.BigIntegerField()
    total_length = models.BigIntegerField()
    weighed_length = models.FloatField(
        default=0,
        help_text=_("Average length used for the stored weights; 0: none yet."),
    )

    class Meta:
        constraints = (
            models.UniqueConstraint("collection", "text_config", name="corpus_once_per_config"),
        )

    def __str__(self) -> str:
        return f"{self.text_config}: {self.chunks} chunks"


class CorpusChange(models.Model):
    """A pending change of a CorpusStatistics row."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    text_config = models.CharField(max_length=64)
    chunks = models.IntegerField()
    total_length = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.text_config}: {self.chunks:+d} chunks"


class ConceptQuerySet(models.QuerySet["Concept"]):
    def visible_to(self, viewer: Viewer) -> ConceptQuerySet:
        """The concepts of the documents that `viewer` may read."""
        return self.filter(document__in=Document.objects.visible_to(viewer).order_by())

    def counted(self) -> models.QuerySet[Any, Any]:
        """A row for each key, with its numbers of `documents` and `occurrences`, most first.

        `label` is the first of these documents' forms, so that it tells of no other document.
        """
        counted = (
            self.order_by()
            .values("key")
            .annotate(label=Min("label"), documents=Count("document"), occurrences=Sum("count"))
        )
        return counted.order_by("-documents", "-occurrences", "key")


class Concept(models.Model):
    """A characteristic phrase of a document's current version (ADR 39).

    `key` is its lexemes, the same for every form of the phrase; `label` the form that the document
    uses most. `weight`, in (0, 1], is relative to the document's first concept.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="concepts")
    version = models.ForeignKey(DocumentVersion, models.CASCADE, related_name="concepts")
    key = models.CharField(max_length=200)
    label = models.CharField(max_length=200)
    lexemes = ArrayField(models.TextField())
    count = models.PositiveIntegerField(help_text=_("Number of occurrences."))
    weight = models.FloatField()
    ordinal = models.PositiveIntegerField(help_text=_("The first passage with it, from 0."))

    objects = ConceptQuerySet.as_manager()

    class Meta:
        ordering = ("document", "-weight", "key")
        default_permissions = ()
        constraints = (models.UniqueConstraint("version", "key", name="concept_once_per_version"),)
        indexes = (
            models.Index(fields=("key", "document"), name="concept_key"),
            GinIndex(fields=("lexemes",), name="concept_lexemes"),
        )

    def __str__(self) -> str:
        return self.label
