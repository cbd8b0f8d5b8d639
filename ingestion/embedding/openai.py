"""The embedder for OpenAI's API and servers with a compatible embeddings API."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import openai

from common.circuit_breaker import PerProcess, TimedOut, TimeLimited, retry_after
from ingestion.embedding.config import OPENAI_BASE_URL, OpenAIConfig
from ingestion.embedding.protocol import (
    Embedder,
    EstimatedTokenizer,
    ModelCard,
    Tokenizer,
    Vectors,
    encodable,
    mean_vector,
    query_windows,
    unit_vectors,
)
from ingestion.embedding.server_requests import TRANSIENT, Retries, TransientError
from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable

# The models' default dimensions; other models are queried once.
KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# Queries with a time limit that may wait for the server at once; further ones time out.
WAITING_QUERIES = 16
# Seconds to request the dimensions of an unknown model, and to remember a failure.
ASKING_CARD = 5.0


class OpenAIEmbedder(Embedder):
    """Embeds over HTTP. Thread-safe; connections are opened after a fork.

    The client's own retries are off: they have no total time limit, ignore a Retry-After above
    two minutes, and use only a quarter of the wait as jitter.
    """

    def __init__(
        self,
        config: OpenAIConfig,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._config = config
        self._retries = Retries(config.attempts, sleep, clock, draw)
        self._base_url = config.base_url or OPENAI_BASE_URL
        self._tokenizer = EstimatedTokenizer()
        self._card: ModelCard | None = None
        self._no_answer: tuple[float, EmbeddingUnavailable] | None = None
        self._asking_card = threading.Lock()
        self._client = PerProcess(self._connect)
        self._queries = TimeLimited("query-embedding", WAITING_QUERIES)

    @property
    def card(self) -> ModelCard:
        """Identity of the model. Sends one request if the dimensions are not known."""
        with self._asking_card:
            if self._card is None:
                self._card = self._make_card()
            return self._card

    @property
    def tokenizer(self) -> Tokenizer:
        """An estimate of the model's tokenizer, computed without the network."""
        return self._tokenizer

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], Vectors]]:
        """Yield batches in order, one request each; see the protocol."""
        dimensions = self.card.dimensions
        prepared = [self._prepare(self._config.document_prefix + text) for text in texts]
        for indices in self._batches(prepared):
            batch = [prepared[i] for i in indices]
            yield indices, self._embed(batch, dimensions, self._config.deadline)

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        """Shape (dimensions,). `timeout` in seconds bounds the call, retries included."""
        if timeout is None:
            return self._query(text, self._config.deadline)
        # HTTP timeouts restart with each byte and name look-ups have none, so only a separate
        # thread can guarantee the limit.
        try:
            return self._queries.call(partial(self._query, text), timeout)
        except TimedOut as error:
            raise EmbeddingUnavailable(
                f"The embedding server did not answer within {timeout:g} seconds."
            ) from error

    def _query(self, text: str, deadline: float) -> Vectors:
        most = self._config.max_tokens - self._tokenizer.count(self._config.query_prefix)
        pieces, _ = query_windows(text, self._tokenizer, most)
        prepared = [self._prepare(self._config.query_prefix + piece) for piece in pieces]
        vectors = self._embed(prepared, self.card.dimensions, deadline)
        return mean_vector(vectors, "The embedding server")

    def _prepare(self, text: str) -> str:
        """`text` as the server accepts it: not empty, encodable, within the model's limit."""
        text = encodable(text) or " "
        limit = self._config.max_tokens
        # A token is at least one byte and a character at most four, so short texts always fit.
        if len(text) * 4 <= limit:
            return text
        spans = self._tokenizer.spans(text)
        return text if len(spans) <= limit else text[: spans[limit - 1][1]]

    def _batches(self, texts: Sequence[str]) -> Iterator[range]:
        """Yield consecutive indices within the limits of a request on texts and on tokens."""
        start = tokens = 0
        for place, text in enumerate(texts):
            count = self._tokenizer.count(text)
            full = place - start == self._config.batch_size
            if place > start and (full or tokens + count > self._config.max_request_tokens):
                yield range(start, place)
                start, tokens = place, 0
            tokens += count
        if start < len(texts):
            yield range(start, len(texts))

    def _embed(self, texts: Sequence[str], dimensions: int | None, deadline: float) -> Vectors:
        """The vectors of one request."""

        def attempt(left: float) -> Vectors:
            answer = self._request(texts, left)
            return _read_answer(answer, texts=len(texts), dimensions=dimensions)

        return self._retries.call(attempt, deadline=deadline)

    def _request(self, texts: Sequence[str], left: float) -> bytes:
        """The response's body. Raises TransientError or EmbeddingRejected for any failure."""
        wished: Any = openai.omit if self._config.dimensions is None else self._config.dimensions
        try:
            answer = self._client.get().embeddings.with_raw_response.create(
                model=self._config.model,
                input=list(texts),
                dimensions=wished,
                encoding_format="base64",  # a quarter of the bytes; servers without it send lists
                timeout=min(self._config.timeout, max(left, 0.001)),
            )
        except openai.APITimeoutError as error:
            raise TransientError("did not answer in time") from error
        except openai.APIConnectionError as error:
            reason = f"cannot be reached at {self._base_url}: check the address and the server"
            raise TransientError(reason) from error
        except openai.APIStatusError as error:
            raise self._refusal(error) from error
        return answer.content

    def _refusal(self, error: openai.APIStatusError) -> TransientError | EmbeddingRejected:
        """The error for an HTTP status: transient, or one that a person must resolve."""
        status = error.status_code
        if error.code == "insufficient_quota":  # a 429 that waiting does not resolve
            return EmbeddingRejected(
                "The embedding account has no quota left: check its plan and billing, "
                "then retry the document."
            )
        if status in TRANSIENT or status >= 500:
            reason = "is overloaded" if status == 429 else f"answered with error {status}"
            return TransientError(reason, retry_after(error.response.headers.get("retry-after")))
        if status in (401, 403):
            return EmbeddingRejected(
                f"The embedding server refused the API key (error {status}): check "
                f"{self._config.key_name or 'whether it needs one'}, and the key's permissions at "
                f"{self._base_url}."
            )
        if status == 404:
            return EmbeddingRejected(
                f'The embedding server has no model "{self._config.model}" or no such address '
                f"(error 404): check OPENAI_EMBEDDING_MODEL and OPENAI_BASE_URL ({self._base_url})."
            )
        return EmbeddingRejected(
            f"The embedding server refused the request (error {status}: {_server_words(error)}). "
            "Check the model and OPENAI_EMBEDDING_DIMENSIONS; if a text is too long, use smaller "
            "chunks."
        )

    def _connect(self) -> openai.OpenAI:
        return openai.OpenAI(
            # The client requires a key; servers that need none ignore it.
            api_key=self._config.api_key or "none",
            base_url=self._base_url,
            max_retries=0,
        )

    def _ask_dimensions(self) -> int:
        """The dimensions of a sample response. Caches a failure briefly: callers queue here."""
        if self._no_answer is not None and self._retries.clock() < self._no_answer[0]:
            raise EmbeddingUnavailable(str(self._no_answer[1])) from self._no_answer[1]
        try:
            return int(self._embed(["dimensions"], None, ASKING_CARD).shape[1])
        except EmbeddingUnavailable as error:
            self._no_answer = (self._retries.clock() + ASKING_CARD, error)
            raise

    def _make_card(self) -> ModelCard:
        config = self._config
        dimensions = config.dimensions
        if dimensions is None:
            dimensions = config.known_dimensions
        if dimensions is None and config.base_url in (None, OPENAI_BASE_URL):
            dimensions = KNOWN_DIMENSIONS.get(config.model)
        if dimensions is None:
            dimensions = self._ask_dimensions()
        fingerprint = f"{config.model[:100]}@{urlsplit(self._base_url).hostname}/{dimensions}"
        prefixes = (config.query_prefix, config.document_prefix)
        if any(prefixes):
            fingerprint += "-" + hashlib.sha256(repr(prefixes).encode()).hexdigest()[:12]
        return ModelCard(
            name=config.model,
            fingerprint=fingerprint,
            dimensions=dimensions,
            max_tokens=config.max_tokens - self._tokenizer.count(config.document_prefix),
            languages=config.languages,
        )


