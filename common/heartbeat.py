"""Whether a worker runs: each says so in the cache while its loop turns."""

from __future__ import annotations

import logging
from typing import Any

from celery.signals import worker_ready
from django.core.cache import cache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

KEY = "worker"
# Seconds from one sign of life to the next, and from the last one to "no worker has answered".
INTERVAL, PATIENCE = 10, 40
_timers: list[Any] = []


def begin(sender: Any, **_signal: Any) -> None:
    """Give a sign of life now and every INTERVAL seconds, in the loop that takes messages.

    Not by Celery's own heartbeats, which a worker may be started without.
    """
    while _timers:  # the worker's connection was lost, and is there again
        _timers.pop().cancel()
    _beat()
    _timers.append(sender.timer.call_repeatedly(INTERVAL, _beat))


worker_ready.connect(begin)


def _beat() -> None:
    try:
        cache.set(KEY, 1, PATIENCE)
    except (RedisError, OSError) as error:
        logger.warning("The worker's sign of life was not stored: %s", type(error).__name__)


def answers() -> bool:
    """Whether any worker gave a sign of life within PATIENCE seconds; not without the cache."""
    try:
        return cache.get(KEY) is not None
    except (RedisError, OSError):
        return False
