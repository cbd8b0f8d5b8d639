"""Marks in a page of results: the quoted words as they stand, and the nearest sentence.

Postgres marks lexemes: of "in the view" any form of *view*, and no stop word. A reader who quotes
wants to see the place.

A result that contains no word of the query would begin at the beginning of its passage: the
sentence nearest in meaning is marked instead. Sentences are embedded when they are first shown, by
a local model only: a server would cost money and time. Their vectors do not depend on the query, so
the cache holds them. A page takes SECONDS; what remains then begins at its beginning, and the log
says so: the next search for these passages goes further.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Iterator, Sequence

from ingestion import spaces
from ingestion.embedding import Vectors
from ingestion.embedding.config import IN_PROCESS
from ingestion.errors import EmbeddingError
from ingestion.models import EmbeddingSpace
from ingestion.spaces import vectors
from ingestion.spaces.vectors import Span
from search.domain import Query, Signal
from search.presentation.results import Result
from search.presentation.snippets import (
    MARK_END,
    MARK_START,
    SNIPPET_CHARS,
    shows_a_mark,
    text_and_marks,
)
from search.retrieval.phrases import literal_pattern

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
    if not places or space is None or space.config.get("kind") not in IN_PROCESS:
        return tuple(results)
    page = list(results)
    try:
        embedder = spaces.query_embedder(space)
        vector = embedder.embed_query(question)  # from the cache: the search has just embedded it
        cached = vectors.cached_sentences(embedder, [results[place].text for place in places])
        started = time.perf_counter()
        for place in places:
            result = results[place]
            text = result.text
            passage = cached.get(text)
            if passage is None:
                if time.perf_counter() - started > SECONDS:
                    logger.debug("No time for the nearest sentences of all results")
                    break
                passage = vectors.embedded_sentences(embedder, [text])[text]
            if passage.spans:
                page[place] = _marked(result, passage.spans, passage.vectors @ vector)
    except EmbeddingError as error:
        logger.warning("The nearest sentences could not be found: %s", error)
    return tuple(page)


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
    marked = text[:start] + MARK_START + text[start:end] + MARK_END + text[end:]
    return result.remarked(marked, is_nearest=True)


def with_exact_words(results: Sequence[Result], query: Query) -> tuple[Result, ...]:
    """The results with the phrases of the query marked, in place of other marks within them.

    Where the query is nothing but phrases, nothing else is marked. A passage whose title or
    headings alone have the phrases keeps its marks.
    """
    patterns = [re.compile(literal_pattern(phrase), re.IGNORECASE) for phrase in query.phrases]
    if not patterns:
        return tuple(results)
    return tuple(_with_phrases(each, patterns, alone=query.is_quoted) for each in results)


def _with_phrases(result: Result, patterns: Iterable[re.Pattern[str]], *, alone: bool) -> Result:
    """The result with the phrases marked, and with `alone` nothing else."""
    text, marks = text_and_marks(result.marked)
    spans = (match.span() for pattern in patterns for match in pattern.finditer(text))
    matches = list(_apart(spans))
    if not matches:
        return result
    others = () if alone else marks
    rest = [span for span in others if not any(_overlap(span, exact) for exact in matches)]
    pieces, last = [], 0
    for start, end in sorted([*matches, *rest]):
        pieces += [text[last:start], MARK_START, text[start:end], MARK_END]
        last = end
    return result.remarked("".join([*pieces, text[last:]]))


def _apart(spans: Iterable[Span]) -> Iterator[Span]:
    """The spans in order, without those that overlap one before them."""
    last = 0
    for start, end in sorted(spans):
        if start >= last and end > start:
            yield start, end
            last = end


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
