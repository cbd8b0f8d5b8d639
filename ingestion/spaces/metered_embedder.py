"""An embedder that counts its calls in the metrics, and tells all processes when it fails.

Documents that wait for it are due when it answers again, whoever asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from django.core.cache import cache
from django.db.models import QuerySet
from django.utils import timezone
from redis.exceptions import RedisError

from common import metrics
from ingestion.embedding import Embedder
from ingestion.embedding.protocol import ModelCard, Tokenizer, Vectors
from ingestion.errors import EmbeddingUnavailable
from ingestion.models import DocumentVersion

KEY = "embedder-fails"
# Seconds that a failure counts without another call: more than the longest pause of a job.
PATIENCE = 900
# Seconds between the attempts of one document, during an outage, for all that wait. A guess.
TRIAL = 60
_OUTAGE, _NAMES_A_TIME = 1, 2


def answers() -> bool | None:
    """Whether no embedder has failed, in any process, since one last answered; None: unknown."""
    try:
        return cache.get(KEY) is None
    except (RedisError, OSError):
        return None


def try_again() -> None:
    """Make the document that waits longest due, once in TRIAL: if it is embedded, all others are.

    Not where the provider named the time of the next attempt itself.
    """
    with suppress(RedisError, OSError):
        if cache.get(KEY) == _OUTAGE and cache.add(f"{KEY}-trial", 1, TRIAL):
            _waiting().filter(pk=_waiting().order_by("pk").values("pk")[:1]).update(not_before=None)


def _waiting() -> QuerySet[DocumentVersion]:
    code = EmbeddingUnavailable.code
    return DocumentVersion.open_jobs().filter(error_code=code, not_before__gt=timezone.now())


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
        except EmbeddingUnavailable as error:
            outcome = "unavailable"
            with suppress(RedisError, OSError):
                cache.set(KEY, _NAMES_A_TIME if error.retry_after else _OUTAGE, PATIENCE)
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
            if failure := cache.get(KEY):
                cache.delete(KEY)
                if failure == _OUTAGE:
                    _waiting().update(not_before=None)
