"""Programs of Debian packages that some tests need.

A test without its program is skipped with the package's name; with CI=true it fails instead.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
from pathlib import Path

import pytest

# Programs and Debian's names of their packages.
PACKAGES = {
    "chromium": "chromium",
    "git": "git",
    "nginx": "nginx",
    "promtool": "prometheus",
    "restic": "restic",
    "soffice": "libreoffice-impress",
    "tesseract": "tesseract-ocr",
    "wordnet": "wordnet-base",
}
# Of some packages only data is used.
DATA = {
    "tesseract": "usr/share/tesseract-ocr/*/tessdata/eng.traineddata",
    "wordnet": "usr/share/wordnet/data.noun",
}


def needs(program: str) -> pytest.MarkDecorator:
    """The mark of a test or a module that needs the program; `tests/plugin.py` reads it."""
    assert program in PACKAGES, f"Name its Debian package in {__file__}"
    return pytest.mark.needs(program)


def require(program: str) -> None:
    """Skip the running test if the program is not installed; fail it in CI."""
    if any(Path("/").glob(DATA[program])) if program in DATA else shutil.which(program):
        return
    reason = f"needs {program}: apt-get install {PACKAGES[program]}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{reason} (CI skips nothing)", pytrace=False)
    pytest.skip(reason)


def require_packages(*names: str) -> None:
    """Skip the running test if a package of the development is missing; fail it in CI."""
    have = {each.name.lower() for each in importlib.metadata.distributions()}
    if missing := sorted(set(names) - have):
        reason = f"needs {', '.join(missing)}: make .venv/.installed-dev"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(f"{reason} (CI skips nothing)", pytrace=False)
        pytest.skip(reason)
