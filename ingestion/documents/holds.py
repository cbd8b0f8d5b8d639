"""Who works on an import or a watched folder: a lease that runs out when its worker dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from django.db import transaction
from django.db.models import QuerySet

from ingestion.documents.renewing import Renewed, claimed


class HoldLost(Exception):
    """Another process holds the row, or it was stopped or deleted: end quietly."""


class Hold(Renewed):
    """A hold on one row, given back at the end of its block, however that ends."""

    lost = HoldLost

    @classmethod
    def claim(cls, rows: QuerySet[Any], pk: int, **fields: Any) -> Self | None:
        """A hold on a row of `rows` that nobody holds, with `fields` written; None otherwise."""
        token = claimed(rows, pk, **fields)
        return cls(rows.model._default_manager.all(), pk, token) if token else None

    def end(self, *, failed: bool) -> None:
        self.mine.update(lease=None, leased_until=None)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction in which the row stays ours. Raises HoldLost when it is not."""
        with transaction.atomic():
            if not self.mine.select_for_update(no_key=True).exists():
                raise HoldLost
            yield
