"""Parsing a piece of content as a person would upload it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ingestion.domain import ParsedDocument
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.limits import ParseLimits

Parse = Callable[..., ParsedDocument]


@pytest.fixture
def scratch_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of this test's own that all scratch directories go into."""
    root = tmp_path / "scratch"
    root.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(root))
    return root


def processes_in(root: Path) -> list[str]:
    """Names of the living processes that work below `root`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.cwd().startswith(str(root)):
                found.append(process.name())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """parse(content, file_name, **limits): the document, read in a child process."""

    def run(content: bytes | str, file_name: str, **limits: int) -> ParsedDocument:
        # The stored name says nothing, as in the real store.
        path = tmp_path / "stored"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return parse_file(path, file_name, ParseLimits(**limits))

    return run
