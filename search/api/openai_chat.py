"""Answers of this site as OpenAI's chat completions and responses, whole or streamed.

POST -> ChatRequest -> AnswerRequest -> events of the answer -> frames of a _Completion or _Reply
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from search.analytics.pseudonyms import is_recorded, visitor_of
from search.answers import answering
from search.answers.as_json import not_current, supported_share
from search.answers.budgets import budget_key
from search.answers.domain import Answered, Done, Event, Failed, Sources, Token
from search.answers.rendering import plain_line
from search.answers.request import AnswerRequest
from search.answers.streaming import code_and_message, frame, stream
from search.api.openai_protocol import AnsweringView, Links, fields_of, shaped
from search.api.openai_requests_and_models import ChatRequest, read_chat
from search.retrieval import Filters

# A second search replaced the sources: sent text cannot be taken back, so it is set apart.
BREAK = "\n\n---\n\n"


@dataclass
class Writer:
    """Writes an answer in the form of one of the protocols as it grows."""

    chat: ChatRequest
    links: Links
    number: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    async def frames(self, events: AsyncIterator[Event]) -> AsyncGenerator[str]:
        """The frames of an answer while it is written."""
        is_begun = False
        async with aclosing(cast("AsyncGenerator[Event]", events)) as stream:
            async for event in stream:
                for each in () if is_begun else self.begin():
                    yield each
                is_begun = True
                for each in self._frames_of(event):
                    yield each

    def _frames_of(self, event: Event) -> Iterator[str]:
        match event:
            case Sources(context):
                self.links.read(context)
                if self.links.text:
                    yield from self.piece(BREAK)
            case Token(text) if text:
                yield from self.piece(text)
            case Done(answer):
                if notice := _notice(answer):
                    yield from self.piece(notice)
                yield from self.end(answer)
            case Failed(code, message, _):
                yield self.failed(code, message)

    def begin(self) -> Iterator[str]:
        """The frames before the first text."""
        raise NotImplementedError

    def piece(self, text: str) -> Iterator[str]:
        """The frames of further text, whose markers become links."""
        raise NotImplementedError

    def end(self, answer: Answered) -> Iterator[str]:
        """The frames after the last text."""
        raise NotImplementedError

    def failed(self, code: str, message: str) -> str:
        """The last frame of an answer that failed."""
        return frame("", shaped(code, message, 500))

    def whole(self, answer: Answered) -> dict[str, Any]:
        """The body of an answer that is complete."""
        self.links.read(answer.context)
        self.links.add(answer.text + _notice(answer))
        return self.body(answer)

    def body(self, answer: Answered) -> dict[str, Any]:
        """The body of the answer whose text was read."""
        raise NotImplementedError

    def own(self, answer: Answered) -> dict[str, Any]:
        """The fields without a place in OpenAI's shape; its clients keep unknown fields."""
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


class Completion(Writer):
    """A chat completion."""

    def begin(self) -> Iterator[str]:
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})

    def piece(self, text: str) -> Iterator[str]:
        yield self._chunk({"content": self.links.add(text)})

    def end(self, answer: Answered) -> Iterator[str]:
        delta = {"annotations": self._annotations} if self.links.citations else {}
        yield self._chunk(delta, _finish(answer), self.own(answer))
        if self.chat.counts_usage:
            usage = {"choices": [], "usage": _usage(answer, "prompt", "completion")}
            yield frame("", self._head("chat.completion.chunk") | usage)
        yield "data: [DONE]\n\n"

    def body(self, answer: Answered) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": self.links.text,
            "refusal": None,
            "annotations": self._annotations,
        }
        reason = _finish(answer)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(answer, "prompt", "completion"),
            **self.own(answer),
        }

    @property
    def _annotations(self) -> list[dict[str, Any]]:
        return [{"type": "url_citation", "url_citation": each} for each in self.links.citations]

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


