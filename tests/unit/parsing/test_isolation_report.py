"""What a kernel lacks is said, by the doctor and each worker as it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from ingestion.parsing.child import isolation
from kbsite.celery import warn_of_isolation
from kbsite.operations.probes import machine
from tests.unit.parsing.test_probing_child import ROOT

pytestmark = pytest.mark.forks

NOTHING = [False, "hook"]


@pytest.fixture
def _nothing_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = f"print({json.dumps(json.dumps(NOTHING))})"
    monkeypatch.setattr(isolation, "_TRIAL", trial)


@pytest.mark.skipif(sys.platform != "linux", reason="held by Linux")
def test_the_walls_of_this_machine_are_tried() -> None:
    lines = isolation.isolation_report()
    assert len(lines) == len(isolation.LAYERS)
    assert all(text.endswith(".") for _, text in lines)
    filtered = {text: is_held for is_held, text in lines}
    assert filtered["Parsers are refused sockets, mounts, namespaces and other processes' memory."]


def test_a_trial_that_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_TRIAL", "raise SystemExit(1)")
    ((is_held, text),) = isolation.isolation_report()
    assert not is_held
    assert "could not be tried" in text


@pytest.mark.usefixtures("_nothing_holds")
def test_the_doctor_warns() -> None:
    printed = " ".join(finding.text for finding in machine.parser() if finding.advice)
    assert "Linux 5.13" in printed
    assert "Only Python keeps parsers from the network" in printed


@pytest.mark.usefixtures("_nothing_holds")
def test_a_worker_warns(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_isolation()
    assert "Linux 5.13" in caplog.text


@pytest.mark.skipif(sys.platform != "linux", reason="a call of Linux")
@pytest.mark.parametrize(
    "start",
    ["import django; django.setup()", "import kbsite.gunicorn"],
    ids=["django", "gunicorn-master"],
)
def test_processes_that_hold_secrets_are_hidden(start: str) -> None:
    """Their memory, variables and open files are for root alone: PR_GET_DUMPABLE is 0."""
    code = f"{start}; import ctypes; raise SystemExit(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    environment: dict[str, Any] = {**os.environ, "DJANGO_SETTINGS_MODULE": "kbsite.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
