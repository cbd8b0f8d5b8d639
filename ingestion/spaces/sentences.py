"""The vectors of a passage's sentences. They depend on no query, so that the cache keeps them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from django.core.cache import cache

from ingestion.embedding import CachedQueryEmbedder, Vectors
from ingestion.lexical import sentences as lexical

logger = logging.getLogger(__name__)

MAX_SENTENCES = 8  # of a passage, as a usual one has
SHORTEST = 12  # letters; shorter pieces are numbers and abbreviations
KEPT_SECONDS = 7 * 24 * 3600
Span = tuple[int, int]


def spans(text: str) -> list[Span]:
    """The [start, end) of the first sentences of a text, without its shortest."""
    return list(_spans(text))[:MAX_SENTENCES]


def held(embedder: CachedQueryEmbedder, texts: Sequence[str]) -> Mapping[str, Any]:
    """The cached vectors of the texts' sentences, as bytes by text; none if the cache fails."""
    keys = {_key(embedder, text): text for text in texts}
    try:
        found = cache.get_many(list(keys))
    except Exception:  # each cache raises its own errors; none may fail a search
        logger.warning("Cannot read the cache of sentences", exc_info=True)
        return {}
    return {keys[key]: value for key, value in found.items()}


def vectors(
    embedder: CachedQueryEmbedder, sentences: Mapping[str, Sequence[Span]], known: Mapping[str, Any]
) -> dict[str, Vectors]:
    """The vectors of the `sentences` of each text, a row each, from `known` or the model.

    The model embeds all that are not known at once, and the cache gets them. Raises EmbeddingError.
    """
    size = embedder.card.dimensions
    found: dict[str, Vectors] = {}
    for text, places in sentences.items():
        value = known.get(text)
        if isinstance(value, bytes) and len(value) == 2 * len(places) * size:
            read = np.frombuffer(value, "<f2").reshape(len(places), size)
            found[text] = read.astype(np.float32)
    missing = [text for text in sentences if text not in found]
    pieces = [text[start:end] for text in missing for start, end in sentences[text]]
    if not pieces:
        return found
    made = embedder.embed_documents(pieces)
    first = 0
    for text in missing:
        last = first + len(sentences[text])
        found[text], first = made[first:last], last
    _keep({_key(embedder, text): found[text].astype("<f2").tobytes() for text in missing})
    return found


def _spans(text: str) -> Iterator[Span]:
    for found in lexical.sentences(text):
        if _is_long(text[found.start : found.end]):
            yield found.start, found.end


def _is_long(sentence: str) -> bool:
    """Whether its letters have SHORTEST bytes: those after the first so many are not counted."""
    left = SHORTEST
    for letter in sentence:
        if letter.isalpha():
            left -= len(letter.encode())
            if left <= 0:
                return True
    return False


def _key(embedder: CachedQueryEmbedder, text: str) -> str:
    named = f"{embedder.card.fingerprint}\n{text}".encode(errors="replace")
    return f"nearest:{hashlib.sha256(named).hexdigest()}"


def _keep(values: Mapping[str, bytes]) -> None:
    try:
        cache.set_many(dict(values), KEPT_SECONDS)
    except Exception:  # as above
        logger.warning("Cannot write the cache of sentences", exc_info=True)
