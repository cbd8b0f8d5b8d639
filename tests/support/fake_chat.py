"""A real HTTP server that speaks OpenAI's chat API, streamed, and misbehaves on demand.

    with FakeChat(says("The pool closes after 30 s [1]."), status(429, retry_after="1")) as server:
        settings.ANSWER_BASE_URL = server.base_url

Each request gets the next behaviour of the script; after its end each gets the first sentence of
the first passage of its prompt, cited. `requests` holds what was asked, `disconnects` counts the
readers who left before the end, `open` the replies being sent and `most_open` the most at once.
"""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.scripted_server import Quiet, ScriptedServer


@dataclass(frozen=True)
class Pause:
    """Send nothing for so many seconds; `None`: until the client leaves or the server stops."""

    seconds: float | None = None


@dataclass(frozen=True)
class Reply:
    """A response: its parts are sent one by one. `drop` closes the connection without one.

    Without `ends` the connection breaks off after the last part.
    """

    parts: Sequence[bytes | Pause] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    ends: bool = True


Body = dict[str, Any]
Behaviour = Callable[[Body], Reply]
_EVENT_STREAM = {"Content-Type": "text/event-stream"}
_WORDS = re.compile(r"\S*\s*")


def event(data: object) -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"data: {text}\n\n".encode()


