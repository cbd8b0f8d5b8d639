"""Traces: one from the page to the statement, through a message to the parser; off by default."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.test import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from common.observing import tracing
from ingestion.tasks import advance_version
from kbsite.operations.monitoring import instrumentation
from tests.support.factories import make_collection, make_document, upload
from tests.support.local_site import Answer, local_site

CANARY = "zyzzogeton"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans that end, kept in memory; tracing is off again afterwards."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(tracing, "_tracer", provider.get_tracer("steelyard"))
    connection.execute_wrappers.append(instrumentation._statement)
    try:
        yield kept
    finally:
        connection.execute_wrappers.remove(instrumentation._statement)


def named(spans: InMemorySpanExporter) -> dict[str, Any]:
    return {span.name: span for span in spans.get_finished_spans()}


def ancestors(span: Any, spans: InMemorySpanExporter) -> list[str]:
    """The names of the spans around `span`, the nearest first."""
    by_id = {each.context.span_id: each for each in spans.get_finished_spans()}
    found = []
    while span.parent is not None and span.parent.span_id in by_id:
        span = by_id[span.parent.span_id]
        found.append(span.name)
    return found


@pytest.mark.django_db
def test_one_trace_from_the_page_to_the_statement(
    client: Client, spans: InMemorySpanExporter, clean_cache: None
) -> None:
    make_document(make_collection(), f"The {CANARY} is fed at noon.")
    spans.clear()
    response = client.get("/", {"q": f"when is the {CANARY} fed"})
    assert response.status_code == 200
    finished = spans.get_finished_spans()
    strays = [
        str(span.attributes.get("db.query.text", span.name))
        for span in finished
        if span.name != "GET pages" and "GET pages" not in ancestors(span, spans)
    ]
    # The event, which is stored after the response, in a statement that may be prepared.
    assert all("search_id" in one or "set_config" in one for one in strays), strays
    statements = [span for span in finished if "db.query.text" in span.attributes]
    assert ["search", "GET pages"] in [ancestors(span, spans) for span in statements]
    assert ancestors(named(spans)["embed query"], spans) == ["search", "GET pages"]
    request = named(spans)["GET pages"]
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["steelyard.request_id"] == response["X-Request-ID"]
    for span in finished:
        assert CANARY not in span.name + str(dict(span.attributes)) + str(span.events)


@pytest.mark.django_db(transaction=True)
def test_it_goes_on_in_the_worker_and_the_parser(
    servers: Any, clean_cache: None, spans: InMemorySpanExporter
) -> None:
    version = upload(make_collection(), f"# Note\n\nThe {CANARY} is fed.").version
    spans.clear()
    with current_app.connection_for_write() as broker:
        queue = broker.SimpleQueue("interactive")
        queue.clear()
        with tracing.span("POST admin", role="request"):
            current_app.send_task(
                "ingestion.tasks.advance_version", args=[version.pk], queue="interactive"
            )
        message = queue.get(timeout=5)
        message.ack()
        queue.close()
    advance_version.push_request(**message.headers)
    try:
        instrumentation.begin_task(task_id=message.headers["id"], task=advance_version)
        assert advance_version.run(version.pk)
        instrumentation.end_task(
            task_id=message.headers["id"], task=advance_version, state="SUCCESS"
        )
    finally:
        advance_version.pop_request()
    found = named(spans)
    around = ["ingestion.tasks.advance_version", "POST admin"]
    assert ancestors(found["parser"], spans) == around
    assert ancestors(found["embed passages"], spans) == around
    # Of the parser's process, which reports its times.
    stages = [found[name] for name in ("walls", "load parser", "extract", "write blocks")]
    assert all(ancestors(stage, spans) == ["parser", *around] for stage in stages)
    times = [time for stage in stages for time in (stage.start_time, stage.end_time)]
    assert times == sorted(times)
    assert found["parser"].start_time <= times[0]
    assert times[-1] <= found["parser"].end_time
    assert {span.context.trace_id for span in found.values()} == {
        found["POST admin"].context.trace_id
    }
    assert all(CANARY not in str(dict(span.attributes)) for span in found.values())


def test_a_failure_is_marked_by_its_type_alone(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match=CANARY), tracing.span("work"):
        raise ValueError(CANARY)
    span = named(spans)["work"]
    assert span.status.description == "ValueError"
    assert span.events == ()


def test_without_the_setting_nothing_is_recorded(settings: Any) -> None:
    settings.OTEL_ENDPOINT = ""
    assert not instrumentation.start("web")
    with tracing.span("work") as span:
        assert not span.is_recording()
        assert tracing.current_trace() == ""
        assert tracing.carried() == {}


def test_a_collector_gets_the_spans_over_http() -> None:
    """In a process of its own: a process has one provider for good."""
    code = (
        "import django; django.setup()\n"
        "from opentelemetry import trace\n"
        "from common.observing import tracing\n"
        "from kbsite.operations.monitoring import instrumentation\n"
        "assert instrumentation.start('web') and instrumentation.start('web')\n"
        "with tracing.span('a piece of work'): assert tracing.current_trace()\n"
        "trace.get_tracer_provider().shutdown()\n"
    )

    def taken(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with local_site() as site:
        site.routes["/v1/traces"] = Answer(taken)
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "kbsite.settings",
            "OTEL_EXPORTER_OTLP_ENDPOINT": site.url("").rstrip("/"),
        }
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert site.paths == ["/v1/traces"]
        assert b"a piece of work" in b"".join(_unpacked(site))


def _unpacked(site: Any) -> Iterator[bytes]:
    import gzip

    for (_, headers), body in zip(site.asked, site.bodies, strict=True):
        yield gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body


def test_the_provider_of_other_tests_is_untouched() -> None:
    assert not isinstance(trace.get_tracer_provider(), TracerProvider)
