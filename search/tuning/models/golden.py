"""Golden queries, their judgements, and the candidate pools built for them."""

from __future__ import annotations

import uuid

from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import Job, JobState
from ingestion.models import Collection, Document
from ingestion.models.visibility import Viewer
from search.models.rules import QUERY_CLASSES
from search.query import MAX_QUERY_CHARS
from search.query.query_key import MAX_KEY, query_key

ALREADY_THERE = _("This question is already a golden query.")


def sees_all(viewer: Viewer) -> bool:
    """True for a viewer with access to every collection."""
    return bool(viewer is not None and viewer.is_active and viewer.is_superuser)


class GoldenQueryQuerySet(models.QuerySet["GoldenQuery"]):
    def visible_to(self, viewer: Viewer) -> GoldenQueryQuerySet:
        """The queries whose collections `viewer` may read, and those without collections."""
        if sees_all(viewer):
            return self
        readable = Collection.objects.visible_to(viewer).order_by().values("slug")
        return self.filter(collections__contained_by=ArraySubquery(readable))


class GoldenQuery(models.Model):
    """A question with judged documents, over which profiles are measured.

    `collections` are the slugs of the collections to search; empty: all. `must_be_first` is the
    document that a published profile must rank first: see `search.tuning.gate`.
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    text = models.CharField(max_length=MAX_QUERY_CHARS)
    # The same for any capitals and spacing: see `query_key`.
    folded = models.CharField(max_length=MAX_KEY, editable=False)
    collections = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    query_class = models.CharField(
        max_length=12,
        choices=QUERY_CLASSES,
        blank=True,
        help_text=_("The class that it should have; empty: as classified by the rules."),
    )
    must_be_first = models.ForeignKey(
        Document, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    enabled = models.BooleanField(default=True)
    note = models.TextField(blank=True)
    added_by = user_or_none()
    created = models.DateTimeField(default=timezone.now, editable=False)

    objects = GoldenQueryQuerySet.as_manager()

    class Meta:
        ordering = ("folded", "pk")
        verbose_name_plural = _("golden queries")
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
                violation_error_message=_("Enter a question."),
            ),
        )

    def __str__(self) -> str:
        return self.text

    def save(self, *args: object, **kwargs: object) -> None:
        self.folded = query_key(self.text)
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class JudgementQuerySet(models.QuerySet["Judgement"]):
    def visible_to(self, viewer: Viewer) -> JudgementQuerySet:
        """The judgements of documents that `viewer` may read; superusers see deleted ones too."""
        if sees_all(viewer):
            return self
        return self.filter(
            document__in=Document.objects.visible_to(viewer),
            query__in=GoldenQuery.objects.visible_to(viewer),
        )


class Judgement(models.Model):
    """One person's grade of a document as an answer to a golden query.

    0: no answer, 1: related, 2: answers, 3: answers in full. Of different grades, measures use the
    median, rounded down. `reference` is the document's public id: it keeps the judgement after the
    document has been deleted.
    """

    query = models.ForeignKey(GoldenQuery, models.CASCADE, related_name="judgements")
    document = models.ForeignKey(Document, models.SET_NULL, null=True, blank=True, related_name="+")
    reference = models.UUIDField(editable=False)
    title = models.CharField(max_length=500, blank=True, help_text=_("The title when judged."))
    grade = models.PositiveSmallIntegerField(validators=[MaxValueValidator(3)])
    judge = user_or_none()
    # Imported judgements have no user, only a name.
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


class CandidatePool(models.Model):
    """The wide candidate set of a golden query: see `search.tuning.candidate_pools`.

    `key` is a hash of the settings that decide the retrieved candidates, `corpus` one of the
    library's content. `facts` hold everything but the arrays.
    """

    query = models.ForeignKey(GoldenQuery, models.CASCADE, related_name="pools")
    key = models.CharField(max_length=64, db_index=True)
    corpus = models.CharField(max_length=64)
    asked = models.CharField(
        max_length=64, help_text=_("A hash of the question and its collections.")
    )
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

    `width` is the requested `candidate_pools.Width` of the pools.
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
