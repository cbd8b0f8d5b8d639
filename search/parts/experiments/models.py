"""The table of experiments."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from search.models import SearchProfile
from search.tuning.models.experiments import new_salt


class Experiment(models.Model):
    """A comparison of two published profiles by searchers' behaviour. One runs at a time.

    `verdict` is the latest conclusion: see `sequential_test`.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Not started")
        RUNNING = "running", _("Running")
        ENDED = "ended", _("Ended")

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
    salt = models.CharField(max_length=32, default=new_salt, editable=False)
    started = models.DateTimeField(null=True, blank=True, editable=False)
    ended = models.DateTimeField(null=True, blank=True, editable=False)
    end_reason = models.TextField(blank=True, editable=False)
    verdict = models.JSONField(default=dict, blank=True, editable=False)
    note = models.TextField(blank=True)
    added_by = user_or_none(editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        db_table = "tuning_experiment"  # it was tuning's model before 0.3.0
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
