"""W5: profiles and their weights."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any, get_type_hints

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import DataError, connection, models, transaction
from django.db.models import F, Q
from django.utils import timezone

from ingestion.identifiers import regex_problems
from search import domain
from search.models.labels import (
    CLASSIFIERS,
    FUSIONS,
    KEYWORD_SCORERS,
    NORMALISERS,
    QUERY_CLASSES,
    TITLE_SCORERS,
)
from search.ranking.boosts import parse_boosts
from search.ranking.fusion import RRF_K

SHARE = [MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(1))]
# Variants are named after what they vary: `textbook:60/40`.
NAME = RegexValidator(
    r"\A[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?\Z",
    "Use small letters, digits and - _ . : / between them, as in “library” or “library:titles”.",
)


def check_boosts(value: object) -> None:
    """Raises ValidationError with what is wrong about a profile's boosts."""
    try:
        boosts = parse_boosts(value)
    except ValueError as error:
        raise ValidationError(str(error)) from error
    for boost in boosts:
        # Python's regular expressions and Postgres' differ: every search would fail.
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SELECT '' ~ %s", [boost.pattern.replace("{anchor}", "x")])
        except DataError as error:
            reason = str(error).splitlines()[0]
            raise ValidationError(
                f"Boost {boost.name}: Postgres cannot read its pattern: {reason}. Write it without "
                "named groups and the like."
            ) from error


def check_regex(value: str) -> None:
    """Raises ValidationError for what is no regular expression."""
    if problems := regex_problems(value):
        raise ValidationError(problems)


class SearchProfile(models.Model):
    """One version of how search ranks. Published versions never change (decision D5)."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        ACTIVE = "active", "Active"
        RETIRED = "retired", "Published, not active"

    name = models.CharField(max_length=60, validators=[NAME])
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
    classifier = models.CharField(
        max_length=12,
        choices=CLASSIFIERS,
        default="rules",
        help_text="Who tells the class of a question, and with it its weights.",
    )
    bypass = models.CharField(
        max_length=200,
        blank=True,
        validators=[check_regex],
        help_text="A regular expression: questions that it matches go to the keywords alone, and "
        "the embedding model is not asked.",
    )
    rrf_k = models.PositiveSmallIntegerField(
        "rank constant",
        default=RRF_K,
        validators=[MinValueValidator(1)],
        help_text="For rank fusion: larger makes the first ranks count less.",
    )
    both_factor = models.FloatField(
        "factor for both",
        default=1.0,
        validators=[MinValueValidator(1), MaxValueValidator(10)],
        help_text="For rank fusion: multiplies the score of what meaning and keywords both found.",
    )
    both_first = models.BooleanField(
        default=False,
        help_text="What meaning and keywords both found comes before all that one of them found.",
    )
    own_candidates_only = models.BooleanField(
        default=False,
        help_text="A signal counts only for the candidates that it brought itself, not for those "
        "of the others.",
    )
    boosts = models.JSONField(
        default=list,
        blank=True,
        validators=[check_boosts],
        help_text="Factors and terms for what a passage holds: a list of objects with name, "
        "amount, multiply (true or false), and anchor, pattern, kinds or query_class.",
    )
    feedback = models.FloatField(
        default=0.0,
        validators=[MinValueValidator(0), MaxValueValidator(2)],
        help_text="How much it counts that a passage is like the first results: 0 for not at all, "
        "0.5 for half as much as the best score.",
    )
    recency_half_life = models.PositiveIntegerField(
        default=365,
        validators=[MinValueValidator(1)],
        help_text="Days after which a document counts half as recent.",
    )
    confidence_threshold = models.FloatField(
        default=0.0,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Below this probability a search says that it may not have found the answer, "
        "and tries other weights; 0 for never.",
    )
    depth = models.PositiveSmallIntegerField(
        default=100,
        validators=[MinValueValidator(5), MaxValueValidator(500)],
        help_text="Candidates each signal brings (5-500). More finds more and takes longer.",
    )
    keyword_scorer = models.CharField(max_length=12, choices=KEYWORD_SCORERS, default="bm25")
    keyword_budget = models.PositiveIntegerField(
        default=20_000,
        validators=[MinValueValidator(100)],
        help_text="At most so many chunks are scored by keywords; most questions need far fewer. "
        "Less can miss passages for questions of common words alone.",
    )
    title_scorer = models.CharField(max_length=10, choices=TITLE_SCORERS, default="coverage")
    based_on = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(default=timezone.now, editable=False)
    published = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("name", "-version")
        permissions = (
            ("publish_searchprofile", "Can publish a search profile that the gate lets through"),
            ("override_gate", "Can publish a search profile against the gate, with a reason"),
            ("rollback_searchprofile", "Can roll back to a search profile that was active before"),
        )
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
            models.CheckConstraint(
                condition=Q(both_factor__gte=1),
                name="profile_both_factor_lowers_nothing",
                violation_error_message="What both signals found cannot count for less: the "
                "factor must be 1 or more.",
            ),
            models.CheckConstraint(
                condition=Q(feedback__gte=0, feedback__lte=2),
                name="profile_feedback_range",
                violation_error_message="The feedback must lie between 0 and 2.",
            ),
            models.CheckConstraint(
                condition=Q(confidence_threshold__gte=0, confidence_threshold__lte=1),
                name="profile_confidence_threshold_range",
                violation_error_message="The confidence threshold must lie between 0 and 1.",
            ),
            models.CheckConstraint(
                condition=Q(recency_half_life__gte=1),
                name="profile_recency_half_life_positive",
                violation_error_message="The half-life must be a day or more.",
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
            **{each.name: self._knob(each.name) for each in domain.KNOBS},
        )

    def _knob(self, name: str) -> Any:
        """The value of a profile's knob, in its type."""
        if name == "normalisers":
            return {
                signal: domain.Normaliser(getattr(self, f"{signal.value}_normaliser"))
                for signal in domain.NORMALISED
            }
        value = getattr(self, name)
        if name == "boosts":
            return parse_boosts(value)
        return _CHOICES[name](value) if name in _CHOICES else value


