"""How far imports have come: their items by state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q

from ingestion.models import Import, ImportItem
from ingestion.models.library import UNFINISHED

S = ImportItem.State


@dataclass(frozen=True, slots=True)
class Counts:
    """Items by state, and how many of their documents are not searchable yet."""

    by_state: dict[str, int]
    processing: int = 0

    @property
    def total(self) -> int:
        return sum(self.by_state.values())

    @property
    def done(self) -> int:
        return self.total - self.by_state.get(S.WAITING, 0)

    @property
    def share(self) -> float:
        """The share that was taken, 0 to 1; 0 for none found yet."""
        return self.done / self.total if self.total else 0.0

    @property
    def failed(self) -> int:
        return self.by_state.get(S.FAILED, 0)

    def __str__(self) -> str:
        """Such as “120 added, 3 failed”; "" for nothing."""
        words = (f"{self.by_state[s]:,} {s.label.lower()}" for s in S if self.by_state.get(s))
        return ", ".join(words)


def counts_of(imports: Iterable[Import]) -> dict[int, Counts]:
    """The counts of each import by its number; one query."""
    ids = [of.pk for of in imports]
    found: dict[int, dict[str, int]] = {pk: {} for pk in ids}
    processing = dict.fromkeys(ids, 0)
    rows = (
        ImportItem.objects.filter(of__in=ids)
        .order_by()
        .values("of", "state")
        .annotate(
            items=Count("pk"),
            unfinished=Count("pk", filter=Q(document__latest__state__in=UNFINISHED)),
        )
    )
    for row in rows:
        found[row["of"]][row["state"]] = row["items"]
        processing[row["of"]] += row["unfinished"]
    return {pk: Counts(found[pk], processing[pk]) for pk in ids}
