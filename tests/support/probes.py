"""Servers that do not answer, as the probes see them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from common.probes import PROBES


def stop(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let these probes' servers not answer."""
    for name in names:
        monkeypatch.setitem(PROBES, name, replace(PROBES[name], alive=lambda: False))
