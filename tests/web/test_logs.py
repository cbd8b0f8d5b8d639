"""Logs: JSON by setting, ids from the request to the parser, nothing of readers and documents."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from celery import current_app
from django.core.management import call_command
from django.db import DataError, connection
from django.test import Client
from rest_framework.test import APIClient

from common import log_ids
from common.accounts.models import User
from ingestion.documents import processing_steps
from ingestion.models import DocumentVersion
from ingestion.tasks import advance_version
from kbsite.operations import instrumentation, logs
from kbsite.serving.dispatch import Site
from search.analytics import recording
from search.domain import Query
from search.engine.external_classifier import PluggedIn
from search.parts.reranker.guarded import GuardedReranker
from search.parts.reranker.protocol import Kind, RerankerConfig
from search.query import parse
from search.ranking.rerank import RerankerInput
from tests.faults.asgi import scope
from tests.support.factories import make_collection, make_document, upload

CANARY = "zyzzogeton"


@pytest.fixture(autouse=True)
def _no_ids_of_other_tests() -> None:
    log_ids._current.set({})


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """All that is logged from INFO on, as JSON, whatever logs it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonFormatter())
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield stream
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_of_json_has_the_ids_of_its_work(written: io.StringIO) -> None:
    with log_ids.bound(request_id="r" * 8, search_id=""):
        logging.getLogger("search.x").warning("Slow: %s ms", 3)
    logging.getLogger("search.x").error("Alone")
    first, second = lines(written)
    assert first["message"] == "Slow: 3 ms"
    assert (first["level"], first["logger"]) == ("warning", "search.x")
    assert first["request_id"] == "r" * 8
    assert first["timestamp"].endswith("Z")
    assert "search_id" not in first
    assert "request_id" not in second


@pytest.mark.parametrize("formatter", [logs.JsonFormatter(), logs.LineFormatter("%(message)s")])
def test_what_does_not_fit_its_message_is_a_line_without_it(formatter: logging.Formatter) -> None:
    record = logging.makeLogRecord({"msg": "Slow: %s", "args": (CANARY, 3)})
    text = formatter.format(record)
    assert "Slow: %s" in text
    assert CANARY not in text


def test_a_line_of_json_can_be_written_by_every_stream() -> None:
    """The name of a file may have half a letter, and a line break that JSON permits in texts."""
    record = logging.makeLogRecord({"msg": "Read %s", "args": ("M\udcfcller\u2028.pdf",)})
    text = logs.JsonFormatter().format(record)
    assert text.encode().splitlines() == [text.encode()]
    assert json.loads(text)["message"] == "Read M\udcfcller\u2028.pdf"


def test_plain_log_lines_have_the_ids() -> None:
    formatter = logs.LineFormatter("{levelname} {message}", style="{")
    record = logging.makeLogRecord({"msg": "Slow", "levelname": "WARNING"})
    with log_ids.bound(request_id="abc"):
        assert formatter.format(record) == "WARNING Slow [request_id=abc]"
    assert formatter.format(record) == "WARNING Slow"


