"""What readers, programs and monitors get while the database or Redis is unavailable."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import shutil
from collections.abc import Iterator, Mapping
from contextvars import Context
from types import SimpleNamespace
from typing import Any

import psycopg
import psycopg_pool
import pytest
from django.core.cache import cache, caches
from django.core.management import call_command
from django.db import OperationalError, connection
from django.test import AsyncClient, Client, RequestFactory
from redis.exceptions import TimeoutError as RedisTimeout

from common import circuit_breaker
from common.probes import Finding, State, examine
from ingestion import spaces
from ingestion.errors import EmbeddingUnavailable
from ingestion.models import Chunk, CorpusStatistics, TermFrequency
from kbsite.embedded import EmbeddedServers
from kbsite.operations.logs import LineFormatter
from kbsite.operations.probes import database, machine, services
from kbsite.serving import outage
from kbsite.serving.dispatch import Site
from kbsite.serving.outage import is_outage
from search.models import SearchProfile
from tests.faults.asgi import response, scope
from tests.faults.harness import assert_statistics_equal_a_recount
from tests.support.factories import make_collection, make_document
from tests.support.probes import stop


@pytest.fixture
def away(
    django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch, servers: EmbeddedServers
) -> Iterator[None]:
    """The database cannot be reached."""
    with django_db_blocker.unblock():
        connection.close()
        monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
        yield
        connection.close()


@pytest.fixture
def visitor() -> Client:
    return Client(raise_request_exception=False)


def test_outage_is_reported_in_the_format_of_each_api(away: None, visitor: Client) -> None:
    page = visitor.get("/", {"q": "slam"})
    assert page.status_code == 503
    assert (page["Retry-After"], page["Refresh"], page["Cache-Control"]) == ("5", "5", "no-store")
    assert "<p>The site&#x27;s database is unavailable; nothing is lost" in page.text
    assert 'class="brand"' in page.text
    api = visitor.get("/api/v1/search/", {"q": "slam"})
    assert (api.status_code, api["Retry-After"]) == (503, "5")
    assert api["Content-Type"] == "application/problem+json"
    assert (api.json()["status"], api.json()["code"]) == (503, "unavailable")
    question = {"model": "steelyard:instant", "messages": [{"role": "user", "content": "slam"}]}
    compatible = visitor.post("/v1/chat/completions", question, content_type="application/json")
    assert compatible.status_code == 503
    assert compatible.json()["error"]["type"] == "server_error"
    assert "nothing was changed" in compatible.json()["error"]["message"]
    assert "Refresh" not in visitor.post("/login/")
    assert visitor.get("/health/").status_code == 503


def test_outage_is_reported_by_asynchronous_views(away: None) -> None:
    async def ask() -> Any:
        client = AsyncClient(raise_request_exception=False)
        return await client.post("/answers/", {"q": "slam"})

    found = asyncio.run(ask())
    assert found.status_code == 503
    assert "database is unavailable" in found.text


def test_an_internal_error_is_json_for_programs(rf: RequestFactory) -> None:
    found = outage.server_error(rf.get("/api/v1/search/"))
    assert found.status_code == 500
    assert b'"code": "internal"' in found.content
    assert b"<h1>" in outage.server_error(rf.get("/search/")).content


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (psycopg.OperationalError("connection refused"), True),
        (psycopg_pool.PoolTimeout("none in time"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.CannotConnectNow(), True),
        (psycopg.errors.QueryCanceled(), False),
        (psycopg.errors.DeadlockDetected(), False),
        (psycopg.errors.LockNotAvailable(), False),
        (psycopg.errors.DiskFull(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_a_database_that_cannot_be_reached_is_an_outage(
    cause: psycopg.Error, expected: bool
) -> None:
    error = OperationalError()
    error.__cause__ = cause
    assert is_outage(error) is expected


@pytest.mark.django_db
def test_a_search_asks_a_hanging_cache_once(
    client: Client, monkeypatch: pytest.MonkeyPatch, servers: EmbeddedServers
) -> None:
    make_document(make_collection(), "# Maps\n\nSlam draws a map.\n")
    asked = []

    def hang(*arguments: Any, **options: Any) -> None:
        asked.append(arguments)
        raise RedisTimeout("Timeout reading from socket")

    monkeypatch.setattr("redis.Redis.execute_command", hang)
    assert client.get("/api/v1/search/", {"q": "slam"}).status_code == 200
    assert client.get("/", {"q": "slam"}).status_code == 200
    assert len(asked) == 1
    with pytest.raises(circuit_breaker.CircuitOpen):
        cache.get("anything")


def test_requests_share_one_cache_connection(clean_cache: None) -> None:
    """Django keeps the cache's object by context, and each request is a context of its own."""
    cache.set("before", 1)
    server = cache._cache.get_client()  # type: ignore[attr-defined]
    opened = server.info("stats")["total_connections_received"]
    for _ in range(20):
        assert Context().run(lambda: cache.get("before")) == 1
    assert Context().run(lambda: caches["default"]) is not caches["default"]
    assert server.info("stats")["total_connections_received"] == opened


