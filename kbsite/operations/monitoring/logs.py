"""The configuration of logging: lines for people, or JSON for programs.

Named by the settings, so this imports nothing that needs them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from common.observing import tracing
from kbsite.operations.monitoring import discretion

APPS = ("kbsite", "common", "ingestion", "search")
FORMATS = ("line", "json")


class LineFormatter(logging.Formatter):
    """A line a record, with the ids of the work that it is about."""

    def format(self, record: logging.LogRecord) -> str:
        line, newline, rest = super().format(discretion.discreet(record)).partition("\n")
        ids = " ".join(f"{name}={each}" for name, each in tracing.current().items())
        return f"{line} [{ids}]{newline}{rest}" if ids else line + newline + rest


class JsonFormatter(structlog.stdlib.ProcessorFormatter):
    """structlog's formatter, for records without what they must not quote."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(discretion.discreet(record))


def json_formatter() -> logging.Formatter:
    """A formatter that writes one JSON object a line, with the ids and the trace of the work."""
    before: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_process,
    ]
    after: list[Any] = [
        _add_exception,
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]
    return JsonFormatter(processors=after, foreign_pre_chain=before)


def _add_process(logger: WrappedLogger, method: str, event: EventDict) -> Mapping[str, Any]:
    record: logging.LogRecord = event["_record"]
    event["process"] = record.process
    if trace := tracing.current_trace():
        event["trace_id"] = trace
    return event


def _add_exception(logger: WrappedLogger, method: str, event: EventDict) -> Mapping[str, Any]:
    """The traceback that `discretion` has written already."""
    written = getattr(event["_record"], discretion.TRACEBACK, "")
    if written:
        event["exception"] = written
    return event


def logging_of(form: str, level: str) -> dict[str, Any]:
    """The `LOGGING` of the settings; an unknown form writes lines (`check` reports it)."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": "kbsite.operations.monitoring.logs.LineFormatter",
                "format": "{levelname:<7} {name}: {message}",
                "style": "{",
            },
            "json": {"()": "kbsite.operations.monitoring.logs.json_formatter"},
        },
        "filters": {"brief": {"()": "kbsite.serving.outages.Brief"}},
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
            # Each attempt to connect is a warning: serving.outages writes one line an outage.
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
        "formatters": {"json": {"()": "kbsite.operations.monitoring.logs.json_formatter"}},
        "handlers": handlers,
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "gunicorn.error": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
            "gunicorn.access": {"handlers": ["stdout"], "level": "INFO", "propagate": False},
        },
    }
