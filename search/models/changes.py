"""W5: who changed which profile, and why."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from search.models.profiles import SearchProfile


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
        "search.EvaluationRun", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # The profile that was active until then: what a rollback goes back to.
    replaced = models.ForeignKey(
        SearchProfile, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.profile} {self.get_action_display().lower()}"
