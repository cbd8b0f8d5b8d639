"""Password hashing that searchers do not notice: one hash at a time in each process.

A hash takes a tenth of a second of one core on purpose. Eight attempts to sign in at once took
the cores from eight searches. Here a thread of its own, which yields to the others, hashes one
password after another; whoever comes when several wait already is refused at once.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.utils.translation import gettext

from common.errors import UserError

# Hashed and waiting together. Each holds one of the process' threads (WEB_THREADS, 8 by default),
# the last for about a second: a guess at what leaves enough for searches.
MOST_AT_ONCE = 4
RETRY_AFTER = 3  # seconds
# Of 19: the thread runs when others leave time, and still does if they leave little.
NICENESS = 10

_places = threading.BoundedSemaphore(MOST_AT_ONCE)


class PasswordsBusy(UserError):
    """Too many passwords are being checked at this moment."""

    code = "busy"
    retry_after = RETRY_AFTER

    def __init__(self) -> None:
        super().__init__(
            gettext(
                "Too many people are signing in at this moment. Try again in %(seconds)d seconds."
            )
            % {"seconds": RETRY_AFTER}
        )


class QueuedPasswordHasher(PBKDF2PasswordHasher):
    """Django's own hasher, in the queue. Raises PasswordsBusy when the queue is full."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        return _queued(partial(super().encode, password, salt, iterations))


def _queued(work: Callable[[], str]) -> str:
    if not _places.acquire(blocking=False):
        raise PasswordsBusy
    try:
        return _thread(os.getpid()).submit(work).result()
    finally:
        _places.release()


@cache
def _thread(process: int) -> ThreadPoolExecutor:
    """The hashing thread of this process; a forked process does not inherit threads."""
    return ThreadPoolExecutor(1, thread_name_prefix="passwords", initializer=_yield_to_others)


def _yield_to_others() -> None:
    # On Linux the niceness is a thread's own; elsewhere it would be the whole process'.
    if hasattr(os, "sched_getaffinity"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
