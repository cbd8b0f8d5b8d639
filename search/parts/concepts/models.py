"""The table of concepts, and the versions whose concepts were extracted."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Count, Min, Sum
from django.utils.translation import gettext_lazy as _

from ingestion.models import Document, DocumentVersion
from ingestion.models.visibility import Viewer


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
    """A characteristic phrase of a document's current version (ADR 41).

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
        db_table = "ingestion_concept"  # it was ingestion's model before 0.3.0
        ordering = ("document", "-weight", "key")
        default_permissions = ()
        constraints = (models.UniqueConstraint("version", "key", name="concept_once_per_version"),)
        indexes = (
            models.Index(fields=("key", "document"), name="concept_key"),
            GinIndex(fields=("lexemes",), name="concept_lexemes"),
        )

    def __str__(self) -> str:
        return self.label


class ConceptCount(models.Model):
    """The number of a version's concepts, maybe 0; without a row they were never extracted."""

    # The migration adds the constraint, by which the database deletes the row, too.
    version = models.OneToOneField(
        DocumentVersion,
        models.CASCADE,
        primary_key=True,
        related_name="concept_count",
        db_constraint=False,
    )
    count = models.PositiveIntegerField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.version_id}: {self.count}"