class TestRequestId:
    def test_request_id_is_new_for_each_request(self, client: Client, db: None) -> None:
        one, other = (client.get("/login/")["X-Request-ID"] for _ in range(2))
        assert len(one) == len(other) == 32
        assert one != other

        assert client.get("/nowhere/")["X-Request-ID"]

    @pytest.mark.parametrize(
        ("stated", "is_trusted", "is_kept"),
        [
            ("0123456789abcdef", True, True),
            ("0123456789abcdef", False, False),
            ("short", True, False),
            ("a" * 65, True, False),
            ("with a space", True, False),
            ('quo"te-quote', True, False),
        ],
    )
    def test_request_id_of_a_trusted_proxy_only_is_kept(
        self, client: Client, db: None, settings: Any, stated: str, is_trusted: bool, is_kept: bool
    ) -> None:
        if is_trusted:
            settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
        response = client.get("/login/", headers={"X-Request-ID": stated})
        assert (response["X-Request-ID"] == stated) is is_kept

    @pytest.mark.parametrize("path", ["/mcp", "/answers/stream/"])
    def test_agents_and_streams_have_a_request_id(self, path: str) -> None:
        """Beside Django's middleware, and longer than it: until the last part is sent."""
        seen, sent = [], []

        async def streams(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            seen.append(log_ids.current()["request_id"])
            await send({"type": "http.response.body", "body": b""})

        async def send(message: Any) -> None:
            sent.append(message)

        site = Site(streams, streams, is_for_agents=lambda path: path == "/mcp", threads=1)
        asyncio.run(site(scope(path), None, send))  # type: ignore[arg-type]
        assert dict(sent[0]["headers"])[b"x-request-id"].decode() == seen[0]
        assert log_ids.current() == {}

    def test_failing_request_is_logged_with_its_id(
        self, client: Client, db: None, monkeypatch: pytest.MonkeyPatch, written: io.StringIO
    ) -> None:
        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("a fault")

        monkeypatch.setattr("search.pipeline.search", broken)
        client.raise_request_exception = False
        response = client.get("/api/v1/search/", {"q": CANARY})
        assert response.status_code == 500
        (line,) = [each for each in lines(written) if each["logger"] == "django.request"]
        assert line["request_id"] == response["X-Request-ID"]
        assert "RuntimeError: a fault" in line["exception"]
        assert CANARY not in written.getvalue()


@pytest.mark.django_db(transaction=True)
def test_request_ids_reach_the_worker_and_parser_logs(
    servers: Any, clean_cache: None, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real message: sent by a request's work, taken from the queue, run as a worker does."""
    broken = upload(make_collection(), b"%PDF-1.4 nothing", file_name="broken.pdf").version
    with current_app.connection_for_write() as broker:
        queue = broker.SimpleQueue("interactive")
        queue.clear()
        with log_ids.bound(request_id="request-0001", search_id="search-0001"):
            current_app.send_task(
                "ingestion.tasks.advance_version", args=[broken.pk], queue="interactive"
            )
        message = queue.get(timeout=60)
        message.ack()
        queue.close()
    seen: list[dict[str, str]] = []
    real = processing_steps.advance_in_turn

    def advance(version_id: int) -> bool:
        seen.append(dict(log_ids.current()))
        return real(version_id)

    monkeypatch.setattr(processing_steps, "advance_in_turn", advance)
    advance_version.push_request(**message.headers)
    try:
        instrumentation.begin_task(task_id=message.headers["id"], task=advance_version)
        advance_version.run(broken.pk)
        instrumentation.end_task(
            task_id=message.headers["id"], task=advance_version, state="SUCCESS"
        )
    finally:
        advance_version.pop_request()
    assert seen == [
        {"request_id": "request-0001", "search_id": "search-0001", "task_id": message.headers["id"]}
    ]
    assert log_ids.current() == {}
    assert DocumentVersion.objects.get(pk=broken.pk).state == "failed"


@pytest.mark.django_db
def test_log_contains_no_question_and_no_text(
    administrator: User,
    clean_cache: None,
    written: io.StringIO,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    """Uploads, searches, answers and their failures: whatever writes a line is asked to."""
    collection = make_collection("Handbook")
    make_document(collection, f"# {CANARY}\n\nThe {CANARY} is fed at noon.")
    upload(collection, f"{{\n'{CANARY}': [\n".encode(), file_name="half.json")
    for version in DocumentVersion.objects.filter(state="queued"):
        processing_steps.advance(version.pk)

    browser, api = Client(), APIClient()
    browser.force_login(administrator)
    api.force_authenticate(administrator)
    for address in ("/", "/library/", "/answers/", "/api/v1/search/", "/admin/search/"):
        browser.get(address, {"q": f"when is the {CANARY} fed"})
    api.get("/api/v1/search/", {"q": f'collection:{CANARY} "{CANARY}'})
    api.post("/api/v1/answers/", {"q": f"When is the {CANARY} fed?"}, format="json")
    api.post("/api/v1/answers/", {"q": CANARY * 1000}, format="json")

    # Failures that quote: of the database, of Python, and of a view.
    def refused(*_: object, **__: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::integer", [CANARY])

    def odd(*_: object, **__: object) -> None:
        int(CANARY)

    with monkeypatch.context() as patch:
        patch.setattr(recording, "_insert", lambda *_: _raise_of(refused))
        browser.get("/", {"q": f"another {CANARY}"})
    browser.raise_request_exception = False
    for fault in (odd,):
        with monkeypatch.context() as patch:
            patch.setattr("search.pipeline.search", fault)
            assert browser.get("/api/v1/search/", {"q": CANARY}).status_code == 500
    text = written.getvalue()
    assert "A search was not recorded" in text
    assert "ValueError (its message" in text
    assert [line for line in lines(written) if CANARY in json.dumps(line)] == []


def _raise_of(fails: Any) -> None:
    """Raise as the database does, without breaking the test's transaction."""
    from django.db import transaction

    try:
        with transaction.atomic():
            fails()
    except DataError:
        raise


def test_debug_mode_logs_whole_messages(caplog: pytest.LogCaptureFixture) -> None:
    record = logging.makeLogRecord({"msg": "Odd: %s", "args": (ValueError(CANARY),)})
    formatter = logs.LineFormatter("{message}", style="{")
    assert CANARY not in formatter.format(record)
    caplog.set_level(logging.DEBUG, logger="kbsite")
    assert formatter.format(record) == f"Odd: {CANARY}"


def test_a_failed_task_is_logged_without_its_error_s_words() -> None:
    """As Celery does: the traceback is in the arguments and in `exc_info`."""
    try:
        int(CANARY)
    except ValueError as error:
        record = logging.makeLogRecord(
            {
                "name": "celery.app.trace",
                "msg": "Task %(name)s[%(id)s] %(description)s: %(exc)s\n%(traceback)s",
                "args": ({"name": "t", "id": "1", "description": "raised", "exc": repr(error),
                          "traceback": str(error)},),
                "exc_info": (type(error), error, error.__traceback__),
            }
        )  # fmt: skip
    record.args = record.args[0] if isinstance(record.args, tuple) else record.args
    text = logs.JsonFormatter().format(record)
    assert CANARY not in text.replace("int(CANARY)", "")
    assert json.loads(text)["message"] == "Task t[1] failed"
    assert "ValueError" in json.loads(text)["exception"]


def test_an_unknown_form_is_reported(settings: Any) -> None:
    assert logs.logging_of("yaml", "INFO")["handlers"]["console"]["formatter"] == "line"
    settings.LOG_FORMAT = "yaml"
    with pytest.raises(Exception, match="LOG_FORMAT is “yaml”"):
        call_command("check")


class Telling:
    """A reranker and a query classifier that log, as other people's may."""

    is_pointwise = True

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> list[float]:
        logging.getLogger("other.people").warning("Reranking")
        return [0.5 for _ in passages]

    def classify(self, query: Query) -> None:
        logging.getLogger("other.people").warning("Classifying")


def test_models_in_threads_of_their_own_log_the_request(
    written: io.StringIO, clean_cache: None
) -> None:
    guarded = GuardedReranker(RerankerConfig(Kind.COHERE, "http://127.0.0.1:1/rerank"), Telling())
    plugged = PluggedIn(f"{__name__}.Telling")
    with log_ids.bound(request_id="request-of-a-model"):
        assert guarded.strengths("pumps", [RerankerInput(1, "A pump.")]) == {1: 0.5}
        assert plugged.classify(parse("pumps", ())) is None
    told = [line for line in lines(written) if line["logger"] == "other.people"]
    assert [line["message"] for line in told] == ["Reranking", "Classifying"]
    assert {line["request_id"] for line in told} == {"request-of-a-model"}
