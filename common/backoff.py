"""How long to wait: exponential backoff, Retry-After headers, and whether a reader waits."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from redis.exceptions import ConnectionError as RedisConnectionError

# Between a job's attempts: a provider's outage lasts minutes, not milliseconds (a guess).
BASE, LONGEST = timedelta(seconds=5), timedelta(minutes=10)
LONGEST_ASKED = 3600.0  # seconds; longer requests are cut to this (a guess)
# Seconds for a request that no reader waits for: those of measurements. A guess.
PATIENCE = 60.0
_patience: ContextVar[float | None] = ContextVar("patience", default=None)


@contextmanager
def patiently() -> Iterator[None]:
    """Search without the time limits of readers: a figure must not depend on the machine's load."""
    token = _patience.set(PATIENCE)
    try:
        yield
    finally:
        _patience.reset(token)


def patience() -> float | None:
    """The seconds for a request inside `patiently`; None while a reader waits."""
    return _patience.get()


def pause(attempts: int, asked: float | None = None, *, longest: timedelta = LONGEST) -> timedelta:
    """The pause after `attempts` attempts: 5 seconds, doubling up to `longest`.

    At least the `asked` seconds of a server, up to an hour.
    """
    doubled: timedelta = min(BASE * 2 ** min(attempts, 10), longest)
    return max(doubled, timedelta(seconds=min(asked or 0.0, LONGEST_ASKED)))


def retry_after(header: str | None) -> float | None:
    """The seconds in a Retry-After header, given as a number or a date (RFC 9110, 10.2.3).

    0 for a date in the past; None for a missing or invalid header.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except (ValueError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


class CircuitOpen(RedisConnectionError):
    """Redis failed a moment ago and was not asked."""


class CircuitBreaker:
    """Whether a server is left alone because it failed within the last `seconds`.

    One that hangs costs a time-out; without this, each use in a row would.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the server is not to be asked."""
        return time.monotonic() < self._until

    def trip(self) -> None:
        """Note a failure."""
        self._until = time.monotonic() + self._seconds


# Broker and cache, which are one server as a rule. A guess: one request waits in so many seconds.
REDIS = CircuitBreaker(seconds=5)
