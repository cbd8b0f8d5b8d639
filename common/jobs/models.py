"""The columns by which workers share work, and the rules that a kind of work states of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

# The queues of docs/adr/0023-two-lanes.md that jobs go to.
INTERACTIVE, DEFAULT, IMPORTS, BULK = "interactive", "celery", "imports", "bulk"


class JobState(models.TextChoices):
    """The states of a job that has no others of its own."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Job(models.Model):
    """A row with work for a worker. It alone says what is left to do; a message only saves time.

    A subclass has a `state`, and a `progress` from 0 to 1 if it reports any. `lease` is the token
    of the attempt that holds the row until `leased_until`; `attempts` counts the claims since the
    work last came forward. `enqueued_at` is None while no message speaks of the row.
    """

    TASK: ClassVar[str]
    """The name of the Celery task that is called with the row's primary key."""
    QUEUES: ClassVar[Mapping[str, Q]] = {DEFAULT: Q()}
    """The queues of its messages, with the rows of each."""
    OPEN: ClassVar[tuple[str, ...]] = (JobState.QUEUED, JobState.RUNNING)
    """The states in which work is left."""

    error = models.TextField(
        blank=True, editable=False, help_text="What went wrong and what to do."
    )
    attempts = models.PositiveIntegerField(default=0, editable=False)
    enqueued_at = models.DateTimeField(null=True, blank=True, editable=False)
    not_before = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Earliest next attempt."
    )
    lease = models.UUIDField(
        null=True, blank=True, editable=False, help_text="The attempt that holds it."
    )
    leased_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @classmethod
    def open_jobs(cls) -> models.QuerySet[Self]:
        """The rows with work left for a worker, whether due or not, held or free.

        Without joins: a claim must look at the row that it writes, and an UPDATE over a join
        looks at a copy read before it waited for the row's lock.
        """
        return cls._default_manager.filter(state__in=cls.OPEN)

    @property
    def is_open(self) -> bool:
        """Whether work is left."""
        return getattr(self, "state", None) in self.OPEN

    @property
    def is_held(self) -> bool:
        """Whether a worker held the row when it was read."""
        return self.leased_until is not None and self.leased_until > timezone.now()

    def lock_parents(self) -> bool:
        """Lock the rows that come before this one in the order of locks; False if one is gone."""
        return True
