"""A terminal shows a bar of what is done, anything else a line now and then."""

from __future__ import annotations

import io
import sys

import pytest

from ingestion.documents import progress
from ingestion.documents.progress import progress_view


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    lines: list[str] = []
    with progress_view(lines.append) as show:
        show(1, 4, "1,200 chunks")
        shown = terminal.getvalue().rpartition("\r")[2]
    assert " 25%|" in shown
    assert "1,200 chunks" in shown
    # The bar is gone once the work is done, and never among the lines of the output.
    assert "1,200 chunks" not in terminal.getvalue().rpartition("\r")[2]
    assert lines == []


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    lines: list[str] = []
    with progress_view(lines.append) as show:
        show(1, 4, "1,200 chunks")
        assert lines == []
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with progress_view(lines.append) as show:
        show(1, 4, "1,200 chunks")
    assert lines == ["1 of 4 files; 1,200 chunks"]
