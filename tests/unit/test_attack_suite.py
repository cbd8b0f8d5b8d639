"""The long form of the attacks names files that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.attack import SUITE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", [name for held in SUITE.values() for name in held])
def test_what_the_suite_names_is_there(name: str) -> None:
    found = ROOT / name
    assert found.is_file() or list(found.glob("test_*.py"))
