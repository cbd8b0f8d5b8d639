"""A real HTTP server that speaks OpenAI's embeddings protocol and misbehaves on demand.

    with FakeOpenAI(status(429, retry_after="1"), half()) as server:
        OpenAIEmbedder(OpenAIConfig(model="fake", base_url=server.base_url, api_key="key"))

Each request gets the next behaviour of the script; after its end every response is correct.
Texts that share words get similar vectors, so that searches over them make sense.
"""

from __future__ import annotations

import base64
import hashlib
import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from tests.support.scripted_server import Quiet, ScriptedServer

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Request:
    """A client's request as received."""

    texts: tuple[str, ...]
    model: str
    dimensions: int
    stated_dimensions: int | None
    base64: bool
    authorization: str


@dataclass(frozen=True)
class Reply:
    """A response, sent after `delay` seconds, with `drip` seconds between the body's bytes.

    `drop` closes the connection instead.
    """

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    drop: bool = False
    good: bool = False


Behaviour = Callable[[Request], Reply]


@cache
def vector_of(text: str, dimensions: int) -> Vector:
    """The server's unit vector for a text: the sum of a fixed vector for each word."""
    total = np.zeros(dimensions)
    for word in text.lower().split() or [""]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
        total += np.random.default_rng(seed).normal(size=dimensions)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


def embeddings(request: Request, vectors: list[Vector], order: list[int] | None = None) -> bytes:
    """The JSON body that lists `vectors`, numbered by `order` or by position."""
    texts = [
        base64.b64encode(each.astype("<f4").tobytes()).decode() if request.base64 else each.tolist()
        for each in vectors
    ]
    data = [
        {"object": "embedding", "index": index, "embedding": text}
        for index, text in zip(order or range(len(vectors)), texts, strict=True)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    answer = {"object": "list", "data": data, "model": request.model, "usage": usage}
    return json.dumps(answer).encode()


def _vectors(request: Request, dimensions: int | None = None) -> list[Vector]:
    return [vector_of(text, dimensions or request.dimensions) for text in request.texts]


def ok() -> Behaviour:
    """A correct response."""
    return lambda request: Reply(embeddings(request, _vectors(request)), good=True)


def plain_lists() -> Behaviour:
    """A correct response with lists of numbers, not the requested base64, as from many servers."""

    def behave(request: Request) -> Reply:
        lists = Request(**{**vars(request), "base64": False})
        return Reply(embeddings(lists, _vectors(request)), good=True)

    return behave


def shuffled() -> Behaviour:
    """A correct response in reverse order, with the right numbers."""

    def behave(request: Request) -> Reply:
        order = list(range(len(request.texts)))[::-1]
        return Reply(embeddings(request, _vectors(request)[::-1], order), good=True)

    return behave


def status(code: int, error: str = "", *, message: str = "no", **headers: str) -> Behaviour:
    """An HTTP error with OpenAI's error body; `retry_after="3"` becomes a Retry-After header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": {"message": message, "type": "error", "code": error or None}})
    return lambda request: Reply(body.encode(), code, named)


def hang(seconds: float) -> Behaviour:
    """A correct response, but only after `seconds` (or when the server stops)."""
    return lambda request: Reply(embeddings(request, _vectors(request)), delay=seconds)


def dripping(seconds: float) -> Behaviour:
    """A correct response, one byte every `seconds`: no wait for a single byte times out."""
    return lambda request: Reply(embeddings(request, _vectors(request)), drip=seconds)


def dropped() -> Behaviour:
    """A closed connection without a response."""
    return lambda request: Reply(b"", drop=True)


def garbage(body: bytes = b"<html>502 Bad Gateway</html>") -> Behaviour:
    """A 200 response with another body."""
    return lambda request: Reply(body)


def wrong_dimension(dimensions: int) -> Behaviour:
    """Vectors of another dimension than the model's."""
    return lambda request: Reply(embeddings(request, _vectors(request, dimensions)))


def filled_with(number: float) -> Behaviour:
    """Vectors that hold one number throughout: NaN, infinity, 0."""

    def behave(request: Request) -> Reply:
        vectors = [np.full(request.dimensions, number, dtype=np.float32) for _ in request.texts]
        return Reply(embeddings(request, vectors))

    return behave


def half() -> Behaviour:
    """Half of the requested embeddings."""

    def behave(request: Request) -> Reply:
        vectors = _vectors(request)
        return Reply(embeddings(request, vectors[: len(vectors) // 2]))

    return behave


def same_number() -> Behaviour:
    """As many embeddings as requested, all numbered 0."""
    return lambda request: Reply(embeddings(request, _vectors(request), [0] * len(request.texts)))


class JSONServer(ScriptedServer[Reply]):
    """A scripted server that answers each POST with one reply; JSON, unless it misbehaves."""

    @abstractmethod
    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> Reply:
        """The reply to one request, which is recorded."""

    def write(self, stream: BinaryIO, reply: Reply) -> None:
        """Send the body, in drops if the reply says so; stop with the server."""
        if not reply.drip:
            stream.write(reply.body)
            return
        for byte in reply.body:
            if self._stopping.wait(reply.drip):
                return
            stream.write(bytes([byte]))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            # One request per connection: idle ones would outlive the test that opened them.
            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = json.loads(self.rfile.read(length))
                reply = fake.answer(self.path, self.headers.get("Authorization", ""), body)
                if reply.drop:
                    return
                try:
                    self.send_response(reply.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(reply.body)))
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    fake.write(self.wfile, reply)
                except ConnectionError:
                    pass  # the client timed out, as the test intends

        return Handler


class FakeOpenAI(JSONServer):
    """The server of embeddings.

    `requests` holds the requests, `received` counts each text in them, and `acknowledged` each text
    whose vector was sent back correctly.
    """

    def __init__(self, *script: Behaviour, dimensions: int = 8, api_key: str = "key") -> None:
        self.dimensions = dimensions
        self.api_key = api_key
        self.requests: list[Request] = []
        self.received: Counter[str] = Counter()
        self.acknowledged: Counter[str] = Counter()
        super().__init__(*script)

    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> Reply:
        """The reply to one request, which is counted."""
        if path != "/v1/embeddings":
            return status(404, message=f"no such path: {path}")(_NOTHING)
        inputs = body["input"]
        request = Request(
            texts=tuple([inputs] if isinstance(inputs, str) else inputs),
            model=body["model"],
            dimensions=body.get("dimensions") or self.dimensions,
            stated_dimensions=body.get("dimensions"),
            base64=body.get("encoding_format") == "base64",
            authorization=authorization,
        )
        with self._lock:
            self.requests.append(request)
            self.received.update(request.texts)
            behaviour = self._next(ok())
        if authorization != f"Bearer {self.api_key}":
            behaviour = status(401, "invalid_api_key")
        reply = behaviour(request)
        if reply.delay:
            self._stopping.wait(reply.delay)
        if reply.good:
            with self._lock:
                self.acknowledged.update(request.texts)
        return reply


_NOTHING = Request((), "", 0, None, False, "")
