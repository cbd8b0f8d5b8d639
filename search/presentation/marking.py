"""The nearest sentence marked in results that contain no word of the query.

They would begin at the beginning of their passage. Sentences are embedded when they are first
shown, by a local model only: a server would cost money and time. Their vectors do not depend on the
query, so the process remembers them. A page takes SECONDS, or as long as its first such passage;
what remains then begins there, and the log says so: the next search for these passages goes
further.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from ingestion import spaces
from ingestion.embedding import CachedQueryEmbedder, Vectors
from ingestion.embedding.config import IN_PROCESS
from ingestion.errors import EmbeddingError
from ingestion.models import EmbeddingSpace
from ingestion.spaces import vectors
from ingestion.spaces.vectors import Span
from search.domain import Signal
from search.presentation.results import Result
from search.presentation.snippets import SNIPPET_CHARS, shows_a_mark, with_marks

logger = logging.getLogger(__name__)

# A sentence takes MiniLM 2 to 5 ms; a page may have ten such passages of eight
# sentences, and a search takes 50 ms without them: new passages may double that. A guess.
SECONDS = 0.05
MARKED_CHARS = SNIPPET_CHARS * 2 // 3  # a mark longer than its snippet would not show


def with_nearest(
    results: Sequence[Result], question: str, space: EmbeddingSpace | None
) -> tuple[Result, ...]:
    """The results, those without a word of the question with their nearest sentence marked.

    Unchanged if the space's model is not local, fails, or did not score the results, and from the
    first result on for which there is no time.
    """
    places = [place for place, result in enumerate(results) if _has_no_word(result)]
    page = list(results)
    try:
        if not places or (embedder := sentence_embedder(space)) is None:
            return tuple(results)
        vector = embedder.embed_query(question)  # from the cache: the search has just embedded it
        started, chars = time.perf_counter(), 0
        for place in places:
            result = results[place]
            spent = time.perf_counter() - started
            # A character is expected to take as long as those before it.
            if spent * ((chars + len(result.text)) / chars if chars else 1) > SECONDS:
                logger.debug("No time for the nearest sentences of all results")
                break
            chars += len(result.text)
            passage = vectors.embedded_sentences(embedder, [result.text])[result.text]
            if passage.spans:
                page[place] = _marked(result, passage.spans, passage.vectors @ vector)
    except EmbeddingError as error:
        logger.warning("The nearest sentences could not be found: %s", error)
    return tuple(page)


def sentence_embedder(space: EmbeddingSpace | None) -> CachedQueryEmbedder | None:
    """The space's embedder if it is local, else None.

    A remote one would take longer to embed sentences for each question than the whole answer may,
    and cost money.
    """
    if space is None or space.config.get("kind") not in IN_PROCESS:
        return None
    return spaces.query_embedder(space)


def _has_no_word(result: Result) -> bool:
    raw = result.hit.candidate.raw
    return not shows_a_mark(result.section_text, result.chars) and Signal.VECTOR in raw


def _marked(result: Result, spans: Sequence[Span], cosines: Vectors) -> Result:
    """The result with its nearest sentence marked, if that is nearer than the whole passage."""
    best = int(cosines.argmax())
    if cosines[best] < result.hit.candidate.raw[Signal.VECTOR]:
        return result
    text = result.text
    start, end = spans[best]
    if end - start > MARKED_CHARS:
        end = max(text.rfind(" ", start, start + MARKED_CHARS), start + MARKED_CHARS // 2)
    return result.with_nearest(with_marks(text, [(start, end)]))
