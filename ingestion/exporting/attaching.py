"""What other applications add to an export: they know of collections, and not the reverse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ingestion.exporting.format import Row
from ingestion.models import Collection


class Attached(Protocol):
    """One kind of row that goes with a collection; `name` is its file's, without the end."""

    name: str

    def rows(self, collection: Collection) -> Iterable[Row]:
        """What there is to keep, as JSON objects, in an order that can be restored."""

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        """True when the row was made; False when it was there. In the caller's transaction.

        Raises KeyError, TypeError or ValueError for a row that is none of its kind.
        """


_attached: dict[str, Attached] = {}


def attach(part: Attached) -> None:
    """Adds a part to every export from now on."""
    _attached[part.name] = part


def attached() -> list[Attached]:
    """The parts in the order in which they were added, which is that of restoring."""
    return list(_attached.values())
