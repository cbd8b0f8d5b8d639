"""The language model that answers: `model_for`, `Model`, and what its calls are reserved for.

Each call is reserved against the budgets before it is sent and settled when it has ended, however
it ended: with its reply, a failure, a reader who leaves, or a task that is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from django.db import Error

from common import metrics
from common.database import in_thread
from search.answers import budgets
from search.answers.budgets import Payer, Spent
from search.answers.context_pieces import estimated_tokens
from search.answers.domain import AnswerParameters, Usage
from search.answers.generating.messages import Messages
from search.answers.generating.requests import ModelRequest, Progress, pieces
from search.answers.generating.server import (
    Server,
    configured,
    counted_tokens,
    model_name,
    remember_count,
    unavailable,
)
from search.errors import BudgetExceeded, ModelUnavailable

logger = logging.getLogger(__name__)

# Tokens of a message besides its text.
MESSAGE_TOKENS = 4
# Characters per token of a model's thoughts, whose text is not stored.
CHARACTERS_A_TOKEN = 4


def model_for(parameters: AnswerParameters, payer: Payer) -> Model | None:
    """The configured model for a payer; None without one, or if answers are not generated.

    Raises BudgetExceeded. A server that cannot name its models is no error here: the calls raise
    ModelUnavailable.
    """
    server = configured()
    if server is None:
        return None
    budgets.check(payer)
    try:
        return Model(server, parameters.model or model_name(server), parameters, payer)
    except ModelUnavailable as error:
        return Model(server, "", parameters, payer, failure=error)


@dataclass(eq=False)
class Model:
    """A chat model that answers for one payer. Its calls may run at once, in one event loop.

    `usage` is that of the calls that have ended; `finish` is the reason of the last end: "stop", or
    "length" for a reply that was cut at its longest.
    """

    server: Server
    name: str
    parameters: AnswerParameters
    payer: Payer
    failure: ModelUnavailable | None = None
    usage: Usage = field(default_factory=Usage)
    finish: str = ""

    @property
    def counted_tokens(self) -> float:
        """The model's tokens for each estimated token."""
        return counted_tokens(self.server, self.name)

    async def stream(self, messages: Messages, *, purpose: str) -> AsyncGenerator[str]:
        """The pieces of the reply as they come. Close it (`aclosing`) to stop the model.

        Raises ModelUnavailable, also after some pieces, and BudgetExceeded before the first.
        """
        parameters = self.parameters
        request = ModelRequest(self.name, messages, parameters.max_tokens, parameters.temperature)
        async with aclosing(self._call(request, purpose)) as reply:
            async for piece in reply:
                yield piece

    async def complete(
        self, messages: Messages, *, purpose: str, max_tokens: int, json: bool = False
    ) -> str:
        """The whole reply, at temperature 0. Raises ModelUnavailable and BudgetExceeded."""
        request = ModelRequest(self.name, messages, max_tokens, 0.0, json)
        async with aclosing(self._call(request, purpose)) as reply:
            return "".join([piece async for piece in reply])

    async def _call(self, request: ModelRequest, purpose: str) -> AsyncGenerator[str]:
        if self.failure is not None:
            raise ModelUnavailable(self.failure.code, str(self.failure))
        prompt = prompt_tokens(request.messages)
        call = await self._reserve(purpose, prompt, request.max_tokens)
        started, progress, error = time.monotonic(), Progress(), ""
        written: list[str] = []
        try:
            async with aclosing(pieces(self.server, request, self.parameters, progress)) as reply:
                async for piece in reply:
                    written.append(piece)
                    yield piece
        except ModelUnavailable as failure:
            error = failure.code
            raise
        except (GeneratorExit, asyncio.CancelledError):
            error = "stopped"
            raise
        except BaseException:
            error = "error"
            raise
        finally:
            if progress.usage is not None:
                remember_count(self.server, self.name, prompt, progress.usage.prompt_tokens)
            usage = progress.usage or _estimate(progress, prompt, "".join(written))
            milliseconds = (time.monotonic() - started) * 1000
            spent = Spent(usage, milliseconds, progress.first_token_ms, error)
            self.finish = progress.finish
            # A task that is cancelled again must not leave the reservation behind.
            await asyncio.shield(self._settle(call, spent, purpose))

    async def _reserve(self, purpose: str, prompt: int, most: int) -> int:
        reserving = asyncio.ensure_future(
            in_thread(
                lambda: budgets.reserve(
                    self.payer, purpose=purpose, model=self.name, prompt=prompt, most=most
                )
            )
        )
        try:
            return await asyncio.shield(reserving)
        except asyncio.CancelledError:
            await asyncio.shield(self._give_back(reserving))
            raise
        except Error as error:  # unrecorded calls would escape the budgets
            logger.exception("A call of the language model could not be recorded.")
            raise unavailable("not_recorded") from error

    async def _give_back(self, reserving: asyncio.Future[int]) -> None:
        """Settle a reservation whose request was never sent."""
        try:
            call = await reserving
        except (BudgetExceeded, Error):
            return
        await self._settle(call, Spent(Usage(), 0.0, error="stopped"), "unsent")

    async def _settle(self, call: int, spent: Spent, purpose: str) -> None:
        try:
            usage = await in_thread(lambda: budgets.settle(call, spent))
        except Error:  # the answer is there; the reservation counts until `settle_stale` closes it
            logger.exception("A call of the language model could not be settled.")
            usage = spent.usage
        metrics.count_usage(purpose, usage.prompt_tokens, usage.completion_tokens, usage.cost)
        metrics.observe(
            metrics.MODEL_SECONDS,
            spent.milliseconds / 1000,
            purpose=purpose,
            outcome=spent.error or "ok",
        )
        self.usage += usage  # no await in between: calls may end at once


def prompt_tokens(messages: Messages) -> int:
    """The estimated tokens of a prompt."""
    return sum(estimated_tokens(each["content"]) + MESSAGE_TOKENS for each in messages)


def _estimate(progress: Progress, prompt: int, written: str) -> Usage:
    """The usage of a call that its server did not count; zero if the server never accepted it."""
    if not progress.was_sent:
        return Usage()
    completion = estimated_tokens(written) + progress.hidden // CHARACTERS_A_TOKEN
    return Usage(prompt, completion, estimated=True)