def test_health_is_answered_without_a_thread_of_the_site(servers: EmbeddedServers) -> None:
    async def never(*_: Any) -> None:
        raise AssertionError("the site was asked")

    site = Site(never, never, is_for_agents=lambda path: False, threads=1)
    status, parts = asyncio.run(response(site, scope("/health/")))
    assert status == 200
    assert json.loads(b"".join(parts)) == {
        "database": True,
        "embedder": True,
        "redis": True,
        "storage": True,
        "workers": False,
    }


def test_an_outage_is_one_line_in_the_log() -> None:
    def record(message: str, *arguments: Any, error: Exception | None = None) -> logging.LogRecord:
        info = (type(error), error, None) if error else None
        return logging.LogRecord("celery.beat", 40, "f", 1, message, arguments, info)

    brief = outage.Brief()
    wrapped = ValueError("no schedule")
    wrapped.__cause__ = RedisTimeout("Timeout reading from socket")
    long = record("Message Error\n%s", "the stack", error=wrapped)
    assert brief.filter(long)
    assert long.getMessage() == "Message Error (no schedule)"
    assert long.exc_info is None
    assert not brief.filter(record("no cache: %s", circuit_breaker.CircuitOpen()))
    other = record("broken", error=KeyError())
    assert brief.filter(other)
    assert other.exc_info


