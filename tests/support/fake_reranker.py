"""A real HTTP server that speaks the protocols of rerankers and misbehaves on demand.

    with FakeReranker(status(500), shape=cohere) as server:
        RerankerConfig(Kind.COHERE, server.url)

A passage scores by the share of the question's words that it contains, in place of a model: no
cross-encoder exists in a wheel. Each request gets the next behaviour of the script; after its end
every answer is correct.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.support.fake_openai import JSONServer, Reply, status

__all__ = ["FakeReranker", "Reply", "status"]

Request = Any
Behaviour = Callable[[Request], Reply]


def shared_words(query: str, text: str) -> float:
    """The share of the question's words in the text: 0 to 1."""
    query_words, text_words = (set(re.findall(r"\w+", each.lower())) for each in (query, text))
    return len(query_words & text_words) / max(1, len(query_words))


def cohere(scores: Sequence[float]) -> Any:
    """Best first, as Cohere, Jina, vLLM and LiteLLM answer."""
    rows = [{"index": i, "relevance_score": score} for i, score in enumerate(scores)]
    return {"id": "1", "results": sorted(rows, key=lambda row: -row["relevance_score"])}


def tei(scores: Sequence[float]) -> Any:
    """As text-embeddings-inference answers."""
    rows = [{"index": i, "score": score} for i, score in enumerate(scores)]
    return sorted(rows, key=lambda row: -row["score"])


def said(answer: object, **reply: Any) -> Behaviour:
    """This answer as JSON, whatever was asked."""
    return lambda request: Reply(json.dumps(answer).encode(), **reply)


def raw(body: bytes) -> Behaviour:
    """This body, whatever was asked."""
    return lambda request: Reply(body)


def dropped() -> Behaviour:
    """A closed connection without a response."""
    return lambda request: Reply(b"", drop=True)


class FakeReranker(JSONServer):
    """The server of a reranker.

    `requests` are the bodies received, `keys` their Authorization headers. `score` replaces the
    model.
    """

    def __init__(
        self,
        *script: Behaviour,
        shape: Callable[[Sequence[float]], Any] = cohere,
        score: Callable[[str, str], float] = shared_words,
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.score = score
        self._shape = shape
        super().__init__(*script)

    @property
    def url(self) -> str:
        """The value for RERANKER_URL."""
        return f"{self.base}/rerank"

    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> Reply:
        """The reply to one request, which is recorded."""
        with self._lock:
            self.requests.append(body)
            self.keys.append(authorization)
            behaviour = self._next(None)
        if behaviour is not None:
            reply = behaviour(body)
        elif path == "/rerank":
            texts = body.get("documents") or body["texts"]
            scores = [self.score(body["query"], text) for text in texts]
            reply = Reply(json.dumps(self._shape(scores)).encode())
        else:
            reply = Reply(b"{}", 404)
        if reply.delay:
            self._stopping.wait(reply.delay)
        return reply