class Reply(Writer):
    """A response of one message of one text."""

    _sent = 0

    def begin(self) -> Iterator[str]:
        yield self._event("created", response=self._response("in_progress"))
        yield self._event("in_progress", response=self._response("in_progress"))
        yield self._event("output_item.added", output_index=0, item=self._item("in_progress"))
        yield self._event("content_part.added", **self._place, part=self._part)

    def piece(self, text: str) -> Iterator[str]:
        before = len(self.links.citations)
        added = self.links.add(text)
        yield self._event("output_text.delta", **self._place, delta=added, logprobs=[])
        for index, cited in enumerate(self._part["annotations"][before:], start=before):
            yield self._event(
                "output_text.annotation.added", **self._place,
                annotation_index=index, annotation=cited,
            )  # fmt: skip

    def end(self, answer: Answered) -> Iterator[str]:
        body = self.body(answer)
        yield self._event("output_text.done", **self._place, text=self.links.text, logprobs=[])
        yield self._event("content_part.done", **self._place, part=self._part)
        yield self._event("output_item.done", output_index=0, item=body["output"][0])
        yield self._event(body["status"], response=body)

    def failed(self, code: str, message: str) -> str:
        error = {"code": "server_error", "message": message, "steelyard": code}
        return self._event("failed", response={**self._response("failed"), "error": error})

    def body(self, answer: Answered) -> dict[str, Any]:
        status = "incomplete" if answer.is_cut else "completed"
        usage = _usage(answer, "input", "output")
        usage["input_tokens_details"] = {"cached_tokens": 0}
        usage["output_tokens_details"] = {"reasoning_tokens": 0}
        why = {"reason": "max_output_tokens"} if answer.is_cut else None
        whole = {"output": [self._item(status)], "usage": usage, "incomplete_details": why}
        return {**self._response(status), **whole, **self.own(answer)}

    @property
    def _part(self) -> dict[str, Any]:
        cited = [{"type": "url_citation", **each} for each in self.links.citations]
        text = self.links.text
        return {"type": "output_text", "text": text, "annotations": cited, "logprobs": []}

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": f"msg_{self.number}", "output_index": 0, "content_index": 0}

    def _item(self, status: str) -> dict[str, Any]:
        content = [] if status == "in_progress" else [self._part]
        return {
            "id": f"msg_{self.number}", "type": "message", "role": "assistant", "status": status,
            "content": content,
        }  # fmt: skip

    def _response(self, status: str) -> dict[str, Any]:
        return {
            "id": f"resp_{self.number}", "object": "response", "created_at": self.created,
            "model": self.chat.model.name, "status": status, "output": [], "error": None,
            "incomplete_details": None, "instructions": None, "metadata": {}, "tools": [],
            "tool_choice": "none", "parallel_tool_calls": False, "temperature": None,
            "top_p": None, "previous_response_id": None, "store": False, "usage": None,
            "text": {"format": {"type": "text"}},
        }  # fmt: skip

    def _event(self, name: str, **data: Any) -> str:
        kind = f"response.{name}"
        number, self._sent = self._sent, self._sent + 1
        return frame(kind, {"type": kind, "sequence_number": number, **data})


def _finish(answer: Answered) -> str:
    return "length" if answer.is_cut else "stop"


def _notice(answer: Answered) -> str:
    """Why no model wrote all of it, and outdated sources: clients may show content alone."""
    stale = not_current(answer)
    why = answer.notes[:1] if answer.degraded or not answer.model else ()
    return "".join(f"\n\n*{plain_line(each)}*" for each in dict.fromkeys((*why, *stale)))


def _usage(answer: Answered, sent: str, written: str) -> dict[str, Any]:
    """The tokens, under the protocol's names for those that were sent and written."""
    usage = answer.usage
    return {
        f"{sent}_tokens": usage.prompt_tokens,
        f"{written}_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


class ChatCompletionsView(AnsweringView):
    """Answers as chat completions."""

    messages: ClassVar = "messages"
    writer: ClassVar[type[Writer]] = Completion

    def post(self, request: Request) -> HttpResponseBase:
        """Answer the last message of the user."""
        chat = read_chat(fields_of(request), request.user, name=self.messages)
        question = _answer_request(chat, request)
        writer = self.writer(chat, Links(request.build_absolute_uri))
        if chat.is_streamed:
            frames = writer.frames(answering.events(question))
            return stream(frames, failed=lambda error: writer.failed(*code_and_message(error)))
        return Response(writer.whole(answering.answer(question)))


class ResponsesView(ChatCompletionsView):
    """Answers as responses."""

    messages = "input"
    writer = Reply


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
