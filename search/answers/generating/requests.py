"""One request to a chat model: its time limits, its retries, and the pieces of its reply."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ingestion.embedding.openai_client import BEFORE_SENDING, connect_async
from search.answers.domain import AnswerParameters, Usage
from search.answers.generating.messages import Thoughts
from search.answers.generating.server import (
    Server,
    refused_by,
    refused_parameters,
    remember_refused,
    reported,
    timed_out,
    unavailable,
)
from search.errors import ModelUnavailable

if TYPE_CHECKING:
    import openai

logger = logging.getLogger(__name__)
T = TypeVar("T")

# Repetitions before the first piece, for failures that cost nothing, and the longest Retry-After in
# seconds for which a reader waits (a guess).
RETRIES, LONGEST_PAUSE = 2, 2.0
# Parameters without which a request still makes sense; some servers and models refuse them.
OPTIONAL = ("stream_options", "temperature", "max_tokens", "response_format")
CHARACTERS_PER_TOKEN = 8  # no tokenizer has longer ones on average; a longer reply is cut


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to the model."""

    model: str
    messages: list[dict[str, str]]
    max_tokens: int
    temperature: float
    json: bool = False

    def parameters(self, refused: frozenset[str]) -> dict[str, Any]:
        """The parameters of the API, without those that the server refused."""
        options: dict[str, Any] = {
            "stream_options": {"include_usage": True},
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        if self.json:
            options["response_format"] = {"type": "json_object"}
        if "max_tokens" in refused:
            options["max_completion_tokens"] = self.max_tokens
        accepted = {name: value for name, value in options.items() if name not in refused}
        return {"model": self.model, "messages": self.messages, "stream": True, **accepted}


@dataclass(slots=True)
class Progress:
    """The state of a request, which its caller reads however it ended.

    `was_sent`: the provider may charge for the prompt. `characters` are those of the answer,
    `hidden` those of the model's thoughts. `usage` is the server's own count.
    """

    was_sent: bool = False
    characters: int = 0
    hidden: int = 0
    usage: Usage | None = None
    finish: str = ""
    first_token_ms: float | None = None


async def pieces(
    server: Server, request: ModelRequest, limits: AnswerParameters, progress: Progress
) -> AsyncGenerator[str]:
    """The text of the reply as it comes. Raises ModelUnavailable, also after some of it.

    `limits` are the seconds to the first piece, between pieces, and in all.

    Closing the iterator closes the connection. The end of a reply that was cut at its longest is no
    error: `progress.finish` is then "length".
    """
    thoughts = Thoughts()
    async with connect_async(
        server.base_url, server.api_key, retries=RETRIES, longest_pause=LONGEST_PAUSE
    ) as client:
        clock = _Clock(limits)  # the first request of a process has loaded the client by now
        stream = await _opened(client, server, request, clock, progress)
        try:
            async with aclosing(_contents(stream, clock, progress)) as contents:
                async for content in contents:
                    text = thoughts.feed(content)
                    progress.hidden = max(progress.hidden, thoughts.hidden)
                    if not text:
                        continue
                    clock.has_begun = True
                    if progress.first_token_ms is None:
                        progress.first_token_ms = clock.milliseconds
                    progress.characters += len(text)
                    yield text
                    if progress.characters > request.max_tokens * CHARACTERS_PER_TOKEN:
                        progress.finish = "length"
                        return
        finally:
            await stream.close()
    rest = thoughts.close()
    progress.characters += len(rest)
    if rest:
        yield rest
    _check_end(progress)


class _Clock:
    """The moment at which waiting for the model ends."""

    def __init__(self, limits: AnswerParameters) -> None:
        self.has_begun = False
        self._limits = limits
        self._started = time.monotonic()

    @property
    def milliseconds(self) -> float:
        return (time.monotonic() - self._started) * 1000

    @property
    def left(self) -> float:
        """Seconds that the next wait may take."""
        passed = time.monotonic() - self._started
        limits = self._limits
        wait = limits.token_seconds if self.has_begun else limits.first_token_seconds - passed
        return min(wait, limits.total_seconds - passed)

    def over(self) -> ModelUnavailable:
        """The ModelUnavailable error for a wait that took too long."""
        limits = self._limits
        if time.monotonic() - self._started >= limits.total_seconds:
            return timed_out("total_timeout", limits.total_seconds)
        if self.has_begun:
            return timed_out("token_timeout", limits.token_seconds)
        return timed_out("first_token_timeout", limits.first_token_seconds)

    async def wait(self, work: Awaitable[T]) -> T:
        """The result of `work`. Raises ModelUnavailable if it takes too long."""
        try:
            async with asyncio.timeout(max(self.left, 0)):
                return await work
        except TimeoutError as error:
            raise self.over() from error


async def _opened(
    client: openai.AsyncOpenAI,
    server: Server,
    request: ModelRequest,
    clock: _Clock,
    progress: Progress,
) -> openai.AsyncStream[Any]:
    """The stream of the reply, without parameters that the server refuses."""
    import openai

    known = refused = refused_parameters(server, request.model)
    progress.was_sent = True
    while True:
        try:
            work = client.chat.completions.create(**request.parameters(refused))
            stream: openai.AsyncStream[Any] = await clock.wait(work)
        except openai.APIConnectionError as error:
            progress.was_sent = not isinstance(error.__cause__, BEFORE_SENDING)
            raise unavailable("cut" if progress.was_sent else "not_reached") from error
        except openai.APIStatusError as error:
            further = _refused_parameter(error, request.parameters(refused))
            if not further:
                progress.was_sent = False
                raise refused_by(error) from error
            refused |= {further}
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise unavailable("malformed") from error
        else:
            if refused != known:
                logger.info("%s refuses %s.", request.model, ", ".join(sorted(refused)))
                remember_refused(server, request.model, refused)
            return stream


def _refused_parameter(error: openai.APIStatusError, parameters: dict[str, Any]) -> str:
    """The parameter to leave out after a refusal; empty if a retry makes no sense.

    The one that the server names; else `stream_options`, which the oldest servers do not know.
    """
    if error.status_code not in (400, 422):
        return ""
    reason = f"{error.param or ''} {error.message}"
    name_in_reason = next((name for name in OPTIONAL if name in parameters and name in reason), "")
    if name_in_reason or error.code is not None:
        return name_in_reason
    return "stream_options" if "stream_options" in parameters else ""


async def _contents(
    stream: openai.AsyncStream[Any], clock: _Clock, progress: Progress
) -> AsyncGenerator[str]:
    """Yield the contents of the events, each within its time limit. Raises ModelUnavailable."""
    import openai

    events = aiter(stream)
    while progress.finish != "refusal":
        try:
            content = _read(await clock.wait(anext(events)), progress)
        except StopAsyncIteration:
            return
        except openai.APIConnectionError as error:
            raise unavailable("cut") from error
        except openai.APIError as error:
            raise reported(error) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise unavailable("malformed") from error
        if content:
            yield content


def _read(event: Any, progress: Progress) -> str:
    """The content of an event; notes usage, thoughts and the reason of an end.

    Raises TypeError or AttributeError for a shape that the client's types do not promise.
    """
    usage = getattr(event, "usage", None)
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    if all(type(count) is int and count >= 0 for count in counts):
        progress.usage = Usage(*counts)  # type: ignore[arg-type]  # by the line above
    if not isinstance(event.choices, list):
        raise TypeError("choices")
    for choice in event.choices[:1]:
        progress.finish = str(getattr(choice, "finish_reason", None) or progress.finish)
        delta = getattr(choice, "delta", None)
        if getattr(delta, "refusal", None):
            progress.finish = "refusal"
            break
        for name in ("reasoning_content", "reasoning"):
            progress.hidden += len(str(getattr(delta, name, None) or ""))
        return "" + (getattr(delta, "content", None) or "")
    return ""


def _check_end(progress: Progress) -> None:
    """Raise ModelUnavailable unless the reply came to its end."""
    ends = {"content_filter": "content_filter", "refusal": "declined", "": "cut"}
    code = ends.get(progress.finish, "")
    if not code and not progress.characters:
        code = "only_thoughts" if progress.hidden else "empty"
    if code:
        raise unavailable(code)
