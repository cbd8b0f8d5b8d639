"""The ids and the spans of one piece of work, in every thread and process that does it.

The ids connect its log lines. They follow the work through `contextvars`: from a request to the
threads of its view, by the headers of its messages to the workers. A parser's process has none: its
worker writes of it.

Spans (OpenTelemetry) cost nothing without the SDK, or with tracing off. None holds a question, an
address with its parameters, or a value of a statement.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode
from structlog import contextvars

REQUEST, SEARCH, TASK = "request_id", "search_id", "task_id"
_VALID = re.compile(r"[A-Za-z0-9._:-]{8,64}")
_KINDS = {
    "request": SpanKind.SERVER,
    "send": SpanKind.PRODUCER,
    "task": SpanKind.CONSUMER,
    "statement": SpanKind.CLIENT,
}
_tracer = trace.get_tracer("steelyard")


def new_id() -> str:
    """A new id: 32 hexadecimal digits."""
    return secrets.token_hex(16)


def valid_id(text: str) -> str:
    """The id that another program states, if it is one; else empty: a log line may hold it."""
    return text if _VALID.fullmatch(text) else ""


@contextmanager
def bound(**ids: str) -> Iterator[None]:
    """Add the ids that are not empty to every log line of the block.

    Those that are noted within it end with it.
    """
    before = contextvars.get_contextvars()
    note(**ids)
    try:
        yield
    finally:
        contextvars.clear_contextvars()
        contextvars.bind_contextvars(**before)


def note(**ids: str) -> None:
    """Add ids to the log lines of the rest of this piece of work."""
    contextvars.bind_contextvars(**{name: each for name, each in ids.items() if each})


def current() -> Mapping[str, str]:
    """The ids of this piece of work by name."""
    return {name: str(each) for name, each in contextvars.get_contextvars().items()}


@contextmanager
def span(
    name: str, *, role: str = "", within: Mapping[str, str] | None = None, **attributes: Any
) -> Iterator[Span]:
    """A span around the block, a child of the current one or of that which `within` carries.

    `role` is request, send, task, statement, or empty for work within the process. An exception
    marks it as failed, by its type alone: messages may quote a document.
    """
    parent = propagate.extract(within) if within is not None else None
    kind = _KINDS.get(role, SpanKind.INTERNAL)
    with _tracer.start_as_current_span(
        name,
        parent,
        kind,
        {f"steelyard.{key}": value for key, value in attributes.items()},
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_status(StatusCode.ERROR, type(error).__name__)
            raise


def past(name: str, began: int, ended: int) -> None:
    """A span of the current one that is over; its times in nanoseconds since 1970."""
    _tracer.start_span(name, start_time=began).end(end_time=ended)


def carried() -> dict[str, str]:
    """What another process needs to continue the current trace; empty without one."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


def current_trace() -> str:
    """The id of the current trace, 32 hexadecimal digits; empty without one."""
    span_context = trace.get_current_span(context.get_current()).get_span_context()
    return f"{span_context.trace_id:032x}" if span_context.is_valid else ""
