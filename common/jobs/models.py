"""The base model of jobs: the columns that coordinate workers, and the options of subclasses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

# The queues of jobs (docs/adr/0023-two-lanes.md).
INTERACTIVE, DEFAULT, IMPORTS, BULK = "interactive", "celery", "imports", "bulk"


class JobState(models.TextChoices):
    """The default states of a job."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Job(models.Model):
    """A row with work for a worker. It alone records the work left; a message only saves time.

    A subclass has a `state`, and a `progress` from 0 to 1 if it reports any. `lease` is the token
    of the attempt that holds the row until `leased_until`; `attempts` counts the claims since the
    last progress. `enqueued_at` is None while the row has no message.
    """

    TASK: ClassVar[str]
    """The name of the Celery task that is called with the row's primary key."""
    QUEUES: ClassVar[Mapping[str, Q]] = {DEFAULT: Q()}
    """The queues of its messages, with the condition on the rows of each."""
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

        Without joins: a claim must check the row that it writes, and an UPDATE over a join checks
        a copy read before it waited for the row's lock.
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
        """Lock the rows before this one in the lock order; False if one is gone."""
        return True
