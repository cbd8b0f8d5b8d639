"""The embedder for OpenAI's API and servers with a compatible embeddings API."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import openai

from common.circuit_breaker import PerProcess, TimedOut, TimeLimited
from common.retries import retry_after
from ingestion.embedding.config import OPENAI_BASE_URL, OpenAIConfig
from ingestion.embedding.openai_client import connect, reason
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
from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable

# The models' default dimensions; other models are queried once.
KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# Queries, and batches of documents, that may wait for the server at once; further ones time out.
WAITING = 16
# Seconds to request the dimensions of an unknown model, and to remember a failure.
ASKING_CARD = 5.0
# Statuses of a failure that passes, beside those of 500 and above.
TRANSIENT = frozenset({408, 409, 425, 429})
# Seconds of a Retry-After that a worker waits, and a reader's query: after a longer one the job is
# tried later, and the search goes on without vectors. Guesses.
LONGEST_PAUSE, LONGEST_QUERY_PAUSE = 10.0, 1.0


class OpenAIEmbedder(Embedder):
    """Embeds over HTTP. Thread-safe; connections are opened after a fork."""

    def __init__(self, config: OpenAIConfig) -> None:
        self._config = config
        self._base_url = config.base_url or OPENAI_BASE_URL
        self._tokenizer = EstimatedTokenizer()
        self._card: ModelCard | None = None
        self._no_answer: tuple[float, EmbeddingUnavailable] | None = None
        self._asking_card = threading.Lock()
        self._client = self._connect(config.attempts - 1, LONGEST_PAUSE)
        self._query_client = self._connect(1, LONGEST_QUERY_PAUSE)
        self._queries = TimeLimited("query-embedding", WAITING)
        self._documents = TimeLimited("embedding", WAITING)

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
        seconds = self._config.attempts * (self._config.timeout + LONGEST_PAUSE)
        for indices in self._batches(prepared):
            batch = [prepared[i] for i in indices]
            embed = partial(self._embed, self._client, batch, dimensions)
            yield indices, _in_time(self._documents, embed, seconds)

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        """Shape (dimensions,). `timeout` in seconds bounds the call, retries included."""
        if timeout is None:
            return self._query(text)
        return _in_time(self._queries, partial(self._query, text), timeout)

    def _query(self, text: str, timeout: float | None = None) -> Vectors:
        most = self._config.max_tokens - self._tokenizer.count(self._config.query_prefix)
        pieces, _ = query_windows(text, self._tokenizer, most)
        prepared = [self._prepare(self._config.query_prefix + piece) for piece in pieces]
        client = self._client if timeout is None else self._query_client
        vectors = self._embed(client, prepared, self.card.dimensions, timeout)
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

    def _embed(
        self,
        client: PerProcess[openai.OpenAI],
        texts: Sequence[str],
        dimensions: int | None,
        timeout: float | None = None,
    ) -> Vectors:
        """The vectors of one request. Raises EmbeddingUnavailable or EmbeddingRejected."""
        wished: Any = openai.omit if self._config.dimensions is None else self._config.dimensions
        try:
            answer = client.get().embeddings.create(
                model=self._config.model,
                input=list(texts),
                dimensions=wished,
                timeout=min(self._config.timeout, timeout or math.inf),
            )
        except openai.APITimeoutError as error:
            raise EmbeddingUnavailable("The embedding server did not answer in time.") from error
        except openai.APIConnectionError as error:
            raise EmbeddingUnavailable(
                f"The embedding server cannot be reached at {self._base_url}: check the address "
                "and the server."
            ) from error
        except openai.APIStatusError as error:
            raise self._refusal(error) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise EmbeddingUnavailable(_NO_LIST) from error
        return _vectors(answer, texts=len(texts), dimensions=dimensions)

    def _refusal(self, error: openai.APIStatusError) -> EmbeddingUnavailable | EmbeddingRejected:
        """The error for an HTTP status: transient, or one that a person must resolve."""
        status = error.status_code
        if error.code == "insufficient_quota":  # a 429 that waiting does not resolve
            return EmbeddingRejected(
                "The embedding account has no quota left: check its plan and billing, "
                "then retry the document."
            )
        if status in TRANSIENT or status >= 500:
            what = "is overloaded" if status == 429 else f"answered with error {status}"
            wait = retry_after(error.response.headers.get("retry-after"))
            wish = "" if wait is None else f" and asks to wait {wait:.0f} seconds"
            return EmbeddingUnavailable(f"The embedding server {what}{wish}.", wait)
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
            f"The embedding server refused the request (error {status}: {reason(error)}). "
            "Check the model and OPENAI_EMBEDDING_DIMENSIONS; if a text is too long, use smaller "
            "chunks."
        )

    def _connect(self, retries: int, longest_pause: float) -> PerProcess[openai.OpenAI]:
        return PerProcess(
            lambda: connect(
                self._base_url,
                self._config.api_key,
                timeout=self._config.timeout,
                retries=retries,
                longest_pause=longest_pause,
            )
        )

    def _ask_dimensions(self) -> int:
        """The dimensions of a sample response. Caches a failure briefly: callers queue here."""
        if self._no_answer is not None and time.monotonic() < self._no_answer[0]:
            raise EmbeddingUnavailable(str(self._no_answer[1])) from self._no_answer[1]
        try:
            sample = self._embed(self._query_client, ["dimensions"], None, ASKING_CARD)
        except EmbeddingUnavailable as error:
            self._no_answer = (time.monotonic() + ASKING_CARD, error)
            raise
        return int(sample.shape[1])

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


def _in_time(calls: TimeLimited, work: Callable[[float], Vectors], seconds: float) -> Vectors:
    """The vectors that `work(seconds left)` returns. Raises EmbeddingUnavailable after `seconds`.

    HTTP timeouts restart with each byte and name look-ups have none, so only a separate thread can
    guarantee the limit.
    """
    try:
        return calls.call(work, seconds)
    except TimedOut as error:
        raise EmbeddingUnavailable(
            f"The embedding server did not answer within {seconds:g} seconds."
        ) from error


def _vectors(answer: Any, *, texts: int, dimensions: int | None) -> Vectors:
    """The response's unit vectors, shape (asked, dimensions), in the order of the request.

    Raises EmbeddingUnavailable if the body is not an embeddings response (a proxy's error page),
    and EmbeddingRejected for a wrong count or dimension, which a retry would not change.
    """
    try:
        # Some servers do not number their vectors.
        indices = [getattr(item, "index", None) for item in answer.data]
        by_place = {
            place if index is None else index: item.embedding
            for place, (index, item) in enumerate(zip(indices, answer.data, strict=True))
        }
    except (TypeError, AttributeError) as error:
        raise EmbeddingUnavailable(_NO_LIST) from error
    if len(answer.data) != texts or set(by_place) != set(range(texts)):
        raise EmbeddingRejected(
            f"The embedding server was sent {texts} texts and returned {len(answer.data)} "
            "embeddings, or numbered them wrongly. Report it to the server's operator."
        )
    try:
        vectors = [np.asarray(by_place[place], dtype=np.float32) for place in range(texts)]
    except (ValueError, TypeError, OverflowError) as error:
        raise EmbeddingRejected(_UNREADABLE) from error
    if any(vector.ndim != 1 for vector in vectors):
        raise EmbeddingRejected(_UNREADABLE)
    widths = {vector.size for vector in vectors}
    expected = dimensions or vectors[0].size
    if widths != {expected} or expected == 0:
        raise EmbeddingRejected(
            f"The embedding server returned {max(widths)} dimensions instead of {expected}. "
            "Check the model's name, or set OPENAI_EMBEDDING_DIMENSIONS to the model's value."
        )
    return unit_vectors(np.stack(vectors), "The embedding server")


_NO_LIST = "The embedding server answered with something that is not a list of embeddings."
_UNREADABLE = (
    "The embedding server returned an embedding that is not a list of numbers. Check that "
    "OPENAI_BASE_URL is the address of a server with an OpenAI-compatible embeddings API."
)
