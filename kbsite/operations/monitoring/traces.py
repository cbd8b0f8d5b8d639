"""The OpenTelemetry SDK, where it is installed (requirements/otel.txt) and set up.

Own spans instead of the instrumentation packages: those put addresses with their parameters, which
hold readers' questions, into the spans (docs/adr/0071-logs-and-traces.md).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db.backends.signals import connection_created

from common.observing import metrics, tracing

logger = logging.getLogger(__name__)

MOST_STATEMENT = 2_000  # characters
_starting = threading.Lock()
_started_in = 0


def begin(program: str) -> None:
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
