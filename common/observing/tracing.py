"""Spans of a trace (OpenTelemetry). Without the SDK, or with tracing off, they cost nothing.

No span holds a question, an address with its parameters, or a value of a statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode

_KINDS = {
    "request": SpanKind.SERVER,
    "send": SpanKind.PRODUCER,
    "task": SpanKind.CONSUMER,
    "statement": SpanKind.CLIENT,
}
_tracer = trace.get_tracer("steelyard")


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


def carry_into(headers: MutableMapping[str, Any]) -> None:
    """Add `carried` to a message's headers."""
    headers.update(carried())


def current_trace() -> str:
    """The id of the current trace, 32 hexadecimal digits; empty without one."""
    found = trace.get_current_span(context.get_current()).get_span_context()
    return f"{found.trace_id:032x}" if found.is_valid else ""
