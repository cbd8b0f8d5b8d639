"""The configuration of logging: lines for people or JSON for programs, without readers' texts.

Messages of errors quote the value that they are about: Postgres' the whole row, Python's
conversions and look-ups their argument. Of those the type and the place are logged, not the
message, unless debugging is on. Messages of our own errors are written for readers and quote no
text. Named by the settings, so this imports nothing that needs them.
"""

from __future__ import annotations

import copy
import json
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import django.db
import psycopg

from common import log_ids

# Errors whose messages quote their input.
_QUOTING = (ValueError, LookupError, TypeError)
_HIDDEN = "(its message is logged with LOG_LEVEL=DEBUG)"


def discreet(record: logging.LogRecord) -> logging.LogRecord:
    """The record to write: unchanged while debugging, else a copy without quoted content."""
    if _is_debugging():
        return record
    try:
        record.getMessage()
    except Exception:  # a fault of ours; logging would print the arguments, over many lines
        record = copy.copy(record)
        record.args = None
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
    return discreet_copy


def _is_debugging() -> bool:
    return logging.getLogger("kbsite").isEnabledFor(logging.DEBUG)


def _quotes(value: object) -> bool:
    """Whether the error's message may quote a question or a document."""
    if isinstance(value, django.db.Error):
        value = value.__cause__ or value
    if isinstance(value, psycopg.Error):
        return value.sqlstate is not None  # without a code it is about the connection
    return isinstance(value, _QUOTING)


def _type_of(error: object) -> str:
    """The error's type, and Postgres' code."""
    state = getattr(getattr(error, "__cause__", None) or error, "sqlstate", None)
    return f"{type(error).__name__}{f' {state}' if state else ''} {_HIDDEN}"


def _lines(error: BaseException) -> Iterator[str]:
    """The tracebacks of the error and of its causes, the first cause first."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _lines(before)
        yield "which led to:"
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip("\n")
    quoting = _quotes(error) or (before is not None and str(before) and str(before) in str(error))
    yield _type_of(error) if quoting else f"{type(error).__name__}: {error}"


APPS = ("kbsite", "common", "ingestion", "search")
FORMATS = ("line", "json")


class LineFormatter(logging.Formatter):
    """Formats a record as one line with the ids of its request or task."""

    def format(self, record: logging.LogRecord) -> str:
        line, newline, rest = super().format(discreet(record)).partition("\n")
        text = " ".join(f"{name}={each}" for name, each in log_ids.current().items())
        return f"{line} [{text}]{newline}{rest}" if text else line + newline + rest


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object with the ids of its request or task."""

    def format(self, record: logging.LogRecord) -> str:
        shown = discreet(record)
        entry = {
            **log_ids.current(),
            "level": shown.levelname.lower(),
            "logger": shown.name,
            "timestamp": f"{datetime.fromtimestamp(shown.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "process": shown.process,
            "message": shown.getMessage(),
        }
        if error := shown.exc_text or (shown.exc_info and self.formatException(shown.exc_info)):
            entry["exception"] = error
        # In ASCII: not every stream can write the half of a letter in a file's name.
        return json.dumps(entry)


def logging_of(form: str, level: str) -> dict[str, Any]:
    """The `LOGGING` of the settings; an unknown form writes lines (`check` reports it)."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": "kbsite.operations.logs.LineFormatter",
                "format": "{levelname:<7} {name}: {message}",
                "style": "{",
            },
            "json": {"()": "kbsite.operations.logs.JsonFormatter"},
        },
        "filters": {"brief": {"()": "kbsite.serving.outage.Brief"}},
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": form if form in FORMATS else "line",
                "filters": ["brief"],
            }
        },
        "root": {"handlers": ["console"], "level": "WARNING"},
        "loggers": {
            **{app: {"level": level} for app in APPS},
            "django.request": {"level": "ERROR"},
            # Each attempt to connect is a warning; a request that fails writes a line, too.
            "psycopg.pool": {"level": "ERROR"},
        },
    }


def gunicorn_logging() -> dict[str, Any]:
    """Gunicorn's own messages and its line for each request as JSON."""
    handlers = {
        name: {"class": "logging.StreamHandler", "formatter": "json", "stream": f"ext://sys.{name}"}
        for name in ("stdout", "stderr")
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "kbsite.operations.logs.JsonFormatter"}},
        "handlers": handlers,
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "gunicorn.error": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
            "gunicorn.access": {"handlers": ["stdout"], "level": "INFO", "propagate": False},
        },
    }
