"""Originals are for this user and its group, whatever the umask or an older version left."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from ingestion.files.storage import examine, store
from kbsite.celery import close_files


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = str(tmp_path / "files")
    return tmp_path / "files"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)
def test_a_new_original_is_closed_to_others(media: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        file = io.BytesIO(b"secret")
        stored = store(file, examine(file, "a.txt"))
    finally:
        os.umask(before)
    path = media / stored.name
    assert mode(path) == 0o640
    assert (mode(path.parent), mode(path.parent.parent)) == (0o750, 0o750)


@pytest.fixture
def old(media: Path) -> Path:
    """An original as versions before stored it."""
    path = media / "originals" / "ab" / "abcd"
    path.parent.mkdir(parents=True)
    path.write_text("secret")
    path.chmod(0o644)
    path.parent.chmod(0o755)
    path.parent.parent.chmod(0o755)
    return path


def test_a_worker_closes_the_folder_as_it_starts(old: Path) -> None:
    close_files()
    assert mode(old.parent.parent) == 0o750
    assert old.read_text() == "secret"


def test_a_stricter_mode_stays(old: Path) -> None:
    old.parent.parent.chmod(0o700)
    close_files()
    assert mode(old.parent.parent) == 0o700
