"""A language model that follows a script, for tests of how its answers are used.

The protocol of real servers is tested over HTTP: see `tests.support.fake_chat`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence

from asgiref.sync import sync_to_async

from search.answers.domain import Usage

Piece = str | Exception | Callable[[], object]
ONE_CALL = Usage(100, 20, 0.01)


class ScriptedModel:
    """`answers` are streamed one after the other; `replies` complete the calls of a purpose.

    An exception among the pieces is raised there, a function is called. `calls` are the purposes
    of all calls, `prompts` their messages; `closed` counts the streams that ended, however.
    `meanwhile` is called during each call that is not streamed.
    """

    name = "scripted"
    finish = "stop"
    counted_tokens = 1.0

    def __init__(self, *answers: Sequence[Piece] | str, **replies: str | Exception) -> None:
        self.usage = Usage()
        self.calls: list[str] = []
        self.prompts: list[str] = []
        self.closed = 0
        self.meanwhile: Callable[[], object] = lambda: None
        self._answers = list(answers)
        self._replies = replies

    async def stream(self, messages: list[dict[str, str]], *, purpose: str) -> AsyncGenerator[str]:
        self._called(messages, purpose)
        pieces = self._answers.pop(0)
        try:
            for piece in [pieces] if isinstance(pieces, str) else pieces:
                if isinstance(piece, Exception):
                    raise piece
                if isinstance(piece, str):
                    yield piece
                else:
                    await sync_to_async(piece)()  # may ask the database
        finally:
            self.closed += 1

    async def complete(
        self, messages: list[dict[str, str]], *, purpose: str, max_tokens: int, json: bool = False
    ) -> str:
        self._called(messages, purpose)
        await sync_to_async(self.meanwhile)()
        reply = self._replies[purpose]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _called(self, messages: list[dict[str, str]], purpose: str) -> None:
        self.calls.append(purpose)
        self.prompts.append("\n".join(each["content"] for each in messages))
        self.usage += ONE_CALL