# The knobs that are one of a few names.
_CHOICES = {
    name: kind
    for name, kind in get_type_hints(domain.Profile).items()
    if isinstance(kind, type) and issubclass(kind, Enum)
}


class ClassWeights(models.Model):
    """The shares that the signals have in the score of one class of queries."""

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="class_weights")
    query_class = models.CharField(max_length=12, choices=QUERY_CLASSES)
    vector = models.DecimalField(max_digits=5, decimal_places=4, validators=SHARE)
    keyword = models.DecimalField(max_digits=5, decimal_places=4, validators=SHARE)
    title = models.DecimalField(max_digits=5, decimal_places=4, validators=SHARE)
    recency = models.DecimalField(
        max_digits=5, decimal_places=4, validators=SHARE, default=Decimal(0)
    )
    synonym = models.DecimalField(
        max_digits=5, decimal_places=4, validators=SHARE, default=Decimal(0)
    )

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
                condition=Q(
                    vector__gte=0, keyword__gte=0, title__gte=0, recency__gte=0, synonym__gte=0
                ),
                name="class_weights_not_negative",
                violation_error_message="A weight cannot be negative.",
            ),
            models.CheckConstraint(
                condition=Q(
                    vector=Decimal(1) - F("keyword") - F("title") - F("recency") - F("synonym")
                ),
                name="class_weights_sum_to_one",
                violation_error_message="The weights of a class must sum to 1.",
            ),
        )

    def __str__(self) -> str:
        shares = " / ".join(str(getattr(self, signal.value)) for signal in domain.Signal)
        return f"{self.query_class}: {shares}"

    def as_weights(self) -> domain.Weights:
        return domain.Weights(
            **{signal.value: float(getattr(self, signal.value)) for signal in domain.Signal}
        )
