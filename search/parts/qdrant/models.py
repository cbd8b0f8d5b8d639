"""Collections of points in the engine, and the outbox: versions whose points are out of date."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.jobs import BULK, Job


class PointCollection(Job):
    """A collection of the engine. All but those being removed get every change.

    `spaces` are the embedding spaces (ids) whose vectors its points have. The job is to fill it,
    and later to remove it.
    """

    class State(models.TextChoices):
        BUILDING = "building", "Being filled"
        READY = "ready", "Filled"
        ACTIVE = "active", "In use"
        PREVIOUS = "previous", "Kept to switch back"
        DROPPING = "dropping", "Being removed"

    TASK = "search.parts.qdrant.tasks.advance"
    QUEUES = {BULK: Q()}
    OPEN = (State.BUILDING, State.DROPPING)
    WRITTEN = (State.BUILDING, State.READY, State.ACTIVE, State.PREVIOUS)

    name = models.CharField(max_length=120, unique=True)
    spaces = ArrayField(models.BigIntegerField(), default=list)
    state = models.CharField(max_length=10, choices=State.choices, default=State.BUILDING)
    filled_after = models.BigIntegerField(default=0, help_text="Id of the last chunk written.")
    filled = models.PositiveBigIntegerField(default=0, help_text="Points written.")
    checked_at = models.DateTimeField(null=True, help_text="When it was last compared.")
    differing = models.PositiveBigIntegerField(
        default=0, help_text="Points that differed at the last comparison, and were repaired."
    )
    created = models.DateTimeField(default=timezone.now)
    left_at = models.DateTimeField(null=True, help_text="When another one replaced it.")

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("state",), condition=Q(state="active"), name="point_collection_one_active"
            ),
        )

    def __str__(self) -> str:
        return self.name


class PointChange(models.Model):
    """A version whose searchable chunks changed: a row of the outbox, in the transaction itself.

    Without a foreign key: it outlives the version, whose points are then removed.
    """

    version = models.BigIntegerField()
    created = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True, help_text="Earliest next attempt.")
    error = models.TextField(blank=True)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"version {self.version}"
