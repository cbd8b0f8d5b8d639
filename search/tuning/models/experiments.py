"""What compares profiles: evaluation runs, the scheduled ones, optimisations."""

from __future__ import annotations

import secrets

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import Job, JobState
from search.models.profiles import SearchProfile


class EvaluationRun(Job):
    """The measures of a profile on the golden queries.

    `measures` are means by name; `by_class` has `queries` and `measures` by query class.
    `differences` has `mean`, `low` and `high` by measure, against `baseline` on the same queries.
    `latency_ms` has `p50` and `p95`, and with a baseline also `baseline_p50` and `baseline_p95`.
    """

    State = JobState
    TASK = "search.tasks.measure_run"

    state = models.CharField(max_length=9, choices=State.choices, default=State.DONE)
    progress = models.FloatField(default=1.0, help_text=_("Share of the queries done, 0 to 1."))
    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="evaluation_runs")
    queries = models.PositiveIntegerField(default=0)
    # By golden query (its pk): `text`, `class`, `measures` (empty if no document answers it),
    # `first`, the public id of the first document, and `must`, that of the must-be-first document;
    # of the baseline, `was` (its measures) and `was_first`.
    by_query = models.JSONField(default=dict, blank=True)
    user = user_or_none()
    measures = models.JSONField(default=dict)
    by_class = models.JSONField(default=dict)
    latency_ms = models.JSONField(_("latency (ms)"), default=dict)
    baseline = models.ForeignKey(
        SearchProfile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    differences = models.JSONField(default=dict, blank=True)
    # A hash of the profile as it was measured: see `evaluation.golden_set.fingerprint`.
    fingerprint = models.CharField(max_length=64, blank=True, editable=False)
    # A hash of what its figures depend on besides the profiles: see `evaluation.library_stamp`.
    # Empty if that changed meanwhile, and before 0.3.0.
    conditions = models.CharField(max_length=64, blank=True, db_default="", editable=False)
    embedding_space = models.CharField(max_length=200, blank=True)
    code_version = models.CharField(max_length=40, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-created", "-pk")
        verbose_name = _("measurement")

    def __str__(self) -> str:
        return f"{self.profile} on the golden queries"


class QualityRun(models.Model):
    """The scheduled run of one day over the golden set under the active profile.

    `fall` is the loss of the gate's measure since the last good run, over the queries that both
    measured; negative if it rose.
    """

    class Status(models.TextChoices):
        WAITING = "waiting", _("Being measured")
        GOOD = "good", _("Good")
        FELL = "fell", _("Fell")
        FAILED = "failed", _("Not measured")

    date = models.DateField(unique=True)
    run = models.OneToOneField(EvaluationRun, models.CASCADE, related_name="quality_run")
    status = models.CharField(max_length=7, choices=Status.choices, default=Status.WAITING)
    fall = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ("-date",)
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.date}: {self.get_status_display()}"


def new_salt() -> str:
    """A random salt: migration 0001 names it here."""
    return secrets.token_hex(8)


class Optimisation(Job):
    """A search for better weights: its state and result.

    `found` holds the verdict, the gain and the weights by class. `draft` is the profile made from
    it.
    """

    State = JobState
    TASK = "search.tasks.run_optimisation"

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="optimisations")
    options = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    progress = models.FloatField(default=0.0, help_text=_("Share of the work done, 0 to 1."))
    found = models.JSONField(default=dict, blank=True)
    draft = models.ForeignKey(
        SearchProfile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    user = user_or_none()
    created = models.DateTimeField(default=timezone.now, editable=False)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created", "-pk")

    def __str__(self) -> str:
        return f"Better weights for {self.profile}"
