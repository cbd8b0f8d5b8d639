"""The embedder behind OpenAI's API, or any server that speaks its embeddings protocol."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import openai

from common.backoff import retry_after
from ingestion.embedding.answer import read_answer
from ingestion.embedding.config import OPENAI_BASE_URL, OpenAIConfig
from ingestion.embedding.per_process import PerProcess
from ingestion.embedding.protocol import ModelCard, Throttle, Tokenizer, Vectors
from ingestion.embedding.retry import Retries, TransientError
from ingestion.embedding.tokens import EstimatedTokenizer, encodable
from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable

# What the models give when no dimensions are asked for; other models are asked once.
KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# 408 and 409 as the openai client has them; 425 and 429 ask for it by name.
TRANSIENT = frozenset({408, 409, 425, 429})
# Queries with a time limit that may wait for the server at the same time; the rest degrade.
WAITING_QUERIES = 16
# Seconds to ask for the dimensions of a model that states none, and to remember a failure.
ASKING_CARD = 5.0


class OpenAIEmbedder:
    """Embeds over HTTP. Thread-safe; connections are made after a fork.

    The client's own retries are off: they know no total time limit, ignore a Retry-After above
    two minutes and spread their waits by a quarter only.
    """

    def __init__(
        self,
        config: OpenAIConfig,
        throttle: Throttle | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._config = config
        self._throttle = throttle
        self._retries = Retries(config.attempts, sleep, clock, draw)
        self._base_url = config.base_url or OPENAI_BASE_URL
        self._tokenizer = EstimatedTokenizer()
        self._card: ModelCard | None = None
        self._no_answer: tuple[float, EmbeddingUnavailable] | None = None
        self._asking_card = threading.Lock()
        self._client = PerProcess(self._connect)
        self._queries = PerProcess(lambda: ThreadPoolExecutor(WAITING_QUERIES, "query-embedding"))

    @property
    def card(self) -> ModelCard:
        """Identity of the model. Asks the server once if the dimensions are not known."""
        with self._asking_card:
            if self._card is None:
                self._card = self._make_card()
            return self._card

    @property
    def tokenizer(self) -> Tokenizer:
        """An estimate of the model's tokens, made without the network."""
        return self._tokenizer

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], Vectors]]:
        """One request a batch, in order; see the protocol."""
        dimensions = self.card.dimensions
        prepared = [self._prepare(self._config.document_prefix + text) for text in texts]
        for indices, tokens in self._batches(prepared):
            batch = [prepared[i] for i in indices]
            yield indices, self._embed(batch, dimensions, self._config.deadline, tokens)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), row i for texts[i]; (0, dimensions) for none."""
        vectors = np.empty((len(texts), self.card.dimensions), dtype=np.float32)
        for indices, batch in self.embed_batches(texts):
            vectors[list(indices)] = batch
        return vectors

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        """Shape (dimensions,). `timeout` in seconds bounds all of it, retries included."""
        if timeout is None:
            return self._query(text, self._config.deadline)
        # HTTP time limits count from byte to byte and name look-ups have none, so that only
        # another thread can promise an end.
        waiting = self._queries.get().submit(self._query, text, timeout)
        try:
            return waiting.result(timeout)
        except NotInTime as error:
            waiting.cancel()
            raise EmbeddingUnavailable(
                f"The embedding server did not answer within {timeout:g} seconds."
            ) from error

    def _query(self, text: str, deadline: float) -> Vectors:
        prepared = self._prepare(self._config.query_prefix + text)
        vectors = self._embed([prepared], self.card.dimensions, deadline)
        return vectors.reshape(self.card.dimensions)

    def _prepare(self, text: str) -> str:
        """`text` as the server accepts it: not empty, encodable, no longer than the model reads."""
        text = encodable(text) or " "
        limit = self._config.max_tokens
        # A token is at least one byte and a character at most four, so that short texts fit.
        if len(text) * 4 <= limit:
            return text
        spans = self._tokenizer.spans(text)
        return text if len(spans) <= limit else text[: spans[limit - 1][1]]

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[range, int]]:
        """Consecutive indices, as many as the limits on texts and on tokens of a request allow.

        With each the tokens of its texts.
        """
        start = tokens = 0
        for place, text in enumerate(texts):
            count = self._tokenizer.count(text)
            full = place - start == self._config.batch_size
            if place > start and (full or tokens + count > self._config.max_request_tokens):
                yield range(start, place), tokens
                start, tokens = place, 0
            tokens += count
        if start < len(texts):
            yield range(start, len(texts)), tokens

    def _embed(
        self,
        texts: Sequence[str],
        dimensions: int | None,
        deadline: float,
        tokens: int | None = None,
    ) -> Vectors:
        """The vectors of one request. Counts against the allowance where `tokens` are stated."""
        throttle = self._throttle if tokens is not None else None

        def attempt(left: float) -> Vectors:
            if throttle is not None and tokens is not None:
                started = self._retries.clock()
                throttle.take(tokens, longest=left)
                left -= self._retries.clock() - started
            try:
                answer = self._request(texts, left)
            except TransientError as error:
                if throttle is not None and error.retry_after:
                    throttle.hold(error.retry_after)
                raise
            return read_answer(answer, asked=len(texts), dimensions=dimensions)

        patience = throttle.patience if throttle is not None else float("inf")
        return self._retries.call(attempt, deadline=deadline, patience=patience)

    def _request(self, texts: Sequence[str], left: float) -> bytes:
        """The body of one answer. Raises TransientError or EmbeddingRejected for anything else."""
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
            raise TransientError("cannot be reached") from error
        except openai.APIStatusError as error:
            raise self._refusal(error) from error
        return answer.content

    def _refusal(self, error: openai.APIStatusError) -> TransientError | EmbeddingRejected:
        """What an HTTP error status means: try again, or what a person must change."""
        status = error.status_code
        if error.code == "insufficient_quota":  # a 429 that waiting does not cure
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
                f"{self._config.key_name or 'that it needs none'}, and what may be used at "
                f"{self._base_url}."
            )
        if status == 404:
            return EmbeddingRejected(
                f'The embedding server knows no model "{self._config.model}" or no such address '
                f"(error 404): check OPENAI_EMBEDDING_MODEL and OPENAI_BASE_URL ({self._base_url})."
            )
        return EmbeddingRejected(
            f"The embedding server refused the request (error {status}: {_server_words(error)}). "
            "Check the model, OPENAI_EMBEDDING_DIMENSIONS and OPENAI_BATCH_SIZE; if a text is too "
            "long, use smaller chunks."
        )

    def _connect(self) -> openai.OpenAI:
        return openai.OpenAI(
            # The client insists on a key; servers that need none ignore it.
            api_key=self._config.api_key or "none",
            base_url=self._base_url,
            max_retries=0,
        )

    def _ask_dimensions(self) -> int:
        """The dimensions of one answer. A failure is kept a while: queries wait here in line."""
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
    """The server's own reason, one short line."""
    body = error.body
    stated = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(stated or "no reason given").split())[:200]
