"""The cache of questions' embeddings: the last ones in the process, in front of Redis."""

from __future__ import annotations

import hashlib
import logging
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol

import numpy as np

from ingestion.embedding.protocol import Embedder, ModelCard, Vectors, encodable, query_windows

UNIT_TOLERANCE = 1e-3  # float32 rounding over thousands of dimensions stays below

logger = logging.getLogger(__name__)


class Cache(Protocol):
    """The part of Django's cache API used here."""

    def get(self, key: str) -> Any:
        """The value, or None."""
        ...

    def set(self, key: str, value: bytes, timeout: float | None) -> Any:
        """Store `value` for `timeout` seconds, or without expiry if None."""
        ...


# A search asks twice for its question's vector, readers turn pages, and many questions are about
# the same sentences: 1.5 to 4 kB each, and some eight a passage. A guess.
MAX_IN_MEMORY = 8192


@dataclass(eq=False)
class CachedQueryEmbedder:
    """Embeds queries through a cache. If the cache fails, the embedder is called instead.

    The last MAX_IN_MEMORY vectors stay in the process, in front of the cache; those of sentences
    are in the process alone. `on_lookup` is called with hit, miss or failure (of the cache).
    """

    embedder: Embedder
    cache: Cache
    _: KW_ONLY
    ttl: float | None
    on_lookup: Callable[[str], None] = lambda _: None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)  # of `_memory`
    _memory: OrderedDict[str, Vectors] = field(default_factory=OrderedDict, init=False)

    @property
    def card(self) -> ModelCard:
        """Identity of the underlying embedder's model."""
        return self.embedder.card

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        """Shape (dimensions,). Canonically equivalent Unicode (NFC) shares one embedding."""
        text = unicodedata.normalize("NFC", text)
        key = self._key(text)
        with self._lock:
            vector = self._memory.get(key)
        if vector is None:
            vector = self._cached(key)
        if vector is not None:
            self.on_lookup("hit")
        else:
            self.on_lookup("miss")
            vector = self.embedder.embed_query(text, timeout=timeout)
            self._store(key, vector)
        self._remember(key, vector)
        return vector.copy()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts`, from memory where it has them; shape (len(texts), dimensions)."""
        keys = [f"document:{text}" for text in texts]
        with self._lock:
            vectors = {key: self._memory[key] for key in keys if key in self._memory}
        if new := {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}:
            rows = self.embedder.embed_documents([*new.values()])
            # Each a copy: a row that is used for long would keep all others of its batch.
            vectors |= {key: row.copy() for key, row in zip(new, rows, strict=True)}
        for key, vector in vectors.items():
            self._remember(key, vector)
        return np.array([vectors[key] for key in keys])

    def left_out(self, text: str) -> str:
        """The end of `text` that its embedding does not cover; usually empty."""
        return query_windows(text, self.embedder.tokenizer, self.card.max_tokens)[1]

    def _key(self, text: str) -> str:
        # Hashed, because cache keys must be short and printable and fingerprints need not be.
        model = hashlib.sha256(self.card.fingerprint.encode()).hexdigest()[:16]
        return f"query-embedding:{model}:{hashlib.sha256(encodable(text).encode()).hexdigest()}"

    def _remember(self, key: str, vector: Vectors) -> None:
        with self._lock:
            self._memory[key] = vector
            self._memory.move_to_end(key)
            if len(self._memory) > MAX_IN_MEMORY:
                self._memory.popitem(last=False)

    def _cached(self, key: str) -> Vectors | None:
        try:
            value = self.cache.get(key)
        except Exception:  # each cache raises its own errors; none may fail a search
            self._failed("read")
            return None
        if not isinstance(value, bytes) or len(value) != 4 * self.card.dimensions:
            return None
        vector = np.frombuffer(value, dtype="<f4").astype(np.float32)
        # Corrupt bytes also decode to a vector, which the database would reject or misplace.
        return vector if abs(float(np.linalg.norm(vector)) - 1) < UNIT_TOLERANCE else None

    def _store(self, key: str, vector: Vectors) -> None:
        try:
            self.cache.set(key, vector.astype("<f4").tobytes(), timeout=self.ttl)
        except Exception:  # as above
            self._failed("write")

    def _failed(self, doing: str) -> None:
        self.on_lookup("failure")
        logger.warning("Cannot %s the cache of query embeddings", doing, exc_info=True)
