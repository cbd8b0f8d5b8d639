"""The examples of deployment: valid by schema, confined, and of one mind with the image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "deploy" / "kubernetes" / "steelyard.yaml"
OBJECTS = list(yaml.safe_load_all(MANIFEST.read_text("utf-8")))
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
    for part in ("worker", "uploads", "beat"):
        assert commands[f"steelyard-{part}"] == OURS[part]["command"]
        unit = (ROOT / "deploy" / "systemd" / f"steelyard-{part}.service").read_text("utf-8")
        assert OURS[part]["command"].partition(" ")[2].replace("%h", "%%h") in unit
