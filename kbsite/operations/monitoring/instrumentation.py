"""Ids, metrics and spans of requests and of background tasks, and the OpenTelemetry SDK.

`Site` gives a request its id before anything else sees it, for agents and for streams that go on
after their view; in Django's test client the middleware does. Tasks continue the ids and spans of
what enqueued them. Own spans instead of the instrumentation packages: those put addresses with
their parameters, which hold readers' questions, into the spans (docs/adr/0071-logs-and-traces.md).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from celery.signals import (
    beat_init,
    before_task_publish,
    celeryd_init,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_process_init,
)
from django.conf import settings
from django.db.backends.signals import connection_created
from django.http import HttpRequest
from opentelemetry.trace import Span

from common.observing import metrics, tracing

logger = logging.getLogger(__name__)

MOST_STATEMENT = 2_000  # characters
_starting = threading.Lock()
_started_in = 0


def begin_process(program: str) -> None:
    """Count this process as one of `program`, and begin its traces."""
    metrics.runs(program)
    start(program)


def start(program: str) -> bool:
    """Send this process' spans to the collector of the settings; False if there is none.

    To be called in each process after its last fork: the sender is a thread.
    """
    global _started_in
    if not settings.OTEL_ENDPOINT:
        return False
    with _starting:
        if _started_in == os.getpid():
            return True
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            logger.warning(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, but requirements/otel.txt is not installed: "
                "no traces are made"
            )
            return False
        send_to(BatchSpanProcessor(OTLPSpanExporter()), program)
        _started_in = os.getpid()
    return True


def send_to(processor: Any, program: str) -> None:
    """Make spans from now on, and give them to `processor` when they end."""
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    name = os.environ.get("OTEL_SERVICE_NAME", "steelyard")
    resource = Resource.create({"service.name": name, "steelyard.program": program})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)
    connection_created.connect(_trace_statements, dispatch_uid="steelyard-statements")


def _trace_statements(connection: Any, **_signal: Any) -> None:
    if _statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(_statement)


def _statement(
    execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Run a statement within a span that has its text, never its values."""
    text = str(sql).strip()
    name = text.split(None, 1)[0].upper() if text else "statement"
    with tracing.span(name, role="statement") as span:
        if span.is_recording():
            span.set_attribute("db.system.name", "postgresql")
            span.set_attribute("db.query.text", text[:MOST_STATEMENT])
        return execute(sql, params, many, context)


HEADER = "X-Request-ID"
# The parts of the site by the beginning of their paths; all others are pages.
_AREAS = (
    ("/api/v1/answers", "answers"),
    ("/answers/", "answers"),
    ("/v1/", "answers"),
    ("/api/", "api"),
    ("/admin/", "admin"),
    ("/static/", "static"),
)
_UNCOUNTED = ("/metrics", "/health/")

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


def area_of(path: str) -> str:
    """The part of the site that the path belongs to: one of seven."""
    return next((area for beginning, area in _AREAS if path.startswith(beginning)), "pages")


def request_id(header: str) -> str:
    """The id that the site's own proxy states for a request, or a new one."""
    trusted = bool(settings.SECURE_PROXY_SSL_HEADER)
    return (tracing.valid_id(header) if trusted else "") or tracing.new_id()


@contextmanager
def identified(scope: Mapping[str, Any], send: Send) -> Iterator[Send]:
    """Give a request of ASGI its id within the block; the `send` to use adds it to the response."""
    header = next((each for name, each in scope["headers"] if name == b"x-request-id"), b"")
    identifier = request_id(header.decode("latin-1"))

    async def sending(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            name = HEADER.lower().encode()
            headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != name]
            message = {**message, "headers": [*headers, (name, identifier.encode())]}
        await send(message)

    with tracing.bound(request_id=identifier):
        yield sending