@pytest.mark.django_db
def test_request_for_a_foreign_host_is_one_line_in_the_log(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    (record,) = (each for each in caplog.records if each.name.startswith("django.security."))
    record.exc_info = (ValueError, ValueError(), None)
    assert outage.Brief().filter(record)
    assert "evil.example" in LineFormatter().format(record)
    assert "\n" not in LineFormatter().format(record)


# --- What a load balancer or a monitor asks ------------------------------------------------------


@pytest.mark.django_db
def test_healthy_site_leaves_no_file_in_the_storage(
    client: Client, servers: EmbeddedServers, settings: Any, tmp_path: Any
) -> None:
    response = client.get("/health/")
    assert response.status_code == 200
    up = {"database": True, "embedder": True, "redis": True, "storage": True}
    assert response.json() == up | {"workers": False}

    settings.MEDIA_ROOT = str(tmp_path / "files")
    assert client.get("/health/").json()["storage"]
    assert list(tmp_path.rglob("*")) == [tmp_path / "files"]


@pytest.mark.django_db
def test_health_names_the_server_that_does_not_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(monkeypatch, "redis")
    response = client.get("/health/")
    assert response.status_code == 503
    up = {"database": True, "embedder": True, "storage": True, "workers": False}
    assert response.json() == up | {"redis": False}


@pytest.mark.django_db
def test_health_reports_unwritable_storage(
    client: Client, servers: EmbeddedServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def __init__(self, **options: Any) -> None: ...

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None: ...

        def write(self, content: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kbsite.operations.endpoints.tempfile.TemporaryFile", Full)
    response = client.get("/health/")
    assert response.status_code == 503
    up = {"database": True, "embedder": True, "redis": True, "workers": False}
    assert response.json() == up | {"storage": False}


# --- `manage.py doctor`: each line says ok, or what is wrong and what to do ----------------------


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch, settings: Any) -> dict[str, list[dict[str, str]]]:
    """The workers that answer: one that takes from every queue."""
    answers = {"celery@here": [{"name": each.name} for each in settings.CELERY_TASK_QUEUES]}
    inspected = SimpleNamespace(active_queues=lambda: answers)
    monkeypatch.setattr(services.current_app.control, "inspect", lambda **_: inspected)
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
def test_doctor_finds_no_fault_in_a_working_site(crew: Mapping[str, object], servers: Any) -> None:
    make_document(make_collection(), "Ropes are coiled clockwise.")
    code, text = doctor()
    wrong = [line for line in text.splitlines() if not line.startswith(("ok", "look"))]
    assert wrong == []
    assert code == 0
    for name in ("database: Postgres", "redis: Valkey", "embedder: ", "parser: read", "workers: 1"):
        assert f"ok     {name}" in text


def test_doctor_examines_the_rest_without_a_database(
    crew: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(monkeypatch, "database")
    code, text = doctor()
    assert code == 1
    assert "wrong  database: does not answer. Run: manage.py services start" in text
    assert "workers: 1 answer" in text
    assert "statistics" not in text


@pytest.mark.django_db(transaction=True)
def test_doctor_recounts_the_statistics() -> None:
    collection = make_collection()
    make_document(collection, "# Ropes\n\nRopes are coiled clockwise, as ropes are.")
    assert [each.state for each in database.statistics()] == [State.OK]
    TermFrequency.objects.update(chunks=77)
    CorpusStatistics.objects.update(chunks=5)
    (finding,) = database.statistics()
    counted = Chunk.objects.filter(searchable=True).count()
    assert finding.text == f"collection {collection.pk}: 5 passages stated, {counted} counted"
    assert finding.advice == "Run: manage.py doctor --recount"
    doctor("--recount")
    assert [each.state for each in database.statistics()] == [State.OK]
    assert_statistics_equal_a_recount()


@pytest.mark.django_db
def test_doctor_reports_an_index_of_a_failed_build() -> None:
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
def test_doctor_reports_full_disks(
    free: int, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: SimpleNamespace(free=free, total=1000 << 30)
    )
    assert {each.state for each in machine.disks()} == {state}


def test_doctor_reports_an_unwritable_folder(settings: Any, tmp_path: Any) -> None:
    (tmp_path / "file").write_text("not a folder")
    settings.MEDIA_ROOT = tmp_path / "file" / "files"
    *_, finding = machine.disks()
    assert finding.state is State.WRONG
    assert "cannot be written" in finding.text


def test_doctor_reports_unsendable_mail(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    (finding,) = machine.mail()
    assert finding.state is State.WRONG
    assert "127.0.0.1:1" in finding.text


def test_doctor_reports_a_queue_without_a_worker(crew: dict[str, list[dict[str, str]]]) -> None:
    crew["celery@here"] = [{"name": "interactive"}, {"name": "maintenance"}]
    (finding,) = services.workers()
    assert summary(finding) == (State.WRONG, "no worker serves celery, imports, bulk")
    crew.clear()
    assert summary(next(iter(services.workers()))) == (State.WRONG, "none answers")


def test_doctor_reports_settings_that_check_refuses(settings: Any) -> None:
    settings.LOG_FORMAT, settings.METRICS_TOKEN = "yaml", "short"
    found = [each for each in machine.settings_() if each.state is State.WRONG]
    assert ["E031" in each.text or "E032" in each.text for each in found] == [True, True]
    assert all(each.advice for each in found)


@pytest.mark.django_db
def test_doctor_reports_a_silent_model_and_a_missing_profile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreachable(_: object = None) -> None:
        raise EmbeddingUnavailable("The embedding server cannot be reached.")

    monkeypatch.setattr(spaces, "embedder", unreachable)
    (finding,) = services.embedder()
    assert summary(finding) == (State.WRONG, "The embedding server cannot be reached.")

    SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).delete()
    (finding,) = database.profile()
    assert finding.state is State.WRONG


@pytest.mark.django_db
def test_failing_probe_does_not_stop_the_others(
    crew: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "differences", lambda: 1 / 0)
    found = {each.name: each for each in examine()}
    assert found["statistics"].state is State.WRONG
    assert "ZeroDivisionError" in found["statistics"].text
    assert found["profile"].state is State.OK
