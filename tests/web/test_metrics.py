"""/metrics: closed without a token, all processes in one answer, nothing of readers in it."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import OperationalError
from django.test import Client
from prometheus_client import Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from common import metrics
from common import metrics_files as processes
from common.probes import PROBES
from ingestion.documents import processing_steps
from kbsite.operations import endpoints
from kbsite.operations.backups import Snapshot
from kbsite.serving.dispatch import Site
from search import pipeline
from search.pipeline import Purpose
from tests.faults.asgi import response, scope
from tests.support.database import statements
from tests.support.factories import make_collection, make_document, upload
from tests.support.probes import stop
from tests.support.programs import needs

TOKEN = "scrape-me"


@pytest.fixture
def token(settings: object) -> str:
    settings.METRICS_TOKEN = TOKEN
    return f"Bearer {TOKEN}"


def samples(text: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Each sample's value by its name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def value(name: str, **labels: str) -> float:
    """The sample's value in a scrape; 0 if there is none."""
    text = generate_latest(processes.registry())
    return samples(text).get((name, frozenset(labels.items())), 0.0)


def test_metrics_page_needs_a_configured_token(client: Client) -> None:
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_metrics_page_needs_the_right_token(client: Client, token: str) -> None:
    for stated in ("", "Bearer ", "Bearer scrape", f"Basic {TOKEN}", TOKEN, "Bearer scrape-mé"):
        refused = client.get("/metrics", headers={"Authorization": stated})
        assert refused.status_code == 401
        assert refused.content == b""


@pytest.mark.django_db
def test_a_scrape_has_the_gauges_of_the_site(client: Client, token: str) -> None:
    response = client.get("/metrics", headers={"Authorization": token})
    assert response.status_code == 200
    found = samples(response.content)
    assert found["steelyard_server_up", frozenset({("server", "database")})] == 1
    assert found["steelyard_server_up", frozenset({("server", "redis")})] == 1
    assert found["steelyard_disk_free_bytes", frozenset({("folder", "files")})] > 0


@pytest.mark.django_db
def test_the_gauges_take_three_statements() -> None:
    list(endpoints.SiteGauges().collect())  # migrations, once
    assert statements(lambda: list(endpoints.SiteGauges().collect())) <= 3


@pytest.mark.django_db
def test_a_search_is_counted_by_class_and_stage_without_its_words() -> None:
    make_document(make_collection(), "Mooring lines are checked every morning.")
    labels = {"query_class": "general", "quality": "full"}
    before = value("steelyard_searches_total", **labels)
    response = pipeline.search("canary mooring zebra", viewer=None)
    kind = response.classification.query_class.value
    labels["query_class"] = kind
    text = endpoints.exposition()
    assert b"canary" not in text
    assert b"zebra" not in text
    found = samples(text)
    stages = {
        dict(known)["stage"]
        for name, known in found
        if name == "steelyard_search_seconds_count" and dict(known)["query_class"] == kind
    }
    assert {"embed", "retrieve", "rank", "show", "total"} <= stages
    assert found["steelyard_searches_total", frozenset(labels.items())] == before + 1


@pytest.mark.django_db
@pytest.mark.parametrize("purpose", [Purpose.TUNER, Purpose.MEASUREMENT])
def test_searches_that_no_reader_made_are_not_counted(purpose: Purpose) -> None:
    make_document(make_collection(), "Mooring lines are checked every morning.")
    before = searches_counted()
    pipeline.search("mooring", viewer=None, purpose=purpose)
    assert searches_counted() == before
    pipeline.search("mooring", viewer=None)
    assert searches_counted() == before + 1


def searches_counted() -> float:
    """The number of searches counted so far, of all classes."""
    counted = samples(endpoints.exposition())
    return sum(each for (name, _), each in counted.items() if name == "steelyard_searches_total")


@pytest.mark.django_db
def test_files_are_counted_by_format_and_outcome() -> None:
    collection = make_collection()
    ready = value("steelyard_documents_total", format="md", outcome="ready")
    failed = value("steelyard_documents_total", format="pdf", outcome="failed")
    passages = value("steelyard_embedded_texts_total", kind="local", use="passages")
    make_document(collection, "One paragraph on hawsers.")
    broken = upload(collection, b"%PDF-1.4 nothing else", file_name="broken.pdf")
    assert processing_steps.advance(broken.version.pk)
    assert value("steelyard_documents_total", format="md", outcome="ready") == ready + 1
    assert value("steelyard_documents_total", format="pdf", outcome="failed") == failed + 1
    assert value("steelyard_embedded_texts_total", kind="local", use="passages") > passages
    assert value("steelyard_document_failures_total", code="damaged") > 0
    assert value("steelyard_document_seconds_count", format="pdf", step="parse") > 0


