"""Rerankers behind HTTP: `/rerank` in the shape of Cohere and Jina, or of TEI (ADR 41).

The first is {"model", "query", "documents", "top_n"} -> {"results": [{"index", "relevance_score"}]}
(Cohere, Jina, vLLM, LiteLLM, Infinity), the second, text-embeddings-inference's, {"query", "texts"}
-> [{"index", "score"}]. Either answer is accepted. One that is not whole is refused: a server that
loses passages ranks at random.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from typing import Any

import httpx2

from common.circuit_breaker import PerProcess
from common.retries import retry_after
from search.errors import RerankerUnavailable
from search.parts.reranker.protocol import Kind, RerankerConfig
from search.ranking.rerank import RerankerInput

# Twenty scores take 2 kB; a server that repeats the passages sends some 100 kB more.
MAX_ANSWER_BYTES = 4_000_000
# Probabilities computed in single precision may leave [0, 1] by this much.
ROUNDING = 1e-6
# Statuses that a person must resolve: wrong key, address, model or request.
FINAL = frozenset({400, 401, 403, 404, 405, 413, 422})


class HttpReranker:
    """Asks a reranking server, one request a question. Connections are opened after a fork."""

    def __init__(self, config: RerankerConfig) -> None:
        self._config = config
        self._client = PerProcess(self._connect)

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> Sequence[float]:
        """See the protocol. Raises RerankerUnavailable."""
        texts = [passage.text for passage in passages]
        body = self._request(query, texts)
        scores = read_answer(self._answer(body, seconds), len(texts))
        return strengths_of(scores)

    def _request(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        if self._config.kind is Kind.TEI:
            return {"query": query, "texts": texts, "raw_scores": False, "truncate": True}
        model = {"model": self._config.model} if self._config.model else {}
        return {**model, "query": query, "documents": texts, "top_n": len(texts)}

    def _answer(self, body: dict[str, Any], seconds: float) -> bytes:
        """The body of the answer. Raises RerankerUnavailable for any failure."""
        # HTTP timeouts restart with each byte, so the end is checked between reads, too.
        end = time.monotonic() + seconds
        received = bytearray()
        try:
            client = self._client.get()
            with client.stream("POST", self._config.url, json=body, timeout=seconds) as answer:
                if answer.status_code != httpx2.codes.OK:
                    raise self._refusal(answer)
                for part in answer.iter_bytes():
                    received += part
                    if time.monotonic() > end:
                        raise RerankerUnavailable("The reranker did not answer in time.")
                    if len(received) > MAX_ANSWER_BYTES:
                        raise RerankerUnavailable("The reranker's answer does not end.")
        except httpx2.TimeoutException as error:
            raise RerankerUnavailable("The reranker did not answer in time.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise RerankerUnavailable(
                f"The reranker at {self._config.place} cannot be reached: {error or type(error)}."
            ) from error
        return bytes(received)

    def _refusal(self, answer: httpx2.Response) -> RerankerUnavailable:
        status = answer.status_code
        if status in FINAL:
            return RerankerUnavailable(
                f"The reranker refused the request (error {status}). Check RERANKER, RERANKER_URL, "
                "RERANKER_MODEL and RERANKER_API_KEY.",
                is_final=True,
            )
        wait = retry_after(answer.headers.get("retry-after"))
        return RerankerUnavailable(f"The reranker answered with error {status}.", wait)

    def _connect(self) -> httpx2.Client:
        key = self._config.api_key
        # A redirect would send the passages, and the key, elsewhere.
        return httpx2.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {}, follow_redirects=False
        )


def read_answer(body: bytes, count: int) -> list[float]:
    """The scores of `count` passages in their order, from either shape of an answer.

    Raises RerankerUnavailable unless there is exactly one finite number for each.
    """
    try:
        answer = json.loads(body)
        items = answer["results"] if isinstance(answer, dict) else answer
        rated = [(item["index"], _score(item)) for item in items]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise RerankerUnavailable(
            "The reranker's answer is not a list of scores. Check that RERANKER_URL is the address "
            "of its /rerank."
        ) from error
    scores = {
        index: score
        for index, score in rated
        if isinstance(index, int) and not isinstance(index, bool) and math.isfinite(score)
    }
    if len(rated) != count or set(scores) != set(range(count)):
        raise RerankerUnavailable(
            f"The reranker was sent {count} passages and returned {len(rated)} scores, or numbered "
            "them wrongly, or some are no numbers."
        )
    return [scores[place] for place in range(count)]


def strengths_of(scores: Sequence[float]) -> list[float]:
    """The scores if all lie in [0, 1]: the meaning of logits differs by model.

    Raises RerankerUnavailable for others.
    """
    if any(not -ROUNDING <= score <= 1 + ROUNDING for score in scores):
        raise RerankerUnavailable(
            "The reranker's scores are not between 0 and 1. Have its server normalise them.",
            is_final=True,
        )
    return [min(max(score, 0.0), 1.0) for score in scores]


def _score(item: dict[str, Any]) -> float:
    value = item["relevance_score"] if "relevance_score" in item else item["score"]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no score")
    return float(value)
