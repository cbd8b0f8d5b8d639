"""Golden queries, their judgements, and the candidate pools built for them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.jobs import Job, JobState
from ingestion.models import Collection, Document
from search.models.labels import QUERY_CLASSES
from search.query.expand import fold_query

if TYPE_CHECKING:
    from ingestion.models.library import Viewer
else:
    Viewer = Any


ALREADY_THERE = "This question is a golden query already."


def sees_all(viewer: Viewer) -> bool:
    """Whether nothing is hidden from the viewer."""
    return bool(viewer is not None and viewer.is_active and viewer.is_superuser)


class GoldenQueryQuerySet(models.QuerySet["GoldenQuery"]):
    def visible_to(self, viewer: Viewer) -> GoldenQueryQuerySet:
        """Those asked in collections that `viewer` may read, all of them, or in all there are."""
        if sees_all(viewer):
            return self
        readable = Collection.objects.visible_to(viewer).order_by().values("slug")
        return self.filter(collections__contained_by=ArraySubquery(readable))


class GoldenQuery(models.Model):
    """A question whose good answers people have named. Measures are taken over these.

    `collections` are slugs that the question is asked in; empty: all. `must_be_first` is the
    document that no published profile may push off the first place: see `tuning.gate`.
    """

    class Origin(models.TextChoices):
        PERSON = "person", "Judged by a person"
        IMPORTED = "imported", "Imported"
        SYNTHETIC = "synthetic", "Made from headings and first sentences"
        CLICKS = "clicks", "From clicks and thumbs"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    text = models.CharField(max_length=500)
    # One question under any capitals and spacing: see `fold_query`.
    folded = models.CharField(max_length=500, editable=False)
    collections = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    query_class = models.CharField(
        max_length=12,
        choices=QUERY_CLASSES,
        blank=True,
        help_text="The class it should have; empty: whatever the rules say.",
    )
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.PERSON)
    must_be_first = models.ForeignKey(
        Document, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    enabled = models.BooleanField(default=True)
    note = models.TextField(blank=True)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created = models.DateTimeField(default=timezone.now, editable=False)

    objects = GoldenQueryQuerySet.as_manager()

    class Meta:
        ordering = ("folded", "pk")
        verbose_name_plural = "golden queries"
        constraints = (
            models.UniqueConstraint(
                "folded",
                "collections",
                name="golden_query_once",
                violation_error_message=ALREADY_THERE,
            ),
            models.CheckConstraint(
                condition=~Q(folded=""),
                name="golden_query_asks",
                violation_error_message="Write the question.",
            ),
        )

    def __str__(self) -> str:
        return self.text

    def save(self, *args: object, **kwargs: object) -> None:
        self.folded = fold_query(self.text)
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class JudgementQuerySet(models.QuerySet["Judgement"]):
    def visible_to(self, viewer: Viewer) -> JudgementQuerySet:
        """Those of documents that `viewer` may read; of deleted ones for superusers alone."""
        if sees_all(viewer):
            return self
        return self.filter(
            document__in=Document.objects.visible_to(viewer),
            query__in=GoldenQuery.objects.visible_to(viewer),
        )


class Judgement(models.Model):
    """What one person thinks of one document as an answer to a golden query.

    0 is no answer, 1 touches it, 2 answers, 3 answers in full. Where people differ, measures
    take the median, rounded down. `reference` is the document's public id: it keeps the
    judgement when the document itself is gone.
    """

    query = models.ForeignKey(GoldenQuery, models.CASCADE, related_name="judgements")
    document = models.ForeignKey(Document, models.SET_NULL, null=True, blank=True, related_name="+")
    reference = models.UUIDField(editable=False)
    title = models.CharField(max_length=500, blank=True, help_text="The document's, as judged.")
    grade = models.PositiveSmallIntegerField(validators=[MaxValueValidator(3)])
    judge = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # Imported and synthetic judgements have no person: their name stands here.
    judge_name = models.CharField(max_length=150)
    note = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)
    updated = models.DateTimeField(auto_now=True)

    objects = JudgementQuerySet.as_manager()

    class Meta:
        ordering = ("query", "-grade", "pk")
        constraints = (
            models.UniqueConstraint(
                "query", "reference", "judge_name", name="judgement_once_per_person"
            ),
            models.CheckConstraint(condition=Q(grade__lte=3), name="judgement_grade_range"),
        )

    def __str__(self) -> str:
        return f"{self.query}: {self.title} = {self.grade}"


class JudgementAction(models.Model):
    """What one person did to a golden query's judgements: what undo takes back, and a history.

    `before` and `after` are the judgement's `grade` and `note`, or the `document` (public id) that
    must be first; null where there was none. `reference` is the judged document's public id.
    """

    class Kind(models.TextChoices):
        GRADE = "grade", "Judged"
        FIRST = "first", "Must be first"

    query = models.ForeignKey(GoldenQuery, models.CASCADE, related_name="actions")
    kind = models.CharField(max_length=5, choices=Kind.choices)
    reference = models.UUIDField(null=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    # Then undo takes the query back as well, if nothing else was said of it.
    made_query = models.BooleanField(default=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    at = models.DateTimeField(default=timezone.now)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        default_permissions = ()
        indexes = (
            models.Index(
                fields=("user", "-id"), name="judgement_action_last", condition=Q(undone_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.query}: {self.get_kind_display().lower()} {self.before} → {self.after}"


class CandidatePool(models.Model):
    """What a wide find brought for a golden query: see `search.tuning.evaluation.pooled`.

    `key` names all that changes what the database returns and that no other field says; `corpus`
    what the library held. `facts` are everything but the arrays.
    """

    query = models.ForeignKey(GoldenQuery, models.CASCADE, related_name="pools")
    key = models.CharField(max_length=64, db_index=True)
    corpus = models.CharField(max_length=64)
    asked = models.CharField(max_length=64, help_text="The question and where it is asked.")
    facts = models.JSONField()
    rows = models.BinaryField()
    embeddings = models.BinaryField()
    candidates = models.PositiveIntegerField()
    built = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint("query", "key", name="pool_once_per_query_and_key"),)

    def __str__(self) -> str:
        return f"{self.query}: {self.candidates} candidates"


class PoolBuild(Job):
    """The building of the pools under one key: how far it has come, or what went wrong.

    `width` is as far as the pools are to look: `tuning.widths.Width`.
    """

    State = JobState
    TASK = "search.tasks.build_pools"

    key = models.CharField(max_length=64, unique=True)
    width = models.JSONField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    progress = models.FloatField(default=0.0, help_text="Share of the queries done, 0 to 1.")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Pools {self.key[:8]}"
