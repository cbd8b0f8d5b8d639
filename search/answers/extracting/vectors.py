"""Vectors of sentences, from the cache or the model."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from django.core.cache import cache

from ingestion import spaces
from ingestion.embedding import Vectors
from ingestion.models import EmbeddingSpace

logger = logging.getLogger(__name__)

KEPT_SECONDS = 7 * 24 * 3600


class Embedder(Protocol):
    def embed_query(self, text: str) -> Vectors: ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...


def sentence_embedder(space: EmbeddingSpace | None) -> Embedder | None:
    """The space's embedder, if it may embed sentences for each question: if it is local.

    One over the network would take longer than the whole answer may, and cost money.
    """
    if space is None or space.config.get("kind") != "local":
        return None
    return spaces.query_embedder(space)


def fingerprint(embedder: Embedder) -> str:
    """That of its model; empty if it has none, as doubles of tests."""
    card = getattr(embedder, "card", None)
    return str(card.fingerprint) if card is not None else ""


def vectors_of(texts: Sequence[str], embedder: Embedder) -> Vectors:
    """A row for each text. Raises EmbeddingError. If the cache fails, all are embedded."""
    model = fingerprint(embedder)
    keys = [_key(model, text) for text in texts]
    held = _held(keys) if model else {}
    missing = [place for place, key in enumerate(keys) if key not in held]
    if missing:
        made = embedder.embed_documents([texts[place] for place in missing])
        new = {keys[place]: row.astype("<f2") for place, row in zip(missing, made, strict=True)}
        if model:
            _keep({key: row.tobytes() for key, row in new.items()})
        held = {**held, **new}
    return np.stack([held[key] for key in keys]).astype(np.float32)


def _key(model: str, text: str) -> str:
    named = f"{model}\n{text}".encode(errors="replace")
    return f"quote:{hashlib.sha256(named).hexdigest()}"


def _held(keys: Sequence[str]) -> dict[str, Any]:
    try:
        found: Mapping[str, Any] = cache.get_many(keys)
    except Exception:  # each cache raises its own errors; none may fail an answer
        logger.warning("Cannot read the cache of sentences", exc_info=True)
        return {}
    return {key: np.frombuffer(v, "<f2") for key, v in found.items() if isinstance(v, bytes)}


def _keep(made: dict[str, bytes]) -> None:
    try:
        cache.set_many(made, KEPT_SECONDS)
    except Exception:  # as above
        logger.warning("Cannot write the cache of sentences", exc_info=True)