def observe(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Give a request its id, count it and make its span. The first middleware of all."""

    def middleware(request: HttpRequest) -> Any:
        with _observed(request) as ended:
            return ended(get_response(request))

    return middleware


@contextmanager
def _observed(request: HttpRequest) -> Iterator[Callable[[Any], Any]]:
    area, started = area_of(request.path_info), time.perf_counter()
    identifier = tracing.current().get(tracing.REQUEST) or request_id(
        request.headers.get(HEADER, "")
    )
    method = request.method if request.method in ("GET", "HEAD", "POST") else "other"

    def ended(response: Any) -> Any:
        response[HEADER] = identifier
        _describe(span, request, response.status_code)
        if request.path_info not in _UNCOUNTED:
            spent = time.perf_counter() - started
            status = str(response.status_code)
            metrics.observe(metrics.REQUESTS, spent, area=area, status=status)
        return response

    with (
        tracing.bound(request_id=identifier),
        tracing.span(f"{method} {area}", role="request") as span,
    ):
        yield ended


def _describe(span: Span, request: HttpRequest, status: int) -> None:
    """What the span says of a request: its route, without values and parameters."""
    if not span.is_recording():
        return
    match = request.resolver_match
    span.set_attribute("http.request.method", request.method or "")
    span.set_attribute("http.route", match.route if match else "")
    span.set_attribute("http.response.status_code", status)
    span.set_attribute("steelyard.request_id", tracing.current().get(tracing.REQUEST, ""))


# The header of a message: the ids and the trace of the work that sent it.
TASK_HEADER = "steelyard"
_running: dict[str, tuple[ExitStack, float]] = {}
_worker = "worker"


@celeryd_init.connect
def name_worker(sender: str = "", **_signal: Any) -> None:
    """Remember the worker's name before its host: its processes are counted under it."""
    global _worker
    _worker = str(sender).partition("@")[0] or _worker


@worker_process_init.connect
def count_worker(**_signal: Any) -> None:
    begin_process(_worker)


@beat_init.connect
def count_beat(**_signal: Any) -> None:
    begin_process("beat")


@setup_logging.connect
def keep_logging(loglevel: Any = "INFO", **_signal: Any) -> None:
    """Celery's messages go where the settings send all others.

    Without a receiver Celery would add a handler of its own, which writes no JSON.
    """
    import logging.config

    config = settings.LOGGING
    loggers = {**config["loggers"], "celery": {"level": loglevel or "INFO"}}
    logging.config.dictConfig({**config, "loggers": loggers})


@before_task_publish.connect
def send_along(sender: str = "", headers: Any = None, **_signal: Any) -> None:
    """Add the ids and the trace to the message."""
    if isinstance(headers, dict):
        ids = {name: each for name, each in tracing.current().items() if name != tracing.TASK}
        headers[TASK_HEADER] = {"ids": ids, "trace": tracing.carried()}
    metrics.count(metrics.TASKS_SENT, task=str(sender))


@task_prerun.connect
def begin_task(task_id: str = "", task: Any = None, **_signal: Any) -> None:
    """Continue the sender's ids and trace until the task ends."""
    header = getattr(task.request, TASK_HEADER, None) or {}
    ids = header.get("ids", {}) if isinstance(header, dict) else {}
    stack = ExitStack()
    stack.enter_context(tracing.bound(**{**ids, tracing.TASK: task_id}))
    within = header.get("trace") if isinstance(header, dict) else None
    stack.enter_context(tracing.span(task.name, role="task", within=within or {}))
    _running[task_id] = (stack, time.perf_counter())


@task_postrun.connect
def end_task(task_id: str = "", task: Any = None, state: str | None = None, **_signal: Any) -> None:
    stack, started = _running.pop(task_id, (None, 0.0))
    if stack is None:
        return
    outcome = "done" if state == "SUCCESS" else "failed"
    spent = time.perf_counter() - started
    metrics.observe(metrics.TASK_SECONDS, spent, task=task.name, outcome=outcome)
    stack.close()
