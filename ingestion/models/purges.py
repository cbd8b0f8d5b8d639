"""Purges: what a worker erases for good."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common.jobs import IMPORTS, Job, JobState
from ingestion.models.library import Collection


class Purge(Job):
    """The permanent deletion of a collection; without one, of single documents of the bin.

    The row is deleted with its work. `passages` is how many there were to erase when it began, as
    their documents say, `erased` how many have been.
    """

    State = JobState
    TASK = "ingestion.tasks.advance_purge"
    QUEUES = {IMPORTS: Q()}

    collection = models.ForeignKey(Collection, models.CASCADE, null=True, related_name="purges")
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    passages = models.PositiveIntegerField(default=0, editable=False)
    erased = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("collection",), nulls_distinct=False, name="purge_once"
            ),
        )

    def __str__(self) -> str:
        return str(self.collection or _("single documents"))

    @property
    def percent(self) -> int:
        """How much of it is erased, below 100: the last step ends the row."""
        return min(99, self.erased * 100 // max(1, self.passages))

    def lock_parents(self) -> bool:
        """Lock the collection; False if it was restored or is gone."""
        if self.collection_id is None:
            return True
        rows = Collection.objects.select_for_update(of=("self",)).exclude(deleted_at=None)
        return rows.filter(pk=self.collection_id).exists()
