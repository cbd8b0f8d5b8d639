"""The times that a child reports, which it may have invented, and the account it has to itself."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ingestion.parsing.child import privileges, scratch

# A moment of the past, the same in each of the processes that collect these tests.
BEGAN = 1_795_000_000_000_000_000
CENTURY = 100 * 365 * 86_400 * 10**9


def test_the_times_of_a_child_are_read(tmp_path: Path) -> None:
    (tmp_path / "stages.json").write_text(json.dumps([["extract", BEGAN, BEGAN + 5]]))
    assert scratch.read_stages(tmp_path, BEGAN) == [("extract", BEGAN, BEGAN + 5)]


@pytest.mark.parametrize(
    "left",
    [
        [["extract", BEGAN - 1, BEGAN + 5]],
        [["extract", BEGAN + 5, BEGAN]],
        [["extract", BEGAN, BEGAN + CENTURY]],
        [["The text of the file", BEGAN, BEGAN]],
        [["extract", BEGAN, BEGAN]] * 100,
        [["extract" * 5_000, BEGAN, BEGAN]],
        [["extract"]],
        {"extract": 1},
        7,
        None,
    ],
    ids=lambda left: str(left)[:40],
)
def test_invented_ones_are_left_out(tmp_path: Path, left: Any) -> None:
    if left is not None:
        (tmp_path / "stages.json").write_text(json.dumps(left))
    assert scratch.read_stages(tmp_path, BEGAN) == []


@pytest.fixture
def two_accounts(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Numbers that nobody else on this machine claims meanwhile, as if this were root."""
    first = 1_000_000_000 + secrets.randbelow(1_000_000_000)
    monkeypatch.setattr(privileges, "_may_change_user", lambda: True)
    monkeypatch.setattr(privileges, "_FIRST_ACCOUNT", first)
    monkeypatch.setattr(privileges, "_ACCOUNTS", 2)
    return {first, first + 1}


@pytest.mark.skipif(sys.platform != "linux", reason="Abstract sockets are Linux's.")
def test_no_two_children_have_one_account(two_accounts: set[int]) -> None:
    for _ in range(5):
        with privileges.spare_account() as one, privileges.spare_account() as other:
            assert {one, other} == two_accounts
            # Rather shared than not read at all.
            with privileges.spare_account() as third:
                assert third in two_accounts


@pytest.mark.skipif(sys.platform != "linux", reason="Abstract sockets are Linux's.")
def test_nor_those_of_another_process_that_was_killed(two_accounts: set[int]) -> None:
    low, high = sorted(two_accounts)
    code = (
        "import socket; claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM);"
        f"claim.bind('\\0steelyard-parser-{low}'); print('ready', flush=True); input()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        assert other.stdout.readline() == b"ready\n"
        with privileges.spare_account() as ours:
            assert ours == high
        other.kill()
        other.wait()
        with privileges.spare_account() as one, privileges.spare_account() as two:
            assert {one, two} == two_accounts
