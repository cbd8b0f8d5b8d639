"""The dashboard and the alert rules ask for metrics that exist, by labels that those have."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram

from common.observing import metrics
from kbsite.operations import endpoints
from tests.support.programs import needs

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy/monitoring"
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text())
RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
# Of Prometheus itself.
OTHERS = {"up": {"job", "instance"}}
# Labels that Prometheus adds to everything that it scrapes: ours would be renamed.
RESERVED = {"job", "instance", "le", "quantile"}


def exported() -> dict[str, set[str]]:
    """The labels of each series by its name, counted ones and those asked at a scrape."""
    found = dict(OTHERS)
    for each in vars(metrics).values():
        match each:
            case Counter():
                found[f"{each._name}_total"] = set(each._labelnames)
            case Gauge():
                found[each._name] = set(each._labelnames)
            case Histogram():
                labels = set(each._labelnames)
                found[f"{each._name}_bucket"] = labels | {"le"}
                found |= {f"{each._name}_{part}": labels for part in ("sum", "count")}
    for family in endpoints.SiteGauges(seconds=0).collect():
        found[family.name] = set(family._labelnames)  # type: ignore[attr-defined]
    return found


def expressions() -> Iterator[tuple[str, str]]:
    """Each expression with the name of its alert or panel."""
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def labels_in(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Each series that the expression asks for, with the labels of its selector."""
    for name, _, selector in re.findall(
        r"\b(steelyard_\w+|up)\b(\{([^}]*)\})?", re.sub(r"\$\w+", "", expression)
    ):
        yield name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))


@pytest.mark.django_db
def test_every_series_that_is_asked_for_exists_with_its_labels() -> None:
    known = exported()
    for where, expression in expressions():
        asked = list(labels_in(expression))
        assert asked, f"{where} asks for nothing of ours"
        available: set[str] = set()
        for name, labels in asked:
            assert name in known, f"{where} asks for {name}"
            assert labels <= known[name], f"{where} selects {labels - known[name]} of {name}"
            available |= known[name]
        grouped = {
            label.strip()
            for group in re.findall(r"\bby \(([^)]*)\)", expression)
            for label in group.split(",")
        }
        assert grouped <= available, f"{where} groups by {grouped - available}"


@pytest.mark.django_db
def test_no_label_is_one_that_prometheus_renames() -> None:
    for name, labels in exported().items():
        if name not in OTHERS and not name.endswith("_bucket"):
            assert not labels & RESERVED, name


@pytest.mark.django_db
def test_the_dashboard_shows_every_metric() -> None:
    shown = {name for where, expression in expressions() for name, _ in labels_in(expression)}
    families = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in shown}
    ours = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in exported()}
    assert ours - families == set()


@pytest.mark.django_db
def test_the_page_lists_every_metric_with_its_labels() -> None:
    page = (ROOT / "docs/monitoring.md").read_text()
    listed = {
        name: set(re.findall(r"`(\w+)`", labels))
        for names, labels in re.findall(r"^\| (`steelyard_.*?) \|(.*?)\|", page, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", names)
    }
    histograms = re.compile(r"_(bucket|sum|count)$")
    ours = {
        histograms.sub("", name): labels - {"le"}
        for name, labels in exported().items()
        if name not in OTHERS
    }
    assert listed == ours


def test_legends_name_labels_that_the_query_keeps() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            kept = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", target["expr"]))))
            assert named <= kept, panel["title"]


def test_the_page_explains_each_alert_and_each_is_named_once() -> None:
    page = (ROOT / "docs/monitoring.md").read_text()
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    missing = [name for name in names if f"`{name}`" not in page]
    assert missing == []
    assert set(re.findall(r"`(Steelyard[A-Z]\w+)`", page)) == set(names)


def test_each_alert_says_what_is_wrong_and_what_to_do() -> None:
    for rule in RULES:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"].keys() == {"summary", "action"}


@needs("promtool")
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "rules", "alerts.yaml"),
        ("test", "rules", "tests.yaml"),
        ("check", "config", "--syntax-only", "prometheus.yaml"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_promtool_accepts(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
