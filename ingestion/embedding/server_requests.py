"""Requests to model servers: retries, and JSON answers from a chat model.

Retries use exponential backoff with full jitter, and the server's own Retry-After. The chat model
is asked over OpenAI's API, for work in the background only: a call takes seconds.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from common.circuit_breaker import retry_after
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
    """The number and the time of attempts. Clock, sleep and dice can be replaced."""

    attempts: int
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    draw: Callable[[], float] = random.random

    def call(self, attempt: Callable[[float], T], *, deadline: float) -> T:
        """Call `attempt(seconds left)` until it succeeds; return its result.

        Raises EmbeddingUnavailable after the last attempt, and at once when the next wait would
        end after `deadline` seconds: waiting in vain helps nobody.
        """
        end = self.clock() + deadline

        def is_last(state: RetryCallState) -> bool:
            late = self.clock() + state.upcoming_sleep >= end
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
    request = f" and asks to wait {wait:.0f} seconds" if failure.retry_after is not None else ""
    # The caller adds whether it will retry: the form of an address, for example, does not.
    message = f"The embedding server {failure}{request} (tried {tried})."
    raise EmbeddingUnavailable(message, failure.retry_after) from failure


def _failure(state: RetryCallState) -> TransientError:
    """The error of the attempt that has just failed."""
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, TransientError)
    return error


@dataclass(frozen=True, slots=True)
class ChatConfig:
    """A server and its model. `timeout` bounds one try, `deadline` all of them, in seconds."""

    model: str
    base_url: str | None = None
    api_key: str = ""
    timeout: float = 30.0
    deadline: float = 90.0
    attempts: int = 3


class NoAnswer(Exception):
    """The model gave no usable answer; the message says why, for people."""


def ask_for_json(
    config: ChatConfig, system: str, user: str, schema: dict[str, Any], *, most_tokens: int
) -> Any:
    """The model's JSON answer to `user`, which must follow `schema`, in at most `most_tokens`.

    Transient failures are tried again. Raises NoAnswer for a failure or an answer that is no JSON;
    whether it follows the schema is for the caller to check: not every server enforces it.
    """
    # Imported on first use, because it takes half a second.
    import openai

    client = openai.OpenAI(
        # The client requires a key; servers that need none ignore it.
        api_key=config.api_key or "none",
        base_url=config.base_url,
        max_retries=0,
    )

    def attempt(left: float) -> str:
        try:
            answer = client.chat.completions.create(
                model=config.model,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": True, "schema": schema},
                },
                max_completion_tokens=most_tokens,
                timeout=min(config.timeout, max(left, 0.001)),
            )
        except openai.APITimeoutError as error:
            raise TransientError("did not answer in time") from error
        except openai.APIConnectionError as error:
            raise TransientError("cannot be reached") from error
        except openai.APIStatusError as error:
            status = error.status_code
            if (status in TRANSIENT or status >= 500) and error.code != "insufficient_quota":
                wait = retry_after(error.response.headers.get("retry-after"))
                raise TransientError(f"answered with error {status}", wait) from error
            raise NoAnswer(f"The server refused the request (error {status}).") from error
        return answer.choices[0].message.content or "" if answer.choices else ""

    try:
        with client:
            text = Retries(config.attempts, time.sleep).call(attempt, deadline=config.deadline)
        return json.loads(text)
    except EmbeddingUnavailable as error:
        raise NoAnswer(str(error).replace("embedding server", "server")) from error
    except (ValueError, RecursionError, openai.OpenAIError) as error:
        raise NoAnswer(f"The answer of {config.model} is no JSON.") from error
