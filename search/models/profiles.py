"""W5: profiles, their weights, and who changed them."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from search import domain
from search.models.labels import (
    FUSIONS,
    KEYWORD_SCORERS,
    NORMALISERS,
    QUERY_CLASSES,
    TITLE_SCORERS,
)
from search.ranking.fusion import RRF_K

SHARE = [MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(1))]


class SearchProfile(models.Model):
    """One version of how search ranks. Published versions never change (decision D5)."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        ACTIVE = "active", "Active"
        RETIRED = "retired", "Published, not active"

    name = models.SlugField(max_length=60)
    version = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    description = models.TextField(blank=True)
    fusion = models.CharField(
        max_length=12,
        choices=FUSIONS,
        default="linear",
        help_text="A weighted sum keeps how much better one match is; rank fusion forgets it.",
    )
    vector_normaliser = models.CharField(max_length=16, choices=NORMALISERS, default="none")
    keyword_normaliser = models.CharField(max_length=16, choices=NORMALISERS, default="max")
    title_normaliser = models.CharField(max_length=16, choices=NORMALISERS, default="none")
    rrf_k = models.PositiveSmallIntegerField(
        "rank constant",
        default=RRF_K,
        validators=[MinValueValidator(1)],
        help_text="For rank fusion: larger makes the first ranks count less.",
    )
    depth = models.PositiveSmallIntegerField(
        default=100,
        validators=[MinValueValidator(5), MaxValueValidator(500)],
        help_text="Candidates each signal brings (5-500). More finds more and takes longer.",
    )
    keyword_scorer = models.CharField(max_length=12, choices=KEYWORD_SCORERS, default="bm25")
    keyword_budget = models.PositiveIntegerField(
        default=10_000,
        validators=[MinValueValidator(100)],
        help_text="Chunks the keyword signal may score, from the rarest term on.",
    )
    title_scorer = models.CharField(max_length=10, choices=TITLE_SCORERS, default="coverage")
    based_on = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(default=timezone.now, editable=False)
    published = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("name", "-version")
        constraints = (
            models.UniqueConstraint(
                "name",
                "version",
                name="profile_version_once",
                violation_error_message="This profile already has that version.",
            ),
            models.UniqueConstraint(
                fields=("state",),
                condition=Q(state="active"),
                name="profile_one_active",
                violation_error_message="Another profile is active: publish this one instead.",
            ),
            models.CheckConstraint(
                condition=Q(depth__gte=5, depth__lte=500),
                name="profile_depth_range",
                violation_error_message="The depth must lie between 5 and 500.",
            ),
            models.CheckConstraint(
                condition=Q(rrf_k__gte=1),
                name="profile_rrf_k_positive",
                violation_error_message="The rank constant must be 1 or more.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    @property
    def is_draft(self) -> bool:
        return self.state == self.State.DRAFT

    def as_profile(self) -> domain.Profile:
        """The snapshot that a search ranks by."""
        return domain.Profile(
            name=self.name,
            version=self.version,
            weights={
                domain.QueryClass(row.query_class): row.as_weights()
                for row in self.class_weights.all()
            },
            fusion=domain.Fusion(self.fusion),
            normalisers={
                signal: domain.Normaliser(getattr(self, f"{signal.value}_normaliser"))
                for signal in domain.Signal
            },
            rrf_k=self.rrf_k,
            depth=self.depth,
            keyword_scorer=domain.KeywordScorer(self.keyword_scorer),
            keyword_budget=self.keyword_budget,
            title_scorer=domain.TitleScorer(self.title_scorer),
        )


class ClassWeights(models.Model):
    """The shares that the signals have in the score of one class of queries."""

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="class_weights")
    query_class = models.CharField(max_length=12, choices=QUERY_CLASSES)
    vector = models.DecimalField(max_digits=5, decimal_places=4, validators=SHARE)
    keyword = models.DecimalField(max_digits=5, decimal_places=4, validators=SHARE)
    title = models.DecimalField(max_digits=5, decimal_places=4, validators=SHARE)

    class Meta:
        ordering = ("pk",)
        verbose_name_plural = "class weights"
        constraints = (
            models.UniqueConstraint(
                "profile",
                "query_class",
                name="class_weights_once",
                violation_error_message="This profile already has weights for that class.",
            ),
            models.CheckConstraint(
                condition=Q(vector__gte=0, keyword__gte=0, title__gte=0),
                name="class_weights_not_negative",
                violation_error_message="A weight cannot be negative.",
            ),
            models.CheckConstraint(
                condition=Q(vector=Decimal(1) - F("keyword") - F("title")),
                name="class_weights_sum_to_one",
                violation_error_message="The weights of a class must sum to 1.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.query_class}: {self.vector} / {self.keyword} / {self.title}"

    def as_weights(self) -> domain.Weights:
        return domain.Weights(float(self.vector), float(self.keyword), float(self.title))


class ProfileChange(models.Model):
    """The audit of profiles: who did what to which, when and why."""

    class Action(models.TextChoices):
        CREATED = "created", "Draft created"
        EDITED = "edited", "Draft edited"
        PUBLISHED = "published", "Published"

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="changes")
    action = models.CharField(max_length=12, choices=Action.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField(default=timezone.now, editable=False)
    reason = models.TextField(blank=True)
    differences = ArrayField(models.TextField(), default=list, blank=True)

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.profile} {self.get_action_display().lower()}"