def chunk(delta: Body | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One event of a streamed completion."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    kind = "chat.completion.chunk"
    return event({"id": "1", "object": kind, "created": 1, "choices": choices, **more})


def says(
    *pieces: str | Pause,
    finish: str | None = "stop",
    usage: tuple[int, int] | None = (100, 20),
    done: bool = True,
    ends: bool = True,
) -> Behaviour:
    """These pieces, one event each. `usage` are tokens of prompt and answer, sent on request."""

    def behave(body: Body) -> Reply:
        parts: list[bytes | Pause] = [chunk({"role": "assistant", "content": ""})]
        parts += [each if isinstance(each, Pause) else chunk({"content": each}) for each in pieces]
        if finish is not None:
            parts.append(chunk({}, finish))
        if usage is not None and (body.get("stream_options") or {}).get("include_usage"):
            prompt, completion = usage
            counted = {"prompt_tokens": prompt, "completion_tokens": completion}
            parts.append(chunk(usage={**counted, "total_tokens": prompt + completion}))
        if done:
            parts.append(event("[DONE]"))
        return Reply(parts, headers=_EVENT_STREAM, ends=ends)

    return behave


def sends(*parts: bytes | Pause, ends: bool = True) -> Behaviour:
    """These bytes as the body of an event stream."""
    return lambda body: Reply(parts, headers=_EVENT_STREAM, ends=ends)


def stalls(*pieces: str) -> Behaviour:
    """These pieces, then silence; without pieces not even the status line is sent."""
    if not pieces:
        return lambda body: Reply([Pause()], status=0)
    return says(*pieces, Pause())


def cuts(*pieces: str) -> Behaviour:
    """These pieces; then the connection breaks."""
    return says(*pieces, finish=None, usage=None, done=False, ends=False)


def reasons(*pieces: str, thoughts: Sequence[str | Pause] = ("Hm, ", "let me see.")) -> Behaviour:
    """A reasoning model: deltas without content, then the pieces."""

    def behave(body: Body) -> Reply:
        thinking = [
            each if isinstance(each, Pause) else chunk({"reasoning_content": each})
            for each in thoughts
        ]
        reply = says(*pieces)(body)
        return Reply([*thinking, *reply.parts], headers=reply.headers)

    return behave


def refuses(text: str) -> Behaviour:
    """A refusal, as OpenAI's models send it: a delta with `refusal` and no content."""
    return sends(chunk({"refusal": text}), chunk({}, "stop"), event("[DONE]"))


def endless(piece: str, count: int) -> Behaviour:
    """`piece` so many times, one event each."""
    return says(*[piece] * count)


def status(
    code: int, error: str = "", *, message: str = "no", param: str = "", **headers: str
) -> Behaviour:
    """An HTTP error with OpenAI's error body; `retry_after="3"` becomes a Retry-After header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    stated = {"message": message, "type": "error", "code": error or None, "param": param or None}
    body = json.dumps({"error": stated}).encode()
    return lambda request: Reply([body], code, {"Content-Type": "application/json", **named})


def dropped() -> Behaviour:
    """A closed connection without a response."""
    return lambda body: Reply(drop=True)


def without(parameter: str, then: Behaviour | None = None) -> Behaviour:
    """Refuse a request that has this parameter; answer any other."""

    def behave(body: Body) -> Reply:
        if parameter in body:
            return status(400, message=f"Unknown parameter: {parameter}")(body)
        return (then or quotes_first)(body)

    return behave


def quotes_first(body: Body) -> Reply:
    """The first sentence of the first passage in the prompt, with its citation."""
    prompt = "\n".join(str(each["content"]) for each in body["messages"])
    text = " ".join(re.findall(r"(?m)^1\| (.*)$", prompt))
    sentence = re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]
    if not sentence:
        return says("I do not know.")(body)
    return says(*_WORDS.findall(f"{sentence.rstrip('.')} [1]."))(body)


class FakeChat(ScriptedServer[Reply]):
    """The server, while its context is open. `models` are those that it lists; None: a 404."""

    def __init__(
        self,
        *script: Behaviour,
        models: Sequence[str] | None = ("text-embedding-fake", "fake-chat"),
        default: Behaviour = quotes_first,
    ) -> None:
        self.requests: list[Body] = []
        self.keys: list[str] = []
        self.model_lists = 0
        self.disconnects = self.open = self.most_open = 0
        self.models = models
        self._default = default
        super().__init__(*script)

    def wait_for(self, condition: Callable[[FakeChat], bool], *, seconds: float = 20.0) -> None:
        """Return when the condition holds; fail after `seconds`."""
        deadline = time.monotonic() + seconds
        while not condition(self):
            assert time.monotonic() < deadline, "The chat server waited in vain."
            time.sleep(0.01)

    def answer(self, path: str, key: str, body: Body) -> Reply:
        """The reply to one request, which is recorded."""
        if path != "/v1/chat/completions":
            return status(404, message=f"no such path: {path}")(body)
        with self._lock:
            self.requests.append(body)
            self.keys.append(key)
            behaviour = self._next(self._default)
        return behaviour(body)

    def listed(self) -> Reply:
        """The list of models."""
        if self.models is None:
            return status(404)({})
        rows = [{"id": name, "object": "model"} for name in self.models]
        text = json.dumps({"object": "list", "data": rows}).encode()
        return Reply([text], headers={"Content-Type": "application/json"})

    def send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        """Send a reply part by part, and notice a client that leaves."""
        with self._lock:
            self.open += 1
            self.most_open = max(self.open, self.most_open)
        try:
            if reply.status:
                handler.send_response(reply.status)
                for name, value in reply.headers.items():
                    handler.send_header(name, value)
                handler.send_header("Transfer-Encoding", "chunked")
                # Said, not only done: a client would send its next request into the closing one.
                handler.send_header("Connection", "close")
                handler.end_headers()
            for part in self._timed(reply.parts, handler.connection):
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if reply.ends:
                handler.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            with self._lock:
                self.disconnects += 1
        finally:
            with self._lock:
                self.open -= 1

    def _timed(self, parts: Sequence[bytes | Pause], client: socket.socket) -> Iterator[bytes]:
        """The parts that are bytes, each in its time. Raises ConnectionError if the client left."""
        for part in parts:
            if isinstance(part, bytes):
                if _has_left(client, 0):
                    raise ConnectionError
                yield part
                continue
            end = time.monotonic() + (3600 if part.seconds is None else part.seconds)
            while time.monotonic() < end and not self._stopping.is_set():
                if _has_left(client, max(0.0, min(0.02, end - time.monotonic()))):
                    raise ConnectionError
            if self._stopping.is_set():
                return

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                # One request a connection: idle ones would outlive the test that opened them.
                self.close_connection = True
                length = int(self.headers["Content-Length"])
                body = json.loads(self.rfile.read(length))
                reply = fake.answer(self.path, self.headers.get("Authorization", ""), body)
                if not reply.drop:
                    fake.send(self, reply)

            def do_GET(self) -> None:
                self.close_connection = True
                fake.model_lists += 1
                fake.send(self, fake.listed())

        return Handler


def _has_left(client: socket.socket, seconds: float) -> bool:
    """Whether the client closes its connection within so many seconds."""
    readable, _, _ = select.select([client], [], [], seconds)
    return bool(readable) and not client.recv(1, socket.MSG_PEEK)
