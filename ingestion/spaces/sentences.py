"""The sentences of a passage with their vectors. They depend on no query: the cache keeps them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.core.cache import cache

from ingestion.embedding import CachedQueryEmbedder, Vectors
from ingestion.lexical import sentences as lexical

logger = logging.getLogger(__name__)

MAX_SENTENCES = 8  # of a passage, as a usual one has
SHORTEST = 12  # letters; shorter pieces are numbers and abbreviations
KEPT_SECONDS = 7 * 24 * 3600
Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Sentences:
    """The first sentences of a text: their [start, end), and their vectors, a row each.

    Of a text without a sentence that is long enough: no span, and one vector, that of the whole.
    """

    spans: Sequence[Span]
    vectors: Vectors


def spans(text: str) -> list[Span]:
    """The [start, end) of the first sentences of a text, without its shortest."""
    return list(_spans(text))[:MAX_SENTENCES]


def held(embedder: CachedQueryEmbedder, texts: Sequence[str]) -> dict[str, Sentences]:
    """The sentences of the texts that the cache has; none if it fails."""
    keys = {_key(embedder, text): text for text in texts}
    try:
        cached = cache.get_many(list(keys))
    except Exception:  # each cache raises its own errors; none may fail a search
        logger.warning("Cannot read the cache of sentences", exc_info=True)
        return {}
    size = embedder.card.dimensions
    read = {keys[key]: _read(value, size) for key, value in cached.items()}
    return {text: each for text, each in read.items() if each is not None}


def embedded(embedder: CachedQueryEmbedder, texts: Iterable[str]) -> dict[str, Sentences]:
    """The sentences of the texts, embedded all at once and kept. Raises EmbeddingError."""
    places = {text: spans(text) for text in texts}
    if not places:
        return {}
    pieces = [
        text[start:end] for text, its in places.items() for start, end in its or [(0, len(text))]
    ]
    vectors = embedder.embed_documents(pieces)
    by_text: dict[str, Sentences] = {}
    first = 0
    for text, its in places.items():
        last = first + max(1, len(its))
        by_text[text], first = Sentences(its, vectors[first:last]), last
    _keep({_key(embedder, text): _written(each) for text, each in by_text.items()})
    return by_text


def _written(sentences: Sentences) -> bytes:
    """The spans, then the vectors in half precision."""
    places = np.array(sentences.spans, "<i4").tobytes()
    return places + sentences.vectors.astype("<f2").tobytes()


def _read(value: object, size: int) -> Sentences | None:
    """What `_written` wrote of vectors with so many dimensions; None for anything else."""
    of_span, of_vector = 8, 2 * size
    if not isinstance(value, bytes):
        return None
    count, rest = divmod(len(value), of_span + of_vector)
    if len(value) == of_vector:  # no span, and the vector of the whole
        count, rest = 0, 0
    elif rest or not count:
        return None
    places = np.frombuffer(value, "<i4", 2 * count).reshape(count, 2)
    vectors = np.frombuffer(value, "<f2", offset=of_span * count).reshape(-1, size)
    return Sentences([(start, end) for start, end in places.tolist()], vectors.astype(np.float32))


def _spans(text: str) -> Iterator[Span]:
    for sentence in lexical.sentences(text):
        if _is_long(text[sentence.start : sentence.end]):
            yield sentence.start, sentence.end


def _is_long(sentence: str) -> bool:
    """Whether its letters have SHORTEST bytes: those after the first so many are not counted."""
    remaining = SHORTEST
    for letter in sentence:
        if letter.isalpha():
            remaining -= len(letter.encode())
            if remaining <= 0:
                return True
    return False


def _key(embedder: CachedQueryEmbedder, text: str) -> str:
    key = f"{embedder.card.fingerprint}\n{text}".encode(errors="replace")
    return f"sentences:{hashlib.sha256(key).hexdigest()}"


def _keep(values: Mapping[str, bytes]) -> None:
    try:
        cache.set_many(dict(values), KEPT_SECONDS)
    except Exception:  # as above
        logger.warning("Cannot write the cache of sentences", exc_info=True)
