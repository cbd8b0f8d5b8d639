"""Trying again: exponential backoff with full jitter, and the server's own Retry-After."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TypeVar

from ingestion.errors import EmbeddingUnavailable

T = TypeVar("T")

FIRST_WAIT = 0.5  # seconds; doubled each time, as the openai client does
LONGEST_WAIT = 30.0  # a guess


class TransientError(Exception):
    """An attempt failed in a way that may pass. `str(error)` is a clause for people."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long to try. The clock, the sleep and the dice can be replaced."""

    attempts: int
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    draw: Callable[[], float] = random.random

    def call(
        self, attempt: Callable[[float], T], *, deadline: float, patience: float = float("inf")
    ) -> T:
        """What `attempt(seconds left)` returned in the end.

        Raises EmbeddingUnavailable after the last attempt, and at once when the next wait would
        end after `deadline` seconds, or take over `patience`: waiting in vain helps nobody.
        """
        end = self.clock() + deadline
        for number in count(1):
            try:
                return attempt(end - self.clock())
            except TransientError as failure:
                wait = self._wait(number, failure.retry_after)
                late = self.clock() + wait >= end or wait > patience
                if number >= self.attempts or late:
                    message = _message(failure, number, wait)
                    raise EmbeddingUnavailable(message, failure.retry_after) from failure
                self.sleep(wait)
        raise AssertionError("count() does not end")

    def _wait(self, number: int, retry_after: float | None) -> float:
        """Seconds before attempt `number` + 1.

        Full jitter (Brooker, AWS Architecture Blog, 2015), so that workers turned away together do
        not come back together; on top of the time that the server named, if it named one.
        """
        if retry_after is not None:
            return retry_after + self.draw() * FIRST_WAIT
        return self.draw() * float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (number - 1)))


def retry_after(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, given in seconds or as a date; None without."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    # "nan" is a float too, and compares as false.
    return max(seconds, 0.0) if seconds == seconds else None


def _message(failure: TransientError, number: int, wait: float) -> str:
    tried = "once" if number == 1 else f"{number} times"
    asked = f" and asks to wait {wait:.0f} seconds" if failure.retry_after is not None else ""
    return f"The embedding server {failure}{asked} (tried {tried}). It will be tried again later."
