"""What compares profiles: evaluation runs, the scheduled ones with their alerts, optimisations, and
experiments with real searchers.
"""

from __future__ import annotations

import secrets

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import Job, JobState
from search.models.profiles import SearchProfile


class EvaluationRun(Job):
    """The measures of a profile on a judged collection (`manage.py evaluate`) or the golden set,
    or, before 0.2.0, of the answers that it leads to.

    `measures` are means by name; `by_class` has `queries` and `measures` by query class.
    `differences` has `mean`, `low` and `high` by measure, against `baseline` on the same queries.
    `latency_ms` has `p50` and `p95`, and with a baseline also `baseline_p50` and `baseline_p95`.
    """

    class Kind(models.TextChoices):
        COLLECTION = "collection", _("Judged collection")
        GOLDEN = "golden", _("Golden queries")
        ANSWERS = "answers", _("Answers on a judged collection")

    State = JobState
    TASK = "search.tasks.measure_run"

    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.COLLECTION)
    state = models.CharField(max_length=9, choices=State.choices, default=State.DONE)
    progress = models.FloatField(default=1.0, help_text=_("Share of the queries done, 0 to 1."))
    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="evaluation_runs")
    collection = models.CharField(max_length=120, blank=True)
    corpus_hash = models.CharField(_("corpus (SHA-256)"), max_length=64, blank=True)
    queries = models.PositiveIntegerField(default=0)
    # By golden query (its pk): `text`, `class`, `measures` (empty if no document answers it),
    # `confidence` (null if unknown), `first`, the public id of the first document, and `must`, that
    # of the must-be-first document; of the baseline, `was` (its measures) and `was_first`.
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
    embedding_space = models.CharField(max_length=200, blank=True)
    code_version = models.CharField(max_length=40, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-created", "-pk")
        verbose_name = _("measurement")
        indexes = (models.Index(fields=("collection", "profile"), name="run_of_profile"),)

    def __str__(self) -> str:
        return f"{self.profile} on {self.collection or 'the golden queries'}"


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


class Alert(models.Model):
    """A warning about a quality run; `wanted` and `delivered` name its delivery channels."""

    run = models.OneToOneField(
        EvaluationRun,
        models.CASCADE,
        related_name="alert",
        help_text=_("The evaluation run that raised it; at most one alert per run."),
    )
    subject = models.CharField(max_length=200)
    findings = models.JSONField(default=dict)
    created = models.DateTimeField(default=timezone.now, editable=False)
    wanted = ArrayField(models.CharField(max_length=10), default=list)
    delivered = ArrayField(models.CharField(max_length=10), default=list, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ("-created", "-pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(delivered__contained_by=F("wanted")), name="alert_delivered_as_wanted"
            ),
        )

    def __str__(self) -> str:
        return self.subject


def new_salt() -> str:
    """A random salt, which assigns visitors to arms independently in each experiment."""
    return secrets.token_hex(8)


class Experiment(Job):
    """A comparison of two published profiles by searchers' behaviour. One runs at a time.

    `verdict` is the latest conclusion: see
    `search.parts.experiments`. `run_a` and `run_b` are the gate's measurements of the arms, null
    for an arm that was active or not measured; `findings` are the gate's, and `refusals` those
    that prevent the start. `override` starts it regardless, for the reason `override_reason`.
    `asked_by` is the user who starts it.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Not started")
        CHECKING = "checking", _("Being measured")
        RUNNING = "running", _("Running")
        ENDED = "ended", _("Ended")

    TASK = "search.tasks.carry_out_experiment"
    OPEN = (State.CHECKING,)

    name = models.CharField(max_length=120, unique=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    a = models.ForeignKey(SearchProfile, models.PROTECT, related_name="+", verbose_name="A")
    b = models.ForeignKey(SearchProfile, models.PROTECT, related_name="+", verbose_name="B")
    share = models.FloatField(
        default=1.0,
        validators=[MinValueValidator(0.01), MaxValueValidator(1)],
        help_text=_("Share of visitors who take part, 0.01 to 1; the others are not affected."),
    )
    indifference = models.FloatField(
        default=0.02,
        validators=[MinValueValidator(0.001), MaxValueValidator(0.5)],
        help_text=_(
            "Minimum effect size: a share of preferences that is nearer to a half counts as none."
        ),
    )
    days = models.PositiveSmallIntegerField(
        _("longest run"),
        default=28,
        validators=[MinValueValidator(1), MaxValueValidator(365)],
        help_text=_("Days after which the experiment ends, decided or not."),
    )
    error = None  # type: ignore[assignment]  # its `refusals` say what is wrong
    salt = models.CharField(max_length=32, default=new_salt, editable=False)
    started = models.DateTimeField(null=True, blank=True, editable=False)
    ended = models.DateTimeField(null=True, blank=True, editable=False)
    end_reason = models.TextField(blank=True, editable=False)
    verdict = models.JSONField(default=dict, blank=True, editable=False)
    run_a = models.ForeignKey(
        EvaluationRun, models.PROTECT, null=True, blank=True, related_name="+", editable=False
    )
    run_b = models.ForeignKey(
        EvaluationRun, models.PROTECT, null=True, blank=True, related_name="+", editable=False
    )
    findings = ArrayField(models.TextField(), default=list, blank=True, editable=False)
    refusals = ArrayField(models.TextField(), default=list, blank=True, editable=False)
    override = models.BooleanField(default=False, editable=False)
    override_reason = models.TextField(blank=True, editable=False)
    asked_by = user_or_none(editable=False)
    note = models.TextField(blank=True)
    added_by = user_or_none(editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-created", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("state",),
                condition=Q(state="running"),
                name="experiment_one_running",
                violation_error_message=_("Another experiment is running. End it first."),
            ),
            models.CheckConstraint(
                condition=~Q(a=F("b")),
                name="experiment_compares_two",
                violation_error_message=_("Choose two different profiles."),
            ),
            models.CheckConstraint(
                condition=Q(share__gt=0, share__lte=1),
                name="experiment_share_range",
                violation_error_message=_("The share must lie between 0.01 and 1."),
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def runs(self) -> list[EvaluationRun]:
        """The gate's measurements of its arms, A's first: none, one or two."""
        return [run for run in (self.run_a, self.run_b) if run is not None]


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
