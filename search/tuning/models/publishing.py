"""The publish gate, publications, and the audit of profile changes."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.jobs import Job
from search.models.profiles import SearchProfile
from search.tuning.models.evaluation import EvaluationRun

# As `evaluation.measures` names them; a test holds the two together.
MEASURES = {
    "nDCG@10": "nDCG@10: the best answers early",
    "RR@10": "Reciprocal rank: how early the first answer comes",
    "R@10": "Recall@10: how many of the answers are among the first ten",
    "R@100": "Recall@100: how many of the answers are among the first hundred",
    "P@5": "Precision@5: how many of the first five are answers",
    "Success@1": "Hit@1: how often the first result is an answer",
}


class PublishGate(models.Model):
    """What a profile must hold on the golden queries to be published: one row."""

    enabled = models.BooleanField(
        default=True, help_text="Switched off, profiles are published without being measured."
    )
    measure = models.CharField(
        max_length=12, choices=list(MEASURES.items()), default="nDCG@10",
        help_text="What must not fall.",
    )  # fmt: skip
    margin = models.FloatField(
        default=0.01,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="How far its mean may fall below the active profile's: 0.01 is one point of a "
        "hundred. A larger fall is refused when it is clear (its 95% interval lies below 0), and "
        "also when there are too few queries to tell.",
    )
    min_queries = models.PositiveSmallIntegerField(
        "queries for an interval",
        default=20,
        validators=[MinValueValidator(1)],
        help_text="With fewer golden queries an interval says nothing: the fall alone decides, and "
        "latency does not count.",
    )
    latency_margin = models.FloatField(
        "latency margin",
        default=0.3,
        validators=[MinValueValidator(0), MaxValueValidator(10)],
        help_text="By what share the 95th percentile of search time may rise: 0.3 is 30%.",
    )
    latency_floor_ms = models.PositiveIntegerField(
        "latency floor (ms)",
        default=50,
        help_text="A rise of fewer milliseconds is never refused: nobody feels it.",
    )
    first_required = models.BooleanField(
        "“must be first” always binds",
        default=False,
        help_text="Also refuse where the active profile does not put the document first either. "
        "Otherwise only what held before may not break.",
    )
    count_synthetic = models.BooleanField(
        "count synthetic queries",
        default=False,
        help_text="Measure over queries made from headings and first sentences as well.",
    )
    background_above = models.PositiveSmallIntegerField(
        "measure in the background above",
        default=60,
        help_text="With more golden queries than this, publishing is left to a worker, and a page "
        "shows how far it is.",
    )

    class Meta:
        verbose_name_plural = "publish gate"
        default_permissions = ("change", "view")
        constraints = (models.CheckConstraint(condition=Q(pk=1), name="gate_is_one_row"),)

    def __str__(self) -> str:
        return "Publish gate"


class Publication(Job):
    """One attempt to publish a profile: asked for, measured, then published or refused.

    `fingerprint` is the profile's when it was asked for, and `replaces` what was active: where
    either has changed since, nothing is published.
    """

    class State(models.TextChoices):
        MEASURING = "measuring", "Being measured"
        PUBLISHED = "published", "Published"
        REFUSED = "refused", "Refused"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    TASK = "search.tasks.carry_out_publication"
    OPEN = (State.MEASURING,)

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="publications")
    fingerprint = models.CharField(max_length=64)
    replaces = models.ForeignKey(SearchProfile, models.SET_NULL, null=True, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    by_system = models.BooleanField(default=False)
    reason = models.TextField(blank=True)
    override = models.BooleanField(default=False)
    state = models.CharField(max_length=9, choices=State.choices, default=State.MEASURING)
    run = models.ForeignKey(EvaluationRun, models.SET_NULL, null=True, related_name="publications")
    # What the gate found, a sentence each; those that refuse alone stand in `refusals`.
    findings = ArrayField(models.TextField(), default=list)
    refusals = ArrayField(models.TextField(), default=list)
    asked = models.DateTimeField(default=timezone.now)
    decided = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.profile}: {self.get_state_display().lower()}"


class ProfileChange(models.Model):
    """The audit of profiles: who did what to which, when and why."""

    class Action(models.TextChoices):
        CREATED = "created", "Draft created"
        EDITED = "edited", "Draft edited"
        PUBLISHED = "published", "Published"
        REFUSED = "refused", "Publishing refused"
        OVERRIDDEN = "overridden", "Published against the gate"
        ROLLED_BACK = "rolled_back", "Rolled back to"
        TRIED = "exp_started", "Experiment started with"
        NOT_TRIED = "exp_refused", "Experiment refused"
        TRIAL_ENDED = "exp_ended", "Experiment ended"

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="changes")
    action = models.CharField(max_length=12, choices=Action.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField(default=timezone.now, editable=False)
    reason = models.TextField(blank=True)
    differences = ArrayField(models.TextField(), default=list, blank=True)
    # What the gate found, a sentence each; empty where it was not asked.
    findings = ArrayField(models.TextField(), default=list, blank=True)
    run = models.ForeignKey(
        "tuning.EvaluationRun", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # The profile that was active until then: what a rollback goes back to.
    replaced = models.ForeignKey(
        SearchProfile, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.profile} {self.get_action_display().lower()}"
