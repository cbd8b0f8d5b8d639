"""Trying again: exponential backoff with full jitter, and the server's own Retry-After."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from ingestion.errors import EmbeddingUnavailable

T = TypeVar("T")

FIRST_WAIT = 0.5  # seconds; doubled each time, as the openai client does
LONGEST_WAIT = 30.0  # a guess
# Statuses: 408 and 409 as in the openai client; 425 and 429 call for a retry by definition.
TRANSIENT = frozenset({408, 409, 425, 429})


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

        def is_last(state: RetryCallState) -> bool:
            late = self.clock() + state.upcoming_sleep >= end or state.upcoming_sleep > patience
            return late or state.attempt_number >= self.attempts

        retrying = Retrying(
            retry=retry_if_exception_type(TransientError),
            wait=self._wait,
            stop=is_last,
            sleep=self.sleep,
            retry_error_callback=_give_up,
        )
        return retrying(lambda: attempt(end - self.clock()))

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next attempt.

        Full jitter (Brooker, AWS Architecture Blog, 2015), so that workers turned away together do
        not come back together; on top of the time that the server named, if it named one.
        """
        failure = _failure(state)
        if failure.retry_after is not None:
            return failure.retry_after + self.draw() * FIRST_WAIT
        return self.draw() * float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (state.attempt_number - 1)))


def _give_up(state: RetryCallState) -> None:
    """Raise EmbeddingUnavailable for the last attempt's error."""
    failure, number, wait = _failure(state), state.attempt_number, state.upcoming_sleep
    tried = "once" if number == 1 else f"{number} times"
    asked = f" and asks to wait {wait:.0f} seconds" if failure.retry_after is not None else ""
    # Who tries again, and when, is the caller's to say: a form that asks for an address does not.
    message = f"The embedding server {failure}{asked} (tried {tried})."
    raise EmbeddingUnavailable(message, failure.retry_after) from failure


def _failure(state: RetryCallState) -> TransientError:
    """The error of the attempt that has just failed."""
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, TransientError)
    return error
