"""An embedder that counts its calls in the metrics, and tells all processes when it fails."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from django.core.cache import cache
from redis.exceptions import RedisError

from common import metrics
from ingestion.embedding import Embedder
from ingestion.embedding.protocol import ModelCard, Tokenizer, Vectors
from ingestion.errors import EmbeddingUnavailable

KEY = "embedder-fails"
# Seconds that a failure counts without another call: more than the longest pause of a job.
PATIENCE = 900


def answers() -> bool | None:
    """Whether no embedder has failed, in any process, since one last answered; None: unknown."""
    try:
        return cache.get(KEY) is None
    except (RedisError, OSError):
        return None


class MeteredEmbedder(Embedder):
    """Wraps an embedder and counts its calls by `kind` (local, openai), use and outcome."""

    def __init__(self, embedder: Embedder, kind: str) -> None:
        self._embedder = embedder
        self._kind = kind

    @property
    def card(self) -> ModelCard:
        return self._embedder.card

    @property
    def tokenizer(self) -> Tokenizer:
        return self._embedder.tokenizer

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], Vectors]]:
        """The embedder's batches; the time that the caller takes to store one is not counted."""
        return self._metered(self._embedder.embed_batches(texts))

    def _metered(
        self, batches: Iterator[tuple[Sequence[int], Vectors]]
    ) -> Iterator[tuple[Sequence[int], Vectors]]:
        while True:
            with self._counted("passages"):
                batch = next(batches, None)
            if batch is None:
                return
            self._embedded("passages", len(batch[0]))
            yield batch

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        with self._counted("query"):
            vector = self._embedder.embed_query(text, timeout=timeout)
        self._embedded("query", 1)
        return vector

    @contextmanager
    def _counted(self, use: str) -> Iterator[None]:
        started, outcome = time.perf_counter(), "ok"
        try:
            yield
        except EmbeddingUnavailable:
            outcome = "unavailable"
            with suppress(RedisError, OSError):
                cache.set(KEY, 1, PATIENCE)
            raise
        except Exception:
            outcome = "rejected"
            raise
        finally:
            metrics.observe(
                metrics.EMBEDDER_SECONDS,
                time.perf_counter() - started,
                kind=self._kind,
                use=use,
                outcome=outcome,
            )

    def _embedded(self, use: str, texts: int) -> None:
        metrics.count(metrics.EMBEDDED, texts, kind=self._kind, use=use)
        with suppress(RedisError, OSError):
            cache.delete(KEY)
