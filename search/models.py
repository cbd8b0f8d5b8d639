"""W5: what administrators decide about ranking."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from ingestion.models import IdentifierPattern
from search import domain
from search.query import MAX_QUERY_CHARS, ClassifierRule
from search.query.classify import check_rule
from search.query.predicates import PREDICATES
from search.ranking.fusion import RRF_K

SHARE = [MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(1))]


def choices(enum: type[Any], **labels: str) -> list[tuple[str, str]]:
    return [(member.value, labels.get(member.value, member.value)) for member in enum]


FUSIONS = choices(
    domain.Fusion, linear="Weighted sum of strengths", rrf="Reciprocal rank fusion (ranks only)"
)
NORMALISERS = choices(
    domain.Normaliser,
    none="As it is",
    max="Share of the best",
    minmax="Between worst and best",
    zscore="Share below (z-score)",
    reciprocal_rank="Reciprocal rank",
    cosine="(cosine + 1) / 2",
)
KEYWORD_SCORERS = choices(
    domain.KeywordScorer,
    bm25="BM25",
    ts_rank="Postgres ts_rank",
    ts_rank_cd="Postgres ts_rank_cd",
    overlap="Matched terms / query terms",
)
TITLE_SCORERS = choices(
    domain.TitleScorer,
    coverage="Share of the query's weight that the title covers",
    once="10 when any term is in the title",
    per_term="10 for each term in the title",
)
QUERY_CLASSES = choices(
    domain.QueryClass,
    lookup="Lookup: a name or an identifier",
    concept="Concept: what it is, how it works",
    code="Code: how to write it",
    debug="Debug: an error, something not working",
    comparison="Comparison: this or that",
    general="General: everything else",
)


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


class ClassRule(models.Model):
    """One rule of the classifier. Rules are tried in order; the first that matches decides."""

    name = models.CharField(max_length=80, unique=True)
    position = models.PositiveSmallIntegerField(default=100)
    pattern = models.TextField(
        blank=True,
        help_text="A regular expression searched in the question, without regard to case. Begin "
        r"and end it with \b, so that “fix” is not found in “prefix”.",
    )
    predicate = models.CharField(
        max_length=30,
        blank=True,
        choices=[(name, each.description) for name, each in PREDICATES.items()],
        help_text="In place of a pattern.",
    )
    query_class = models.CharField(max_length=12, choices=QUERY_CLASSES)
    confidence = models.FloatField(
        default=0.8, validators=[MinValueValidator(0), MaxValueValidator(1)]
    )
    examples = ArrayField(
        models.CharField(max_length=MAX_QUERY_CHARS),
        default=list,
        blank=True,
        help_text="Questions that the rule must match.",
    )
    counter_examples = ArrayField(
        models.CharField(max_length=MAX_QUERY_CHARS),
        default=list,
        blank=True,
        help_text="Questions that it must not match.",
    )
    enabled = models.BooleanField(default=True)

    class Meta:
        ordering = ("position", "pk")
        constraints = (
            models.CheckConstraint(
                condition=(Q(pattern="") & ~Q(predicate="")) | (~Q(pattern="") & Q(predicate="")),
                name="rule_pattern_or_predicate",
                violation_error_message="Give either a pattern or a predicate.",
            ),
        )

    def __str__(self) -> str:
        return self.name

    def as_rule(self) -> ClassifierRule:
        return ClassifierRule(
            name=self.name,
            query_class=domain.QueryClass(self.query_class),
            pattern=self.pattern,
            predicate=self.predicate,
            confidence=self.confidence,
            examples=tuple(self.examples),
            counter_examples=tuple(self.counter_examples),
        )

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Here and not in `clean`: a form without these fields could not show their errors."""
        super().clean_fields(exclude)
        if {"pattern", "predicate", "examples", "counter_examples"} & set(exclude or ()):
            return
        rows = IdentifierPattern.objects.filter(enabled=True)
        if problems := check_rule(self.as_rule(), [row.as_pattern() for row in rows]):
            raise ValidationError(problems)


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


class EvaluationRun(models.Model):
    """What one profile measured on one judged collection (`manage.py evaluate`).

    `measures` are means by name; `by_class` has `queries` and `measures` by query class.
    `differences` has `mean`, `low` and `high` by measure, against `baseline` on the same queries.
    """

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="evaluation_runs")
    collection = models.CharField(max_length=120)
    corpus_hash = models.CharField("corpus (SHA-256)", max_length=64)
    queries = models.PositiveIntegerField()
    measures = models.JSONField(default=dict)
    by_class = models.JSONField(default=dict)
    latency_ms = models.JSONField("latency (ms)", default=dict)
    baseline = models.ForeignKey(
        SearchProfile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    differences = models.JSONField(default=dict, blank=True)
    embedding_space = models.CharField(max_length=200, blank=True)
    code_version = models.CharField(max_length=40, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-created", "-pk")
        indexes = (models.Index(fields=("collection", "profile"), name="run_of_profile"),)

    def __str__(self) -> str:
        return f"{self.profile} on {self.collection}"


class ConfigurationStamp(models.Model):
    """A number that is another whenever anything that configures a search has changed: one row.

    Each process keeps the configuration it has read for as long as the stamp stands.
    """

    number = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(pk=1), name="stamp_is_one_row"),)

    def __str__(self) -> str:
        return str(self.number)
