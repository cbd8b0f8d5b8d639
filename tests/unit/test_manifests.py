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
QDRANT_COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.qdrant.yaml").read_text("utf-8"))
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


def test_the_schema_refuses_a_field_that_does_not_exist() -> None:
    item = {**OBJECTS[0], "dta": {}}
    with pytest.raises(validator().ValidationError):
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


def test_there_is_one_beat_and_the_web_server_never_goes_below_its_number() -> None:
    strategies = {
        item["metadata"]["name"]: (item["spec"]["replicas"], item["spec"]["strategy"])
        for item in OBJECTS
        if item["kind"] == "Deployment"
    }
    assert strategies["steelyard-beat"] == (1, {"type": "Recreate"})
    assert strategies["steelyard-web"][1]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


@pytest.mark.parametrize("name", OURS)
def test_every_container_of_compose_is_confined(name: str) -> None:
    part = OURS[name]
    assert part["read_only"]
    assert part["cap_drop"] == ["ALL"]
    assert part["security_opt"] == ["no-new-privileges:true"]


def test_what_serves_or_works_has_a_health_check() -> None:
    assert {name for name, part in OURS.items() if "healthcheck" not in part} == {"migrate", "beat"}


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


def test_qdrant_keeps_two_copies_on_three_nodes_and_asks_one_at_a_time_to_leave() -> None:
    kinds = {item["kind"]: item["spec"] for item in QDRANT}
    assert kinds["StatefulSet"]["replicas"] == 3
    assert kinds["PodDisruptionBudget"]["maxUnavailable"] == 1
    nodes = [name for name in QDRANT_COMPOSE["services"] if name[-1].isdigit()]
    assert nodes == ["qdrant-0", "qdrant-1", "qdrant-2"]
    for name in nodes:
        assert QDRANT_COMPOSE["services"][name]["cap_drop"] == ["ALL"]


def test_every_part_of_ours_gets_the_same_engine() -> None:
    given = {name: QDRANT_COMPOSE["services"][name]["environment"] for name in OURS}
    assert len({tuple(sorted(each.items())) for each in given.values()}) == 1
    wanted = QDRANT_COMPOSE["services"]["web"]["build"]["args"]["REQUIREMENTS"]
    assert (ROOT / wanted).exists()
