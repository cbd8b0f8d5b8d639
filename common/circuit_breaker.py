"""Calls of servers that may fail or hang: circuit breaker, and a pool with a time limit.

A call has a fallback at its caller; here it is made sure that the caller gets to use it in time.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from redis.exceptions import ConnectionError as RedisConnectionError

T = TypeVar("T")

_holders: weakref.WeakSet[PerProcess[Any]] = weakref.WeakSet()
# A forked child keeps inherited values alive: destroying sessions, sockets or pools joins threads
# that do not exist in the child, and would block forever.
_inherited: list[object] = []


class PerProcess(Generic[T]):
    """Holds one value per process; a forked child creates its own."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._values: list[T] = []
        _holders.add(self)

    def get(self) -> T:
        """The value, created by the first caller while others wait."""
        with self._lock:
            if not self._values:
                self._values.append(self._make())
            return self._values[0]

    def forget_inherited(self) -> None:
        """Abandon the parent's value and its lock, which another thread may have held."""
        _inherited.append(self._values)
        self._values = []
        self._lock = threading.Lock()


def _after_fork() -> None:
    for holder in list(_holders):
        holder.forget_inherited()


os.register_at_fork(after_in_child=_after_fork)


class TimedOut(Exception):
    """The call exceeded its time limit. `was_sent`: it was begun early enough to succeed."""

    def __init__(self, *, was_sent: bool) -> None:
        super().__init__("The call took over its time.")
        self.was_sent = was_sent


class TimeLimited:
    """Calls with a time limit, in at most `workers` threads of this process.

    A thread cannot be stopped: the number bounds those that a hanging server can occupy, and
    further calls wait for one, which counts against their time.
    """

    def __init__(self, name: str, workers: int) -> None:
        self._pool = PerProcess(lambda: ThreadPoolExecutor(workers, name))

    def call(self, work: Callable[[float], T], seconds: float) -> T:
        """The result of `work(seconds left)`. Raises TimedOut, or the exception of `work`.

        A call that has waited for a thread for more than half of its time is not begun: an answer
        would hardly be in time, and the others wait for the thread.
        """
        end = time.monotonic() + seconds

        def begin() -> T:
            left = end - time.monotonic()
            if left < seconds / 2:
                raise TimedOut(was_sent=False)
            return work(left)

        # With the context, so that the thread has the trace and the ids of the request.
        future = self._pool.get().submit(copy_context().run, begin)
        try:
            return future.result(timeout=seconds)
        except TimeoutError as late:
            if future.done():  # it may have finished at the last moment, or raised its own error
                return future.result()
            raise TimedOut(was_sent=not future.cancel()) from late


class CircuitBreaker:
    """Blocks calls of a server for a while after it has failed. Thread-safe.

    After `failures` failures in a row it is not called for `seconds`: one that hangs would cost
    each caller a time-out. Then a single caller tries, and the others wait for its outcome.
    """

    def __init__(
        self, seconds: float, failures: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._most, self._clock = seconds, failures, clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = float("-inf")

    @property
    def is_open(self) -> bool:
        """Whether calls of the server are blocked now."""
        return self.wait > 0

    @property
    def wait(self) -> float:
        """The seconds until the server may be called; 0: now."""
        return max(0.0, self._until - self._clock())

    def enter(self) -> float:
        """The seconds until the server may be called; 0: call it now, and report the outcome.

        After a pause only one of several callers gets 0.
        """
        with self._lock:
            wait = self.wait
            if not wait and self._failures >= self._most:
                self._until = self._clock() + self._seconds
            return wait

    def trip(self, pause: float = 0.0, *, is_final: bool = False) -> None:
        """Record a failure, with the `pause` in seconds that the server requested, if any.

        `is_final`: no attempt will succeed before something is changed.
        """
        with self._lock:
            self._failures = self._most if is_final else self._failures + 1
            if self._failures >= self._most:
                pause = max(pause, self._seconds)
            if pause:
                self._failures = max(self._failures, self._most)
                self._until = self._clock() + pause

    def reset(self) -> None:
        """Record a success: the server is called again, as if it had never failed."""
        with self._lock:
            self._failures, self._until = 0, float("-inf")


class CircuitOpen(RedisConnectionError):
    """Redis failed a moment ago and was not called."""


# Broker and cache, which are one server as a rule. A guess: one request waits in so many seconds.
REDIS = CircuitBreaker(seconds=5)
