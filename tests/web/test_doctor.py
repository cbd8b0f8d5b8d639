"""`manage.py doctor`: each line says ok, or what is wrong and what to do."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from common.observing import metrics
from common.probes import Finding, State, examine
from ingestion import spaces
from ingestion.errors import EmbeddingUnavailable
from ingestion.models import Chunk, CorpusStatistics, TermFrequency
from kbsite.operations.probes import database, machine, work
from search.models import SearchProfile
from tests.faults.harness import assert_statistics_equal_a_recount
from tests.support.factories import make_collection, make_document
from tests.support.probes import stop


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch, settings: Any) -> dict[str, list[dict[str, str]]]:
    """The workers that answer: one that takes from every queue. And a beat."""
    answers = {"celery@here": [{"name": each.name} for each in settings.CELERY_TASK_QUEUES]}
    inspected = SimpleNamespace(active_queues=lambda: answers)
    monkeypatch.setattr(work.current_app.control, "inspect", lambda **_: inspected)
    metrics.runs("beat")
    return answers


def summary(finding: Finding) -> tuple[State, str]:
    return finding.state, finding.text


def doctor(*arguments: str) -> tuple[int, str]:
    """The exit code and what is printed."""
    out, code = io.StringIO(), 0
    try:
        call_command("doctor", *arguments, stdout=out, no_color=True)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, out.getvalue()


@pytest.mark.django_db
def test_a_site_that_works(crew: Mapping[str, object], servers: Any) -> None:
    make_document(make_collection(), "Ropes are coiled clockwise.")
    code, text = doctor()
    wrong = [line for line in text.splitlines() if not line.startswith(("ok", "look"))]
    assert wrong == []
    assert code == 0
    for name in ("database: Postgres", "redis: Valkey", "embedder: ", "parser: read", "workers: 1"):
        assert f"ok     {name}" in text


@pytest.mark.django_db
def test_for_programs(crew: Mapping[str, object]) -> None:
    _, text = doctor("--json")
    rows = [json.loads(line) for line in text.splitlines()]
    assert {row["state"] for row in rows} <= {"ok", "look", "wrong"}
    assert all(row["advice"] for row in rows if row["state"] != "ok")
    assert len({row["name"] for row in rows}) > 12


def test_without_a_database_the_rest_is_examined(
    crew: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(monkeypatch, "database")
    code, text = doctor()
    assert code == 1
    assert "wrong  database: does not answer. Run: manage.py services start" in text
    assert "workers: 1 answer" in text
    assert "statistics" not in text


@pytest.mark.django_db(transaction=True)
def test_statistics_are_recounted() -> None:
    collection = make_collection()
    make_document(collection, "# Ropes\n\nRopes are coiled clockwise, as ropes are.")
    assert [each.state for each in work.statistics()] == [State.OK]
    TermFrequency.objects.update(chunks=77)
    CorpusStatistics.objects.update(chunks=5)
    (finding,) = work.statistics()
    counted = Chunk.objects.filter(searchable=True).count()
    assert finding.text == f"collection {collection.pk}: 5 passages stated, {counted} counted"
    assert finding.advice == "Run: manage.py doctor --recount"
    doctor("--recount")
    assert [each.state for each in work.statistics()] == [State.OK]
    assert_statistics_equal_a_recount()


@pytest.mark.django_db
def test_an_index_that_a_failed_build_left() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false"
            " WHERE indexrelid = 'version_unfinished'::regclass"
        )
    (finding,) = [each for each in database.indexes() if each.state is State.WRONG]
    assert "version_unfinished is incomplete" in finding.text
    assert finding.advice.endswith("REINDEX INDEX CONCURRENTLY version_unfinished")


@pytest.mark.parametrize(
    ("free", "state"),
    [(900 << 30, State.OK), (50 << 30, State.LOOK), (100 << 20, State.WRONG)],
    ids=["room", "little", "none"],
)
def test_disks(free: int, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: SimpleNamespace(free=free, total=1000 << 30)
    )
    assert {each.state for each in machine.disks()} == {state}


def test_a_folder_that_cannot_be_written(settings: Any, tmp_path: Any) -> None:
    (tmp_path / "file").write_text("not a folder")
    settings.MEDIA_ROOT = tmp_path / "file" / "files"
    *_, finding = machine.disks()
    assert finding.state is State.WRONG
    assert "cannot be written" in finding.text


def test_mail_that_cannot_be_sent(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    (finding,) = machine.mail()
    assert finding.state is State.WRONG
    assert "127.0.0.1:1" in finding.text


def test_alerts_that_nobody_gets(settings: Any) -> None:
    settings.ALERT_EMAILS = ["ops@example.org"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    (finding,) = machine.mail()
    assert finding.state is State.LOOK


def test_a_queue_without_a_worker(crew: dict[str, list[dict[str, str]]]) -> None:
    crew["celery@here"] = [{"name": "interactive"}, {"name": "maintenance"}]
    (finding,) = work.workers()
    assert summary(finding) == (State.WRONG, "nobody takes from celery, imports, bulk")
    crew.clear()
    assert summary(next(iter(work.workers()))) == (State.WRONG, "none answers")


def test_settings_that_check_refuses(settings: Any) -> None:
    settings.LOG_FORMAT, settings.METRICS_TOKEN = "yaml", "short"
    found = [each for each in machine.settings_() if each.state is State.WRONG]
    assert ["E031" in each.text or "E032" in each.text for each in found] == [True, True]
    assert all(each.advice for each in found)


@pytest.mark.django_db
def test_a_model_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_: object = None) -> None:
        raise EmbeddingUnavailable("The embedding server cannot be reached.")

    monkeypatch.setattr(spaces, "embedder", unreachable)
    (finding,) = work.embedder()
    assert summary(finding) == (State.WRONG, "The embedding server cannot be reached.")


@pytest.mark.django_db
def test_without_an_active_profile() -> None:
    SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).delete()
    (finding,) = work.profile()
    assert finding.state is State.WRONG


@pytest.mark.django_db
def test_an_examination_that_fails_does_not_end_the_others(
    crew: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "differences", lambda: 1 / 0)
    found = {each.name: each for each in examine()}
    assert found["statistics"].state is State.WRONG
    assert "ZeroDivisionError" in found["statistics"].text
    assert found["profile"].state is State.OK
