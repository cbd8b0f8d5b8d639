"""W5: what people know and the corpus does not say: synonyms, pins, hides."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterable

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from ingestion.models import ChunkEdit, Document
from search.domain import Pinned
from search.query.expand import SynonymGroup, fold_query

MAX_TERM_CHARS = 100
MAX_TERMS = 20


class Synonym(models.Model):
    """Words that mean the same to a searcher: where a query says one, the others are looked for.

    They count under profiles that give the synonyms a weight.
    """

    terms = ArrayField(
        models.CharField(max_length=MAX_TERM_CHARS),
        size=MAX_TERMS,
        help_text="Words or phrases, each of which stands for any of the others: FK, forward "
        "kinematics.",
    )
    one_way = models.BooleanField(
        default=False,
        help_text="Only the first finds the others: “vehicle” finds “lorry”, a question for a "
        "lorry does not want every vehicle.",
    )
    enabled = models.BooleanField(default=True)
    note = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(
                condition=Q(terms__len__gte=2),
                name="synonym_needs_two",
                violation_error_message="Give two words or phrases at least.",
            ),
        )

    def __str__(self) -> str:
        return (" → " if self.one_way else " = ").join([self.terms[0], ", ".join(self.terms[1:])])

    def clean_fields(self, exclude: Container[str] | None = None) -> None:
        super().clean_fields(exclude)
        folded = [fold_query(term) for term in self.terms or ()]
        if "terms" not in (exclude or ()) and len(set(folded)) < len(folded):
            raise ValidationError({"terms": "Each word or phrase must be another one."})

    def as_group(self) -> SynonymGroup:
        return SynonymGroup(tuple(self.terms), self.one_way)


class AboutQuestion(models.Model):
    """A row that says something of a document for just one question."""

    query = models.CharField(
        max_length=500, help_text="The whole question; capitals and spacing make no difference."
    )
    # What searches look up: see `fold_query`.
    folded = models.CharField(max_length=500, editable=False, db_index=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    enabled = models.BooleanField(default=True)
    note = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True

    def save(self, *args: object, **kwargs: object) -> None:
        self.folded = fold_query(self.query)
        super().save(*args, **kwargs)  # type: ignore[arg-type]

    def clean_fields(self, exclude: Container[str] | None = None) -> None:
        self.folded = fold_query(self.query or "")
        super().clean_fields(exclude)

    def validate_constraints(self, exclude: Container[str] | None = None) -> None:
        # No form has the field `folded`, but it follows from `query`: check it if that is valid.
        left_out = set(exclude or ())
        super().validate_constraints(left_out if "query" in left_out else left_out - {"folded"})


class Pin(AboutQuestion):
    """A document that comes first when just this is asked, for those who may read it."""

    position = models.PositiveSmallIntegerField(default=1, help_text="1 comes first.")

    class Meta:
        ordering = ("folded", "position", "pk")
        constraints = (
            models.UniqueConstraint(
                "folded",
                "document",
                name="pin_once",
                violation_error_message="This document is pinned to that question already.",
            ),
            models.CheckConstraint(
                condition=~Q(folded=""),
                name="pin_has_a_question",
                violation_error_message="Write the question that the document is pinned to.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.query}: {self.document}"


class Hide(AboutQuestion):
    """A document that no search finds when just this is asked; without a question, none at all."""

    query = models.CharField(
        max_length=500,
        blank=True,
        help_text="The whole question; capitals and spacing make no difference. Left empty: the "
        "document is hidden from every question.",
    )
    # Empty for every question.
    folded = models.CharField(max_length=500, editable=False, db_index=True, blank=True)
    note = models.TextField(blank=True, help_text="Why it is hidden.")

    class Meta:
        ordering = ("folded", "pk")
        constraints = (
            models.UniqueConstraint(
                "folded",
                "document",
                name="hide_once",
                violation_error_message="This document is hidden from that question already.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.query or 'every question'}: without {self.document}"


class Calibration(models.Model):
    """How sure a ranking is, fitted for one embedding space (`manage.py calibrate`).

    `coefficients` are those of `search.ranking.confidence`; `measures` what they reached on
    queries set aside.
    """

    space = models.OneToOneField(
        "ingestion.EmbeddingSpace", models.CASCADE, related_name="calibration"
    )
    coefficients = models.JSONField()
    measures = models.JSONField(default=dict)
    trained_on = models.TextField()
    created = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"Calibration of {self.space}"


def pins_by_query(
    rows: Iterable[Pin], edits: Iterable[ChunkEdit] = ()
) -> dict[str, tuple[Pinned, ...]]:
    """What is pinned, by the folded query: passages first, then documents in their order.

    `edits` are those that mark the passages. A document stands once, by its passage if it can.
    """
    found: dict[str, dict[int, Pinned]] = {}
    for edit in edits:
        for question in edit.questions:
            held = found.setdefault(fold_query(question), {})
            held.setdefault(edit.document_id, Pinned(edit.document_id, edit.pk))
    for row in rows:
        held = found.setdefault(row.folded, {})
        held.setdefault(row.document_id, Pinned(row.document_id))
    return {query: tuple(pins.values()) for query, pins in found.items()}


def hides_by_query(rows: Iterable[Hide]) -> dict[str, frozenset[int]]:
    """The documents that are hidden, by the folded query; under "" those hidden from every one."""
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row.folded, set()).add(row.document_id)
    return {query: frozenset(documents) for query, documents in found.items()}
