"""Rerankers: their protocol, cross-encoders behind HTTP and here, and the best sentence (ADR 41).

Over HTTP `/rerank` has Cohere's and Jina's shape, or TEI's. The first is {"model", "query",
"documents", "top_n"} -> {"results": [{"index", "relevance_score"}]} (Cohere, Jina, vLLM, LiteLLM,
Infinity), the second, text-embeddings-inference's, {"query", "texts"} -> [{"index", "score"}].
Either answer is accepted. One that is not whole is refused: a server that loses passages ranks at
random.

A passage's own embedding blends all that it speaks of; its best sentence tells whether one of them
answers. The model is that of the settings if it runs in this process, else MiniLM; the sentences'
vectors are cached, so that only passages that never came first before cost time.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2
from django.conf import settings

from common.circuit_breaker import PerProcess, retry_after
from ingestion.embedding.config import IN_PROCESS, usable_cores
from ingestion.embedding.protocol import encodable
from ingestion.errors import EmbeddingError
from ingestion.spaces import vectors
from ingestion.spaces.configuring import build, config_of_settings, embedder_config
from search.errors import RerankerUnavailable
from search.ranking.rerank import RerankerInput


class Kind(StrEnum):
    """The protocol of a reranker's server, or a kind without a server.

    FASTEMBED is a cross-encoder in this process; SENTENCES compares by the local embedding model.
    """

    COHERE = "cohere"
    TEI = "tei"
    SENTENCES = "sentences"
    FASTEMBED = "fastembed"


@dataclass(frozen=True, slots=True)
class RerankerConfig:
    """The settings of a reranker. Raises ValueError, with a sentence on what to change."""

    kind: Kind
    url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        if self.kind in (Kind.COHERE, Kind.TEI) and not is_address:
            raise ValueError(
                f"RERANKER_URL is “{self.url}”: give the address of a reranker, such as "
                "http://127.0.0.1:8080/rerank."
            )
        if self.kind is Kind.FASTEMBED and not self.model:
            raise ValueError("RERANKER names no model: RERANKER=fastembed:BAAI/bge-reranker-base")

    @property
    def place(self) -> str:
        """The server's host, port and path: the address without a name, a password or a query."""
        parts = urlsplit(self.url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def fingerprint(self) -> str:
        """A value that differs between rerankers whose strengths may differ."""
        return f"{self.kind}:{self.model}@{self.place}"


class Reranker(Protocol):
    """Reads a question with passages. Implementations are thread-safe and hold no database.

    A passage's strength does not depend on the others that are sent with it.
    """

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> Sequence[float]:
        """A strength in [0, 1] for each passage, in their order, within about `seconds`.

        Raises RerankerUnavailable.
        """
        ...


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


class FastembedReranker:
    """A cross-encoder in this process; the logistic function makes strengths of its logits."""

    def __init__(self, config: RerankerConfig) -> None:
        self._config = config
        self._model = PerProcess(self._load)

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> Sequence[float]:
        """See the protocol. Raises RerankerUnavailable, also between passages after `seconds`."""
        end = time.monotonic() + seconds
        strengths = []
        texts = [encodable(passage.text) for passage in passages]
        try:
            # One at a time: padding and dynamic ranges would make them depend on one another.
            for logit in self._model.get().rerank(encodable(query), texts, batch_size=1):
                if time.monotonic() > end:
                    raise RerankerUnavailable("The reranker did not read the passages in time.")
                strengths.append(1 / (1 + math.exp(min(-logit, 700.0))))
        except EmbeddingError as error:
            raise RerankerUnavailable(str(error), is_final=True) from error
        return strengths

    def _load(self) -> Any:
        from ingestion.embedding.fastembed import cross_encoder

        options = settings.EMBEDDER_OPTIONS["fastembed"]
        threads = options["threads"] or usable_cores()
        return cross_encoder(self._config.model, options["models_dir"], threads)


class SentenceReranker:
    """Strengths by the largest cosine of a question and a sentence; below 0 they are 0."""

    def __init__(self, config: RerankerConfig) -> None:
        del config  # its model is that of `model_of_settings`

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> Sequence[float]:
        """A strength in [0, 1] for each passage. The model is not stopped after `seconds`."""
        del seconds
        texts = [_text(passage) for passage in passages]
        try:
            config = config_of_settings() if model_of_settings() else {"kind": "local"}
            embedder = build(embedder_config(config)).questions
            question = embedder.embed_query(query)
            rows = vectors.cached_sentences(embedder, texts)
            missing = [text for text in dict.fromkeys(texts) if text not in rows]
            rows |= vectors.embedded_sentences(embedder, missing)
        except EmbeddingError as error:
            raise RerankerUnavailable(f"The sentences could not be compared: {error}") from error
        return [min(max(float((rows[text].vectors @ question).max()), 0.0), 1.0) for text in texts]


def model_of_settings() -> str:
    """The model of the settings if it runs in this process; otherwise empty, for MiniLM."""
    return settings.EMBEDDER if settings.EMBEDDER.partition(":")[0] in IN_PROCESS else ""


def _text(passage: RerankerInput) -> str:
    """The passage without its first line, which has the title and the headings."""
    return passage.text.partition("\n")[2] or passage.text
