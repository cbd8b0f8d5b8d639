"""Which paths of a watched folder count, what a look through it says, and how progress is shown."""

from __future__ import annotations

import io
import sys

import pytest

from ingestion.documents import progress
from ingestion.documents.progress import progress_view
from ingestion.intake.folder_listing import Entry, is_included
from ingestion.intake.watched_folder_scan import KnownFile, compare


@pytest.mark.parametrize(
    ("path", "include", "exclude", "expected"),
    [
        ("a.md", "", "", True), ("deep/er/a.PDF", "*.pdf", "", True),
        ("deep/a.md", "*.pdf", "", False), ("deep/a.md", "*.pdf\n*.md", "", True),
        ("reports/2024/q1.md", "reports/**", "", True),
        ("other/reports/q1.md", "reports/**", "", False),
        ("reports/2024/q1.md", "reports/*.md", "", False),
        ("reports/2024/q1.md", "reports/**/*.md", "", True),
        ("reports/q1.md", "reports/**/*.md", "", True), ("x/drafts/a.md", "", "drafts/", False),
        ("drafts.md", "", "drafts/", True), ("notes/~a.md", "", "~*", False),
        ("a[1].md", "a[1].md", "", True),
    ],
)  # fmt: skip
def test_include_and_exclude_patterns_select_paths(
    path: str, include: str, exclude: str, expected: bool
) -> None:
    assert is_included(path, include, exclude) is expected


def known(path: str, size: int = 1, *, is_open: bool = False, missing: bool = False) -> KnownFile:
    return KnownFile(path, size, 0, is_open, missing)


def test_each_changed_path_is_reported_once() -> None:
    before = {
        row.path: row
        for row in (
            known("same"), known("grown"), known("still", is_open=True),
            known("back", missing=True), known("gone"), known("long gone", missing=True),
            known("locked/a"), known("lockedness"),
        )
    }  # fmt: skip
    seen = {
        path: Entry(path, size, 0)
        for path, size in (("same", 1), ("grown", 2), ("still", 1), ("back", 1), ("new", 1))
    }
    found = compare(before, seen, ["locked"])
    assert (found.new, found.changed, found.due, found.back) == (
        ["new"], ["grown"], ["still"], ["back"],
    )  # fmt: skip
    assert (found.gone, found.still_gone, found.same) == (["gone", "lockedness"], ["long gone"], 1)


def test_progress_without_a_terminal_is_printed_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    lines: list[str] = []
    with progress_view(lines.append) as show:
        show(1, 4, "1,200 chunks")
        assert lines == []
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with progress_view(lines.append) as show:
        show(1, 4, "1,200 chunks")
    assert lines == ["1 of 4 files; 1,200 chunks"]
