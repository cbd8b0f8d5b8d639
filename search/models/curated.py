"""Curated search: synonyms, pins and hides; and the background of confidences."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterable

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.models import ChunkEdit, Document
from search.domain import Pinned
from search.query import MAX_QUERY_CHARS
from search.query.query_key import MAX_KEY, fold_query, query_key
from search.query.synonyms import SynonymGroup
from search.ranking.cosine_scale import MINILM, CosineScale

MAX_TERM_CHARS = 100
MAX_TERMS = 20


class Synonym(models.Model):
    """Words of the same meaning: a query with one of them also retrieves the others.

    They count under profiles that give the synonym signal a weight.
    """

    terms = ArrayField(
        models.CharField(max_length=MAX_TERM_CHARS),
        size=MAX_TERMS,
        help_text=_("Words or phrases of the same meaning, such as FK, forward kinematics."),
    )
    one_way = models.BooleanField(
        default=False,
        help_text=_(
            "Only the first term expands to the others: “vehicle” also finds “lorry”, but not "
            "the reverse."
        ),
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
                violation_error_message=_("Enter at least two words or phrases."),
            ),
        )

    def __str__(self) -> str:
        return (" → " if self.one_way else " = ").join([self.terms[0], ", ".join(self.terms[1:])])

    def clean_fields(self, exclude: Container[str] | None = None) -> None:
        super().clean_fields(exclude)
        folded = [fold_query(term) for term in self.terms or ()]
        if "terms" not in (exclude or ()) and len(set(folded)) < len(folded):
            raise ValidationError({"terms": _("The words or phrases must differ.")})

    def as_group(self) -> SynonymGroup:
        return SynonymGroup(tuple(self.terms), self.one_way)


class AboutQuestion(models.Model):
    """Base of rows about one document and one exact question."""

    query = models.CharField(
        max_length=MAX_QUERY_CHARS,
        help_text=_("The whole question; capitals and spacing make no difference."),
    )
    # The normalised query that searches look up: see `query_key`.
    folded = models.CharField(max_length=MAX_KEY, editable=False, db_index=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    enabled = models.BooleanField(default=True)
    note = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True

    def save(self, *args: object, **kwargs: object) -> None:
        self.folded = query_key(self.query)
        super().save(*args, **kwargs)  # type: ignore[arg-type]

    def clean_fields(self, exclude: Container[str] | None = None) -> None:
        self.folded = query_key(self.query or "")
        super().clean_fields(exclude)

    def validate_constraints(self, exclude: Container[str] | None = None) -> None:
        # Forms have no field `folded`, but it derives from `query`: check it if that is valid.
        left_out = set(exclude or ())
        super().validate_constraints(left_out if "query" in left_out else left_out - {"folded"})


class Pin(AboutQuestion):
    """A document that ranks first for one exact question, for those who may read it."""

    position = models.PositiveSmallIntegerField(default=1, help_text=_("1 comes first."))

    class Meta:
        ordering = ("folded", "position", "pk")
        constraints = (
            models.UniqueConstraint(
                "folded",
                "document",
                name="pin_once",
                violation_error_message=_("This document is already pinned to that question."),
            ),
            models.CheckConstraint(
                condition=~Q(folded=""),
                name="pin_has_a_question",
                violation_error_message=_("Enter the question that the document is pinned to."),
            ),
        )

    def __str__(self) -> str:
        return f"{self.query}: {self.document}"


class Hide(AboutQuestion):
    """A document excluded from search for one exact question, or, without one, for all."""

    query = models.CharField(
        max_length=MAX_QUERY_CHARS,
        blank=True,
        help_text=_(
            "The whole question; capitals and spacing make no difference. Leave "
            "empty to hide the document from every question."
        ),
    )
    # Empty: every question.
    folded = models.CharField(max_length=MAX_KEY, editable=False, db_index=True, blank=True)
    note = models.TextField(blank=True, help_text=_("Why it is hidden."))

    class Meta:
        ordering = ("folded", "pk")
        constraints = (
            models.UniqueConstraint(
                "folded",
                "document",
                name="hide_once",
                violation_error_message=_("This document is already hidden from that question."),
            ),
        )

    def __str__(self) -> str:
        return f"{self.query or gettext('every question')}: {self.document}"


class SpaceBackground(models.Model):
    """The cosines of an embedding space between texts that do not belong together.

    `level` and `scale` are those of `search.ranking.confidence.Background`, measured when the
    library had so many searchable `passages`; `slope` and `offset` those of the model's
    `search.ranking.cosine_scale.CosineScale`, None if measured before there were any.
    """

    space = models.OneToOneField(
        "ingestion.EmbeddingSpace", models.CASCADE, primary_key=True, related_name="+"
    )
    level = models.FloatField()
    scale = models.FloatField()
    slope = models.FloatField(null=True)
    offset = models.FloatField(null=True)
    passages = models.PositiveBigIntegerField()
    measured_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Background of {self.space}"

    @property
    def cosine_scale(self) -> CosineScale:
        return MINILM if self.slope is None else CosineScale(self.slope, self.offset or 0.0)


def pins_by_query(
    rows: Iterable[Pin], edits: Iterable[ChunkEdit] = ()
) -> dict[str, tuple[Pinned, ...]]:
    """The pins by folded query: passages first, then documents in their order.

    `edits` are those that pin passages. Each document appears once, by a
    pinned passage if it has one.
    """
    by_query: dict[str, dict[int, Pinned]] = {}
    for edit in edits:
        for question in edit.questions:
            of_query = by_query.setdefault(query_key(question), {})
            of_query.setdefault(edit.document_id, Pinned(edit.document_id, edit.pk))
    for row in rows:
        of_query = by_query.setdefault(row.folded, {})
        of_query.setdefault(row.document_id, Pinned(row.document_id))
    return {query: tuple(pins.values()) for query, pins in by_query.items()}


def hides_by_query(rows: Iterable[Hide]) -> dict[str, frozenset[int]]:
    """The hidden documents by folded query; those hidden from every query under ""."""
    hidden: dict[str, set[int]] = {}
    for row in rows:
        hidden.setdefault(row.folded, set()).add(row.document_id)
    return {query: frozenset(documents) for query, documents in hidden.items()}
