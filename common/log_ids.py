"""The ids that connect the log lines of one piece of work: a request's, a background task's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

REQUEST, TASK = "request_id", "task_id"
_current: ContextVar[Mapping[str, str]] = ContextVar("log_ids", default=MappingProxyType({}))


@contextmanager
def bound(**ids: str) -> Iterator[None]:
    """Add the ids that are not empty to every log line of the block.

    Ids that are noted within the block are removed at its end.
    """
    before = _current.get()
    note(**ids)
    try:
        yield
    finally:
        _current.set(before)


def note(**ids: str) -> None:
    """Add ids to the log lines of the rest of this piece of work."""
    _current.set({**_current.get(), **{name: each for name, each in ids.items() if each}})


def current() -> Mapping[str, str]:
    """The ids of this piece of work by name."""
    return _current.get()
