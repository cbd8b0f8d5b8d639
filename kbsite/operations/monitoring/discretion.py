"""Log records without what readers asked and documents say, unless debugging is on.

Messages of errors quote the value that they are about: Postgres' the whole row, Python's
conversions and look-ups their argument. Of those the type and the place are logged, not the
message. What our own errors say is written for readers and quotes no text.
"""

from __future__ import annotations

import copy
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import django.db
import psycopg

# Errors whose messages quote what they were given.
_QUOTING = (ValueError, LookupError, TypeError)
# The attribute of a record with its traceback: structlog drops the usual one.
TRACEBACK = "discreet_traceback"
_HIDDEN = "(its message is logged with LOG_LEVEL=DEBUG)"


def discreet(record: logging.LogRecord) -> logging.LogRecord:
    """The record as it may be written: itself while debugging, else a copy if it would quote."""
    if _is_debugging():
        return record
    error = record.exc_info[1] if record.exc_info else None
    arguments = record.args if isinstance(record.args, tuple) else ()
    is_task = record.name == "celery.app.trace" and isinstance(record.args, dict)
    if not is_task and error is None and not any(map(_quotes, arguments)):
        return record
    discreet_copy = copy.copy(record)
    if is_task and error is not None:
        # Celery puts the whole traceback into the message as well.
        task: dict[str, Any] = dict(record.args) if isinstance(record.args, dict) else {}
        discreet_copy.msg = f"Task {task.get('name')}[{task.get('id')}] failed"
        discreet_copy.args = None
    elif arguments:
        discreet_copy.args = tuple(_type_of(each) if _quotes(each) else each for each in arguments)
    if error is not None:
        discreet_copy.exc_text = "\n".join(_lines(error))
        discreet_copy.exc_info = None
        setattr(discreet_copy, TRACEBACK, discreet_copy.exc_text)
    return discreet_copy


def _is_debugging() -> bool:
    return logging.getLogger("kbsite").isEnabledFor(logging.DEBUG)


def _quotes(value: object) -> bool:
    """Whether it is an error whose message may quote a question or a document."""
    if isinstance(value, django.db.Error):
        value = value.__cause__ or value
    if isinstance(value, psycopg.Error):
        return value.sqlstate is not None  # without one it is about the connection
    return isinstance(value, _QUOTING)


def _type_of(error: object) -> str:
    """The error's type, and Postgres' code."""
    state = getattr(getattr(error, "__cause__", None) or error, "sqlstate", None)
    return f"{type(error).__name__}{f' {state}' if state else ''} {_HIDDEN}"


def _lines(error: BaseException) -> Iterator[str]:
    """The traceback of the error and of those that it was raised from, the first one first."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _lines(before)
        yield "which led to:"
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip("\n")
    quoting = _quotes(error) or (before is not None and str(before) and str(before) in str(error))
    yield _type_of(error) if quoting else f"{type(error).__name__}: {error}"