def _server_words(error: openai.APIStatusError) -> str:
    """The server's own reason, on one short line."""
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(message or "no reason given").split())[:200]


def _read_answer(body: bytes, *, texts: int, dimensions: int | None) -> Vectors:
    """The response's unit vectors, shape (asked, dimensions), in the order of the request.

    Raises TransientError if the body is not an embeddings response (a proxy's error page), and
    EmbeddingRejected for a wrong count or dimension, which a retry would not change.
    """
    try:
        items = json.loads(body)["data"]
        by_place = {item.get("index", place): item["embedding"] for place, item in enumerate(items)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TransientError("answered with something that is not a list of embeddings") from error
    if len(items) != texts or set(by_place) != set(range(texts)):
        raise EmbeddingRejected(
            f"The embedding server was sent {texts} texts and returned {len(items)} embeddings, "
            "or numbered them wrongly. Report it to the server's operator."
        )
    vectors = [_vector(by_place[place]) for place in range(texts)]
    widths = {vector.size for vector in vectors}
    expected = dimensions or vectors[0].size
    if widths != {expected} or expected == 0:
        raise EmbeddingRejected(
            f"The embedding server returned {max(widths)} dimensions instead of {expected}. "
            "Check the model's name, or set OPENAI_EMBEDDING_DIMENSIONS to the model's value."
        )
    return unit_vectors(np.stack(vectors), "The embedding server")


def _vector(value: Any) -> npt.NDArray[np.float32]:
    """One embedding, from base64 of little-endian floats or a list of numbers."""
    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        vector = np.asarray(value, dtype=np.float32)
    except (ValueError, TypeError, OverflowError, binascii.Error) as error:
        raise EmbeddingRejected(_UNREADABLE) from error
    if vector.ndim != 1:
        raise EmbeddingRejected(_UNREADABLE)
    return vector


_UNREADABLE = (
    "The embedding server returned an embedding that is not a list of numbers. Check that "
    "OPENAI_BASE_URL is the address of a server with an OpenAI-compatible embeddings API."
)
