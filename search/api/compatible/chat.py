"""POST /v1/chat/completions: an answer of this site as a chat completion, whole or streamed."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from search.analytics.visitors import is_recorded, visitor_of
from search.answers import answering
from search.answers.budgets import budget_key
from search.answers.domain import Answered, Context, Done, Event, Failed, Sources, Token, Usage
from search.answers.rendering import plain_line
from search.answers.request import AnswerRequest
from search.answers.streaming import code_and_message, frame, stream
from search.answers.wire import passage_url, supported_share
from search.api.compatible.base import AnsweringView, fields_of, shaped
from search.api.compatible.requests import ChatRequest, read_chat
from search.retrieval import Filters

# A second search replaced the sources: what was sent cannot be taken back, and so is set apart.
BREAK = "\n\n---\n\n"
# `]` before a parenthesis is a link already.
_MARKER = re.compile(r"\[(\d{1,4})\](?!\()")
Absolute = Callable[[str], str]


class ChatCompletionsView(AnsweringView):
    """Answers as chat completions."""

    def post(self, request: Request) -> HttpResponseBase:
        """Answer the last message of the user."""
        chat = read_chat(fields_of(request), request.user)
        question = _answer_request(chat, request)
        reply = _Reply(chat, Links(request.build_absolute_uri))
        if chat.is_streamed:
            return stream(reply.frames(answering.events(question)), failed=_failed)
        return Response(reply.whole(answering.answer(question)))


def _answer_request(chat: ChatRequest, request: Request) -> AnswerRequest:
    collection = chat.model.collection
    return AnswerRequest(
        question=chat.question,
        viewer=request.user,
        visitor=visitor_of(request).key,
        budget_key=budget_key(request),
        mode=chat.model.mode,
        filters=Filters(collections=(collection,) if collection else ()),
        channel="chat",
        is_recorded=is_recorded(request),
        earlier=chat.earlier,
    )


def _failed(error: Exception) -> str:
    code, message = code_and_message(error)
    return frame("", shaped(code, message, 500))


@dataclass
class _Reply:
    """A completion in the making."""

    chat: ChatRequest
    links: Links
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, answer: Answered) -> dict[str, Any]:
        """The completion of an answer that is complete."""
        self.links.read(answer.context)
        content = self.links.add(answer.text) + self.links.add(_notice(answer))
        message = {
            "role": "assistant",
            "content": content,
            "refusal": None,
            "annotations": self.links.annotations,
        }
        reason = _finish(answer)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(answer.usage),
            **self._own(answer),
        }

    async def frames(self, events: AsyncIterator[Event]) -> AsyncGenerator[str]:
        """The chunks of an answer as it is written."""
        is_begun = False
        async with aclosing(cast("AsyncGenerator[Event]", events)) as told_of:
            async for event in told_of:
                if not is_begun:
                    is_begun = True
                    yield self._chunk({"role": "assistant", "content": "", "refusal": None})
                for each in self._frames_of(event):
                    yield each

    def _frames_of(self, event: Event) -> list[str]:
        match event:
            case Sources(context):
                self.links.read(context)
                if not self.links.has_text:
                    return []
                return [self._chunk({"content": self.links.add(BREAK)})]
            case Token(text) if text:
                return [self._chunk({"content": self.links.add(text)})]
            case Done(answer):
                return self._end(answer)
            case Failed(code, message, _):
                return [frame("", shaped(code, message, 500))]
            case _:
                return []

    def _end(self, answer: Answered) -> list[str]:
        delta = {"annotations": self.links.annotations} if self.links.annotations else {}
        ends = [self._chunk(delta, _finish(answer), self._own(answer))]
        if notice := _notice(answer):
            ends.insert(0, self._chunk({"content": self.links.add(notice)}))
        if self.chat.counts_usage:
            usage = {"choices": [], "usage": _usage(answer.usage)}
            ends.append(frame("", self._head("chat.completion.chunk") | usage))
        return [*ends, "data: [DONE]\n\n"]

    def _chunk(
        self, delta: dict[str, Any], reason: str | None = None, own: dict[str, Any] | None = None
    ) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        counted = {"usage": None} if self.chat.counts_usage else {}
        head = self._head("chat.completion.chunk")
        return frame("", {**head, "choices": [choice], **counted, **(own or {})})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.chat.model.name,
            "system_fingerprint": "steelyard",
        }

    def _own(self, answer: Answered) -> dict[str, Any]:
        """What OpenAI's shape has no place for; its clients keep unknown fields."""
        return {
            "citations": self.links.urls,
            "steelyard": {
                "answer": answer.id,
                "state": answer.state.value,
                "mode": answer.mode.value,
                "searched_for": answer.searched_for,
                "confidence": answer.confidence,
                "supported": supported_share(answer.sentences),
                "degraded": list(answer.degraded),
                "notes": list(answer.notes),
            },
        }


def _finish(answer: Answered) -> str:
    return "length" if answer.is_cut else "stop"


def _notice(answer: Answered) -> str:
    """Why no model wrote the answer, or not all of it: most clients show the content alone."""
    if not answer.notes or (answer.model and not answer.degraded):
        return ""
    return f"\n\n*{plain_line(answer.notes[0])}*"


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


class Links:
    """The text sent so far, its citations as links, and their annotations.

    `[1]` becomes `[1](https://kb.example.org/documents/...)`. Most clients show Markdown and ignore
    annotations; those that read annotations find the same link by its offsets, in code points.
    """

    def __init__(self, absolute: Absolute) -> None:
        self._absolute = absolute
        self._context = Context()
        self._length = 0
        self.annotations: list[dict[str, Any]] = []

    @property
    def has_text(self) -> bool:
        return self._length > 0

    def read(self, context: Context) -> None:
        """From now on, markers name the passages of this context."""
        self._context = context

    @property
    def urls(self) -> list[str]:
        """The address of each source: that of source 1 first."""
        return [self._absolute(passage_url(each)) for each in self._context.passages]

    def add(self, text: str) -> str:
        """The text with links, as it follows what was sent."""
        parts: list[str] = []
        last = 0
        for marker in _MARKER.finditer(text):
            passage = self._context.passage(int(marker[1]))
            if passage is None:
                continue
            self._take(parts, text[last : marker.start()])
            url = self._absolute(passage_url(passage))
            start = self._length
            self._take(parts, f"{marker[0]}({url})")
            self.annotations.append(
                {
                    "type": "url_citation",
                    "url_citation": {
                        "start_index": start,
                        "end_index": self._length,
                        "url": url,
                        "title": passage.title,
                    },
                }
            )
            last = marker.end()
        self._take(parts, text[last:])
        return "".join(parts)

    def _take(self, parts: list[str], text: str) -> None:
        parts.append(text)
        self._length += len(text)
