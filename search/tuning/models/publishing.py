"""The publish gate, publications, and the audit of profile changes."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import Job
from search.models.profiles import SearchProfile
from search.tuning.models.experiments import EvaluationRun

# Named as in `evaluation.measures`; a test keeps the two consistent.
MEASURES = {
    "nDCG@10": _("nDCG@10: best answers ranked early"),
    "RR@10": _("MRR@10: how early the first answer appears"),
    "R@10": _("Recall@10: share of the answers among the first ten results"),
    "R@100": _("Recall@100: share of the answers among the first hundred results"),
    "P@5": _("Precision@5: share of answers among the first five results"),
    "Success@1": _("Hit@1: how often the first result is an answer"),
}


class PublishGate(models.Model):
    """The requirements on the golden queries for publishing a profile: a single row."""

    enabled = models.BooleanField(
        default=True, help_text=_("If switched off, profiles are published without measurement.")
    )
    measure = models.CharField(
        max_length=12, choices=list(MEASURES.items()), default="nDCG@10",
        help_text=_("The measure that must not fall."),
    )  # fmt: skip
    margin = models.FloatField(
        default=0.01,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_(
            "How far the mean may fall below the active profile's: 0.01 is one "
            "percentage point. A larger fall is refused if it is significant (its 95% "
            "interval lies below 0) or if there are too few queries for an interval."
        ),
    )
    min_queries = models.PositiveSmallIntegerField(
        _("minimum queries for an interval"),
        default=20,
        validators=[MinValueValidator(1)],
        help_text=_(
            "With fewer golden queries the mean alone decides, and latency is not checked."
        ),
    )
    latency_margin = models.FloatField(
        _("latency margin"),
        default=0.3,
        validators=[MinValueValidator(0), MaxValueValidator(10)],
        help_text=_("Permitted rise of the 95th percentile of search time: 0.3 is 30%."),
    )
    latency_floor_ms = models.PositiveIntegerField(
        _("latency floor (ms)"),
        default=50,
        help_text=_("A smaller rise, in milliseconds, is never refused."),
    )
    first_required = models.BooleanField(
        _("always require “must be first”"),
        default=False,
        help_text=_(
            "Also refuse if the active profile does not rank the document first "
            "either. Otherwise only queries that it satisfies now may not break."
        ),
    )
    background_above = models.PositiveSmallIntegerField(
        _("measure in the background above"),
        default=60,
        help_text=_(
            "With more golden queries than this, a worker measures, and a page shows its progress."
        ),
    )

    class Meta:
        verbose_name_plural = _("publish gate")
        default_permissions = ("change", "view")
        constraints = (models.CheckConstraint(condition=Q(pk=1), name="gate_is_one_row"),)

    def __str__(self) -> str:
        return "Publish gate"


class Publication(Job):
    """A request to publish a profile: measured, then published or refused.

    `fingerprint` is the profile's at the request, `replaces` the profile that was active then, and
    `differences` say what distinguished both. If either has changed since, nothing is published:
    the publication is outdated.
    """

    class State(models.TextChoices):
        MEASURING = "measuring", _("Being measured")
        PUBLISHED = "published", _("Published")
        REFUSED = "refused", _("Refused")
        FAILED = "failed", _("Failed")
        OUTDATED = "outdated", _("Outdated")
        CANCELLED = "cancelled", _("Cancelled")

    TASK = "search.tasks.carry_out_publication"
    OPEN = (State.MEASURING,)

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="publications")
    fingerprint = models.CharField(max_length=64)
    replaces = models.ForeignKey(SearchProfile, models.SET_NULL, null=True, related_name="+")
    differences = ArrayField(models.TextField(), default=list, db_default=[])
    user = user_or_none()
    by_system = models.BooleanField(default=False)
    reason = models.TextField(blank=True)
    override = models.BooleanField(default=False)
    state = models.CharField(max_length=9, choices=State.choices, default=State.MEASURING)
    run = models.ForeignKey(EvaluationRun, models.SET_NULL, null=True, related_name="publications")
    # The gate's findings, one sentence each; `refusals` are those that prevent publishing.
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
    """An entry in the audit of profiles: who changed which one, when and why."""

    class Action(models.TextChoices):
        CREATED = "created", _("Draft created")
        EDITED = "edited", _("Draft edited")
        PUBLISHED = "published", _("Published")
        REFUSED = "refused", _("Publishing refused")
        OVERRIDDEN = "overridden", _("Published over the gate’s refusal")
        ROLLED_BACK = "rolled_back", _("Rolled back to")
        TARGETS = "targets", _("Targets changed")  # of 0.3 and before
        TRIED = "exp_started", _("Experiment started with")
        NOT_TRIED = "exp_refused", _("Experiment refused")  # of 0.3 and before
        TRIAL_ENDED = "exp_ended", _("Experiment ended")

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="changes")
    action = models.CharField(max_length=12, choices=Action.choices)
    user = user_or_none()
    at = models.DateTimeField(default=timezone.now, editable=False)
    reason = models.TextField(blank=True)
    differences = ArrayField(models.TextField(), default=list, blank=True)
    # The gate's findings, one sentence each; empty without a measurement.
    findings = ArrayField(models.TextField(), default=list, blank=True)
    run = models.ForeignKey(
        "tuning.EvaluationRun", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # The profile that was active before, which a rollback restores.
    replaced = models.ForeignKey(
        SearchProfile, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.profile} {self.get_action_display().lower()}"
