"""W5: the golden set measured night by night, and the warnings that followed."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from search.models.measured import EvaluationRun


class Night(models.Model):
    """One night's run of the golden set under the active profile, and what it showed.

    `fall` is how far the gate's measure fell since the last good night, over the queries that
    both measured; below 0 it rose.
    """

    class Verdict(models.TextChoices):
        WAITING = "waiting", "Being measured"
        GOOD = "good", "Good"
        FELL = "fell", "Fell"
        FAILED = "failed", "Not measured"

    date = models.DateField(unique=True)
    run = models.OneToOneField(EvaluationRun, models.CASCADE, related_name="night")
    verdict = models.CharField(max_length=7, choices=Verdict.choices, default=Verdict.WAITING)
    fall = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ("-date",)
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.date}: {self.get_verdict_display()}"


class Alert(models.Model):
    """A warning that went out, or still has to: `delivered` names the ways that took it."""

    run = models.OneToOneField(
        EvaluationRun,
        models.CASCADE,
        related_name="alert",
        help_text="The nightly run that raised it: one alert a run.",
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
                condition=Q(delivered__contained_by=F("wanted")),
                name="alert_delivered_as_wanted",
            ),
        )

    def __str__(self) -> str:
        return self.subject
