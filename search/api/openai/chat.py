"""Answers of this site as OpenAI's chat completions, whole or streamed.

POST -> ChatRequest -> AnswerRequest -> events of the answer -> a Completion, or its frames
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.throttles import AnonymousAnswersThrottle, UserAnswersThrottle
from search.analytics.pseudonyms import is_recorded, visitor_of
from search.answers import answering
from search.answers.as_json import disagreements, not_current, supported_share
from search.answers.budgets import budget_key
from search.answers.domain import Answered, Done, Event, Failed, Sources, Token
from search.answers.rendering import plain_line
from search.answers.request import AnswerRequest
from search.answers.streaming import frame, stream
from search.api.openai.links import Links
from search.api.openai.protocol import CompatibleView, fields_of, shaped
from search.api.openai.requests import ChatRequest, read_chat
from search.retrieval import Filters

# A second search replaced the sources: sent text cannot be taken back, so it is set apart.
BREAK = "\n\n---\n\n"


@dataclass
class Completion:
    """Writes an answer as a chat completion, whole or as frames while it grows."""

    chat: ChatRequest
    links: Links
    number: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    async def frames(self, events: AsyncIterator[Event]) -> AsyncGenerator[str]:
        """The frames of an answer while it is written."""
        is_begun = False
        async with aclosing(cast("AsyncGenerator[Event]", events)) as stream:
            async for event in stream:
                if not is_begun:
                    yield self._chunk({"role": "assistant", "content": "", "refusal": None})
                is_begun = True
                for each in self._frames_of(event):
                    yield each

    def _frames_of(self, event: Event) -> Iterator[str]:
        match event:
            case Sources(context):
                self.links.read(context)
                if self.links.text:
                    yield from self._piece(BREAK)
            case Token(text) if text:
                yield from self._piece(text)
            case Done(answer):
                if notice := _notice(answer):
                    yield from self._piece(notice)
                yield from self._end(answer)
            case Failed(code, message, _):
                yield failed(code, message)

    def whole(self, answer: Answered) -> dict[str, Any]:
        """The body of an answer that is complete."""
        self.links.read(answer.context)
        self.links.add(answer.text + _notice(answer))
        return self._body(answer)

    def _own(self, answer: Answered) -> dict[str, Any]:
        """The fields without a place in OpenAI's shape; its clients keep unknown fields."""
        return {
            "citations": self.links.urls,
            "steelyard": {
                "answer": answer.id,
                "state": answer.state.value,
                "mode": answer.mode.value,
                "searched_for": answer.searched_for,
                "evidence": answer.evidence.value,
                "confidence": answer.confidence,
                "supported": supported_share(answer.sentences),
                "degraded": list(answer.degraded),
                "notes": list(answer.notes),
            },
        }

    def _piece(self, text: str) -> Iterator[str]:
        yield self._chunk({"content": self.links.add(text)})

    def _end(self, answer: Answered) -> Iterator[str]:
        delta = {"annotations": self._annotations(answer)} if self.links.citations else {}
        yield self._chunk(delta, _finish(answer), self._own(answer))
        if self.chat.counts_usage:
            usage = {"choices": [], "usage": _usage(answer)}
            yield frame("", self._head("chat.completion.chunk") | usage)
        yield "data: [DONE]\n\n"

    def _body(self, answer: Answered) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": self.links.text,
            "refusal": None,
            "annotations": self._annotations(answer),
        }
        reason = _finish(answer)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(answer),
            **self._own(answer),
        }

    def _annotations(self, answer: Answered) -> list[dict[str, Any]]:
        return [
            {"type": "url_citation", "url_citation": each}
            for each in self.links.annotations(answer)
        ]

    def _chunk(
        self, delta: dict[str, Any], reason: str | None = None, own: dict[str, Any] | None = None
    ) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        counted = {"usage": None} if self.chat.counts_usage else {}
        head = self._head("chat.completion.chunk")
        return frame("", {**head, "choices": [choice], **counted, **(own or {})})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.number}",
            "object": kind,
            "created": self.created,
            "model": self.chat.model.name,
            "system_fingerprint": "steelyard",
        }


def _finish(answer: Answered) -> str:
    return "length" if answer.is_cut else "stop"


def _notice(answer: Answered) -> str:
    """Why no model wrote all of it, sources that disagree or are outdated: clients may show
    content alone.
    """
    stale = (*disagreements(answer), *not_current(answer))
    why = answer.notes[:1] if answer.degraded or not answer.model else ()
    return "".join(f"\n\n*{plain_line(each)}*" for each in dict.fromkeys((*why, *stale)))


def _usage(answer: Answered) -> dict[str, Any]:
    usage = answer.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def failed(code: str, message: str) -> str:
    """The last frame of an answer that failed."""
    return frame("", shaped(code, message, 500))


class ChatCompletionsView(CompatibleView):
    """Answers as chat completions."""

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), AnonymousAnswersThrottle(), UserAnswersThrottle()]

    def post(self, request: Request) -> HttpResponseBase:
        """Answer the last message of the user."""
        chat = read_chat(fields_of(request), request.user)
        question = _answer_request(chat, request)
        completion = Completion(chat, Links(request.build_absolute_uri))
        if chat.is_streamed:
            frames = completion.frames(answering.events(question))
            return stream(frames, failed=lambda error: failed(*answering.code_and_message(error)))
        return Response(completion.whole(answering.answer(question)))


def _answer_request(chat: ChatRequest, request: Request) -> AnswerRequest:
    collection = chat.model.collection
    return AnswerRequest(
        question=chat.question,
        viewer=request.user,
        visitor=visitor_of(request),
        budget_key=budget_key(request),
        mode=chat.model.mode,
        filters=Filters(collections=(collection,) if collection else ()),
        channel="chat",
        is_recorded=is_recorded(request),
        earlier=chat.earlier,
        abstain_below=chat.abstain_below,
    )
