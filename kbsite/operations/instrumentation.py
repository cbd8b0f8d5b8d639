"""Ids and metrics of requests and of background tasks.

`Site` gives a request its id before anything else sees it, for agents and for streams that go on
after their view; in Django's test client the middleware does. Tasks continue the ids of what
enqueued them.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun
from django.conf import settings
from django.http import HttpRequest

from common import log_ids, metrics

HEADER = "X-Request-ID"
# What another program may send as an id: it is written into log lines.
_VALID = re.compile(r"[A-Za-z0-9._:-]{8,64}")
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
    """The part of the site that the path belongs to; "pages" for what no other has."""
    return next((area for beginning, area in _AREAS if path.startswith(beginning)), "pages")


def request_id(header: str) -> str:
    """The request id sent by the site's own proxy, or a new one."""
    is_trusted = bool(settings.SECURE_PROXY_SSL_HEADER)
    return header if is_trusted and _VALID.fullmatch(header) else secrets.token_hex(16)


@contextmanager
def identified(scope: Mapping[str, Any], send: Send) -> Iterator[Send]:
    """Set the id of an ASGI request for the block; yields a `send` that adds it to the response."""
    header = next((each for name, each in scope["headers"] if name == b"x-request-id"), b"")
    identifier = request_id(header.decode("latin-1"))

    async def sending(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            name = HEADER.lower().encode()
            headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != name]
            message = {**message, "headers": [*headers, (name, identifier.encode())]}
        await send(message)

    with log_ids.bound(request_id=identifier):
        yield sending


def observe(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Set the id of a request, and count it. The first middleware of all."""

    def middleware(request: HttpRequest) -> Any:
        area, started = area_of(request.path_info), time.perf_counter()
        identifier = log_ids.current().get(log_ids.REQUEST) or request_id(
            request.headers.get(HEADER, "")
        )
        with log_ids.bound(request_id=identifier):
            response = get_response(request)
        response[HEADER] = identifier
        if request.path_info not in _UNCOUNTED:
            spent, status = time.perf_counter() - started, str(response.status_code)
            metrics.observe(metrics.REQUESTS, spent, area=area, status=status)
        return response

    return middleware


# The header of a message: the ids of the work that sent it.
TASK_HEADER = "steelyard"
_running: dict[str, tuple[ExitStack, float]] = {}


@setup_logging.connect
def keep_logging(loglevel: Any = "INFO", **_signal: Any) -> None:
    """Keep the logging of the settings for Celery's messages.

    Without a receiver Celery would add a handler of its own, which writes no JSON.
    """
    import logging.config

    config = settings.LOGGING
    loggers = {**config["loggers"], "celery": {"level": loglevel or "INFO"}}
    logging.config.dictConfig({**config, "loggers": loggers})


@before_task_publish.connect
def send_along(sender: str = "", headers: Any = None, **_signal: Any) -> None:
    """Add the ids to the message."""
    if isinstance(headers, dict):
        sent = {name: each for name, each in log_ids.current().items() if name != log_ids.TASK}
        headers[TASK_HEADER] = {"ids": sent}
    metrics.count(metrics.TASKS_SENT, task=str(sender))


@task_prerun.connect
def begin_task(task_id: str = "", task: Any = None, **_signal: Any) -> None:
    """Continue the sender's ids until the task ends."""
    header = getattr(task.request, TASK_HEADER, None) or {}
    sent = header.get("ids", {}) if isinstance(header, dict) else {}
    stack = ExitStack()
    stack.enter_context(log_ids.bound(**{**sent, log_ids.TASK: task_id}))
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
