"""Clients of servers with OpenAI's API: how long they wait, and what they repeat.

The `openai` package repeats what failed (connections, 408, 409, 429 and 5xx) after growing pauses.
These clients tell it which repetitions would be in vain, or would be paid for twice. The package is
imported on first use, because it takes half a second.
"""

from __future__ import annotations

import json
import ssl
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2

from common.circuit_breaker import PerProcess
from common.retries import retry_after

if TYPE_CHECKING:
    import openai

# Seconds to open a connection, of which there is no trace at the provider. A guess.
CONNECT_TIMEOUT = 5.0
# Failures of a connection on which nothing can have been sent.
BEFORE_SENDING = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)

# Loading the system's certificates takes longer than all the rest of a client.
_tls: PerProcess[ssl.SSLContext] = PerProcess(httpx2.create_ssl_context)


def connect(
    base_url: str | None, api_key: str, *, timeout: float, retries: int, longest_pause: float
) -> openai.OpenAI:
    """A client that gives up after `timeout` seconds without a byte, and does not repeat that.

    Nor what failed with a Retry-After above `longest_pause` seconds.
    """
    import openai

    return openai.OpenAI(
        api_key=api_key or "none",  # the client requires one; servers that need none ignore it
        base_url=base_url,
        max_retries=retries,
        timeout=timeout,
        http_client=_Http(verify=_tls.get(), **_options(_read, longest_pause)),
    )


def connect_async(
    base_url: str, api_key: str, *, retries: int, longest_pause: float
) -> openai.AsyncOpenAI:
    """A client for one event loop, to be closed, whose caller limits the time of a reply.

    It repeats no request that may have reached the model: the provider may charge for the prompt.
    """
    import openai

    return openai.AsyncOpenAI(
        api_key=api_key or "none",
        base_url=base_url,
        max_retries=retries,
        timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT),
        http_client=_AsyncHttp(verify=_tls.get(), **_options(_read_async, longest_pause)),
    )


def reason(error: openai.APIStatusError) -> str:
    """The server's own reason for a refusal, on one short line."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return " ".join(str(message or "no reason given").split())[:200]


class NoAnswer(Exception):
    """The model gave no usable answer; the message says why, for people."""


def ask_for_json(
    client: openai.OpenAI,
    model: str,
    system: str,
    user: str,
    schema: dict[str, Any],
    *,
    most_tokens: int,
) -> Any:
    """The model's JSON answer to `user`, of at most `most_tokens`. Raises NoAnswer.

    Whether it follows the schema is for the caller to check: not every server enforces it.
    """
    import openai

    try:
        answer = client.chat.completions.create(
            model=model,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            },
            max_completion_tokens=most_tokens,
        )
        return json.loads(answer.choices[0].message.content or "")
    except openai.APITimeoutError as error:
        raise NoAnswer("The server did not answer in time.") from error
    except openai.APIConnectionError as error:
        raise NoAnswer("The server cannot be reached.") from error
    except openai.APIStatusError as error:
        raise NoAnswer(f"The server answered with error {error.status_code}.") from error
    except (ValueError, LookupError, TypeError, RecursionError, openai.OpenAIError) as error:
        raise NoAnswer(f"The answer of {model} is no JSON.") from error


class _Http(httpx2.Client):
    """Passes a time-out on as an error of `openai`, which is not repeated: the time is used up."""

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return super().send(request, **options)
        except (httpx2.ReadTimeout, httpx2.WriteTimeout) as error:
            import openai

            raise openai.APITimeoutError(request) from error


class _AsyncHttp(httpx2.AsyncClient):
    """Passes all failures after the connection on as an error of `openai`: none is repeated."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, **options)
        except BEFORE_SENDING:
            raise
        except Exception as error:
            import openai

            raise openai.APIConnectionError(request=request) from error


def _options(read: Any, longest_pause: float) -> dict[str, Any]:
    return {
        "follow_redirects": True,
        "event_hooks": {"response": [partial(read, longest_pause)]},
    }


def _read(longest_pause: float, response: httpx2.Response) -> None:
    if response.is_error:
        response.read()
        _stop_retries(longest_pause, response)


async def _read_async(longest_pause: float, response: httpx2.Response) -> None:
    if response.is_error:
        await response.aread()
        _stop_retries(longest_pause, response)


def _stop_retries(longest_pause: float, response: httpx2.Response) -> None:
    """Tell the client not to repeat what waiting does not resolve, or not soon."""
    pause = retry_after(response.headers.get("retry-after")) or 0
    if pause > longest_pause or b'"insufficient_quota"' in response.content:
        response.headers["x-should-retry"] = "false"
