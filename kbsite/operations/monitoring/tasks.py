"""Ids, metrics and spans of background tasks, which continue those of what enqueued them."""

from __future__ import annotations

import time
from contextlib import ExitStack
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

from common.observing import metrics, tracing

# The header of a message: the ids and the trace of the work that sent it.
HEADER = "steelyard"
_running: dict[str, tuple[ExitStack, float]] = {}
_worker = "worker"


@celeryd_init.connect
def name_worker(sender: str = "", **_signal: Any) -> None:
    """Remember the worker's name before its host: its processes are counted under it."""
    global _worker
    _worker = str(sender).partition("@")[0] or _worker


@worker_process_init.connect
def count_worker(**_signal: Any) -> None:
    _begin(_worker)


@beat_init.connect
def count_beat(**_signal: Any) -> None:
    _begin("beat")


def _begin(program: str) -> None:
    from kbsite.operations.monitoring import (
        traces,  # the settings are not loaded when this module is
    )

    traces.begin(program)


@setup_logging.connect
def keep_logging(loglevel: Any = "INFO", **_signal: Any) -> None:
    """Celery's messages go where the settings send all others.

    Without a receiver Celery would add a handler of its own, which writes no JSON.
    """
    import logging.config

    from django.conf import settings

    config = settings.LOGGING
    loggers = {**config["loggers"], "celery": {"level": loglevel or "INFO"}}
    logging.config.dictConfig({**config, "loggers": loggers})


@before_task_publish.connect
def send_along(sender: str = "", headers: Any = None, **_signal: Any) -> None:
    """Add the ids and the trace to the message."""
    if isinstance(headers, dict):
        ids = {name: each for name, each in tracing.current().items() if name != tracing.TASK}
        headers[HEADER] = {"ids": ids, "trace": tracing.carried()}
    metrics.count(metrics.TASKS_SENT, task=str(sender))


@task_prerun.connect
def begin(task_id: str = "", task: Any = None, **_signal: Any) -> None:
    """Continue the sender's ids and trace until the task ends."""
    header = getattr(task.request, HEADER, None) or {}
    ids = header.get("ids", {}) if isinstance(header, dict) else {}
    stack = ExitStack()
    stack.enter_context(tracing.bound(**{**ids, tracing.TASK: task_id}))
    within = header.get("trace") if isinstance(header, dict) else None
    stack.enter_context(tracing.span(task.name, role="task", within=within or {}))
    _running[task_id] = (stack, time.perf_counter())


@task_postrun.connect
def end(task_id: str = "", task: Any = None, state: str | None = None, **_signal: Any) -> None:
    stack, started = _running.pop(task_id, (None, 0.0))
    if stack is None:
        return
    outcome = "done" if state == "SUCCESS" else "failed"
    spent = time.perf_counter() - started
    metrics.observe(metrics.TASK_SECONDS, spent, task=task.name, outcome=outcome)
    stack.close()