@pytest.mark.django_db
def test_an_embedding_from_the_cache_is_a_hit(clean_cache: None) -> None:
    make_document(make_collection(), "A note on bollards.")
    looked = {"cache": "query_embeddings"}
    miss = value("steelyard_cache_lookups_total", result="miss", **looked)
    hit = value("steelyard_cache_lookups_total", result="hit", **looked)
    pipeline.search("bollards", viewer=None)
    pipeline.search("bollards", viewer=None)
    assert value("steelyard_cache_lookups_total", result="miss", **looked) == miss + 1
    assert value("steelyard_cache_lookups_total", result="hit", **looked) > hit


def test_requests_are_counted_by_part_of_the_site_and_status(client: Client) -> None:
    before = value("steelyard_request_seconds_count", area="api", status="404")
    assert client.get("/api/v1/nowhere/?q=canary").status_code == 404
    assert value("steelyard_request_seconds_count", area="api", status="404") == before + 1


def counted_elsewhere(program: str, folder: str = "") -> str:
    """Run Python in another process that counts into the folder, then dies; what it complains."""
    code = (
        "import os, sys; from pathlib import Path\n"
        "from common import metrics, metrics_files as processes\n"
        "assert processes.keep_in(Path(sys.argv[1]))\n" + program
    )
    done = subprocess.run(
        [sys.executable, "-c", code, folder or os.environ[processes.VARIABLE]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stderr


def test_metrics_files_written_by_root_belong_to_the_site_user(tmp_path: Path) -> None:
    """A command of root's beside a site of another user must not break its scrapes."""
    if os.geteuid() == 0:
        os.chown(tmp_path, 12_345, 12_345)
    folder = tmp_path / "metrics"
    program = "metrics.count(metrics.TASKS_SENT, task='test.root')"
    assert counted_elsewhere(program, str(folder)) == ""
    files = list(folder.iterdir())
    assert len(files) == 3
    assert {each.stat().st_uid for each in (folder, *files)} == {tmp_path.stat().st_uid}


def test_counts_survive_a_killed_process() -> None:
    folder = Path(os.environ[processes.VARIABLE])
    program = "metrics.count(metrics.TASKS_SENT, 2, task='test.killed')\nos.kill(os.getpid(), 9)"
    assert counted_elsewhere(program) == ""
    files = {each.name for each in folder.iterdir()}
    assert counted_elsewhere(program) == ""
    assert value("steelyard_tasks_sent_total", task="test.killed") == 4
    assert {each.name for each in folder.iterdir()} <= files


def test_damaged_metrics_file_is_replaced(tmp_path: Path) -> None:
    program = "metrics.count(metrics.TASKS_SENT, task='test.one')"
    assert counted_elsewhere(program, str(tmp_path)) == ""
    damaged = tmp_path / "counter_0.db"
    damaged.write_bytes(b"\xff" * 4096)
    program = "metrics.count(metrics.TASKS_SENT, task='test.damaged')"
    assert counted_elsewhere(program, str(tmp_path)) == ""
    assert b"test.damaged" in damaged.read_bytes()


def test_forked_children_count_for_themselves() -> None:
    metrics.count(metrics.TASKS_SENT, task="test.fork")
    child = os.fork()
    if child == 0:
        metrics.count(metrics.TASKS_SENT, task="test.fork")
        os._exit(0)
    os.waitpid(child, 0)
    assert value("steelyard_tasks_sent_total", task="test.fork") == 2
    metrics.count(metrics.TASKS_SENT, task="test.fork")
    assert value("steelyard_tasks_sent_total", task="test.fork") == 3


def test_full_disk_stops_counting_and_not_the_work(tmp_path: Path) -> None:
    left = counted_elsewhere(
        "import errno\n"
        "def full(*_):\n    raise OSError(errno.ENOSPC, 'full')\n"
        "os.posix_fallocate = full\n"
        "metrics.count(metrics.TASKS_SENT, task='test.full')\n"
        "with metrics.timed(metrics.TASK_SECONDS, task='test.full', outcome='done'): pass\n",
        str(tmp_path),
    )
    assert left == ""
    assert list(tmp_path.glob("*.db")) == []


def test_labels_have_a_fixed_set_of_values() -> None:
    """The labels are names of our own; whoever adds one looks here first."""
    known = {
        "area", "status", "stage", "query_class", "quality", "found", "part", "format", "outcome",
        "code", "step", "kind", "use", "purpose", "cache", "result", "task",
    }  # fmt: skip
    own = [each for each in vars(metrics).values() if hasattr(each, "_labelnames")]
    assert len(own) > 15
    assert {label for each in own for label in each._labelnames} == known
    assert all(each._labelnames for each in own)


def of_server(server: str) -> float:
    found = samples(endpoints.exposition())
    return found["steelyard_server_up", frozenset({("server", server)})]


def test_down_server_is_reported_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without access to the database: a question would fail this test."""
    stop(monkeypatch, "database", "redis")
    assert (of_server("database"), of_server("redis")) == (0, 0)
    assert b"steelyard_disk_free_bytes{" in endpoints.exposition()


@pytest.mark.django_db
def test_a_database_that_is_busy_is_not_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> None:
        raise OperationalError("couldn't get a connection after 1.50 sec")

    jobs = replace(PROBES["jobs"], gauges=busy)
    monkeypatch.setitem(PROBES, "jobs", jobs)
    assert of_server("database") == 1
    assert b"steelyard_jobs{" not in endpoints.exposition()


def test_metrics_are_answered_without_a_thread_of_the_site(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        raise AssertionError("the site was asked")

    stop(monkeypatch, "database")
    site = Site(never, never, is_for_agents=lambda path: False, threads=1)
    asked = scope("/metrics")
    assert asyncio.run(response(site, asked)) == (401, [b""])
    asked["headers"].append((b"authorization", token.encode()))
    status, parts = asyncio.run(response(site, asked))
    assert status == 200
    assert b'steelyard_server_up{server="database"} 0.0' in b"".join(parts)


@pytest.mark.django_db
def test_age_of_the_last_backup_is_exported(settings: Any, tmp_path: Path) -> None:
    def age() -> list[float]:
        families = endpoints.SiteGauges().collect()
        found = next(each for each in families if each.name == "steelyard_backup_age_seconds")
        return [sample.value for sample in found.samples]

    assert age() == []
    settings.BACKUP_FOLDER = str(tmp_path)
    assert age() == [math.inf]
    made = (datetime.now(UTC) - timedelta(hours=2)).isoformat()
    Snapshot(made, "database.dump", "", {}, [], [], []).write(tmp_path)
    (seconds,) = age()
    assert seconds == pytest.approx(7200, abs=60)


# --- The dashboard and the alert rules ask for metrics that exist, by labels that those have -----

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


def exported() -> dict[str, set[str]]:
    """The labels of each series by its name, counted ones and those asked at a scrape."""
    found = dict(OTHERS)
    for each in vars(metrics).values():
        match each:
            case Counter():
                found[f"{each._name}_total"] = set(each._labelnames)
            case Histogram():
                labels = set(each._labelnames)
                found[f"{each._name}_bucket"] = labels | {"le"}
                found |= {f"{each._name}_{part}": labels for part in ("sum", "count")}
    for family in endpoints.SiteGauges().collect():
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
def test_series_used_by_dashboards_exist_with_their_labels() -> None:
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
def test_the_page_lists_every_metric_with_its_labels() -> None:
    page = (ROOT / "docs/metrics.md").read_text()
    listed = {
        name: set(re.findall(r"`(\w+)`", labels))
        for names, labels in re.findall(r"\n- (`steelyard_[^(:]*)(?: \(([^)]*)\))?:", page)
        for name in re.findall(r"`(\w+)`", names)
    }
    histograms = re.compile(r"_(bucket|sum|count)$")
    ours = {
        histograms.sub("", name): labels - {"le"}
        for name, labels in exported().items()
        if name not in OTHERS
    }
    assert listed == ours


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
def test_promtool_accepts_the_rules(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
