"""A terminal shows a bar of what the workers do, anything else a line now and then."""

from __future__ import annotations

import io
import sys

import pytest

from ingestion.documents import progress
from ingestion.documents.progress import Progress, ProgressView

QUARTER = Progress(files=4, finished=1, chunks=1_200, share=0.25, rate=31.4)
WORDS = "1/4 files, 1,200 chunks, 31 chunks/s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    lines: list[str] = []
    with ProgressView(lines.append) as view:
        view.show(QUARTER)
        shown = terminal.getvalue().rpartition("\r")[2]
    assert shown.startswith(" 25% |")
    assert WORDS in shown
    # The bar is gone once the work is done, and never among the lines of the output.
    assert WORDS not in terminal.getvalue().rpartition("\r")[2]
    assert lines == []


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    lines: list[str] = []
    with ProgressView(lines.append) as view:
        view.show(QUARTER)
        assert lines == []
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with ProgressView(lines.append) as view:
        view.show(QUARTER)
    assert lines == [f" 25%  {WORDS}"]
