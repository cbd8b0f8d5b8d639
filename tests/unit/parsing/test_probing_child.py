"""A parser that was taken over reaches nothing: neither as root nor as an ordinary user."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ingestion.errors import ParseLimitExceeded
from ingestion.parsing.child import system_calls

from .conftest import Parse
from .intruders import intruding
from .probing import CANARY

pytestmark = [
    pytest.mark.forks,
    pytest.mark.skipif(sys.platform != "linux", reason="held by Linux"),
]

ROOT = Path(__file__).resolve().parents[3]
ORDINARY = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
# In a container that gives no namespaces: one more may be made, for the worker itself.
NO_MORE = "echo 1 > /proc/sys/user/max_user_namespaces && exec "
IN_A_CONTAINER = ("unshare", "--user", "--map-root-user", "sh", "-c", NO_MORE + '"$@"', "sh")


def _runs(prefix: tuple[str, ...]) -> bool:
    return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder as the worker's: its secret key, another person's original, settings."""
    for name in ("secret_key", "other", ".env"):
        (tmp_path / name).write_text(f"{CANARY} in {name}")
        (tmp_path / name).chmod(0o600)
    return tmp_path


def _probe(house: Path, prefix: tuple[str, ...], forks: int) -> dict[str, Any]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-m", "tests.unit.parsing.probing", str(house)]
        done = subprocess.run(
            [*prefix, *command, str(server.getsockname()[1]), str(forks)],
            cwd=ROOT,
            env={**os.environ, "SECRET_KEY": CANARY},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize(
    "prefix",
    [
        pytest.param((), id="as-this-user"),
        pytest.param(ORDINARY, id="ordinary-user"),
        pytest.param((*IN_A_CONTAINER, *ORDINARY), id="ordinary-user-without-namespaces"),
    ],
)
def test_compromised_parser_reaches_nothing(house: Path, prefix: tuple[str, ...]) -> None:
    if prefix and not _runs(prefix):
        pytest.skip("this system lets nobody make a user namespace")
    if not system_calls.holds_signals():
        pytest.skip("this kernel's Landlock is older than Linux 6.12")
    # The kernel counts no processes of the machine's own root, whatever it is called inside.
    is_counted = not prefix or os.getuid() != 0
    answer = _probe(house, prefix, 1_000 if is_counted else 1)
    reached = [name for name in answer["done"] if is_counted or name != "forks without end"]
    assert reached == [], answer["notes"]
    assert (house / "other").read_text() == f"{CANARY} in other"


@pytest.mark.parametrize("keeps_name", [True, False], ids=["named", "removed"])
def test_size_of_a_scratch_directory_is_limited(parse: Parse, keeps_name: bool) -> None:
    """Also where each file is small, or has no name any more."""
    body = f"""
import time
for number in range(90):
    file = open(source.scratch / f"{{number}}", "wb")
    file.write(bytes(1024 * 1024))
    file.flush()
    if not {keeps_name}:
        (source.scratch / f"{{number}}").unlink()
        (source.scratch / "kept").touch()
        globals().setdefault("files", []).append(file)
time.sleep(30)"""
    with intruding(body), pytest.raises(ParseLimitExceeded, match="more disk space"):
        parse("text", "a.txt", scratch_bytes=40 * 2**20)
