"""Marks the unit tests that start processes: `-m "not forks"` leaves those that only compute."""

from __future__ import annotations

import pytest

# Fixtures that read a file in a child, or start the embedding model in processes of their own.
FORKING = {"parse", "first_start"}


def pytest_itemcollected(item: pytest.Item) -> None:
    if FORKING.intersection(getattr(item, "fixturenames", ())):
        item.add_marker("forks")
