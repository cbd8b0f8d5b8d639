"""One block's text -> pieces that fit a chunk: sentences, words, characters, lines of code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

from ingestion.chunking.sentences import Span, sentence_spans
from ingestion.embedding.protocol import Tokenizer

# Characters tokenised in one call: enough to make the call's own cost vanish, few enough that
# the offsets of a 50 MB block never stand in memory together.
WINDOW_CHARS = 16_384

# WordPiece gives a word of more than 100 characters, or a run of spaces, one token or none.
# Weighing at least a token for 16 characters keeps such a chunk short enough to be read.
CHARS_PER_TOKEN = 16


class Break(IntEnum):
    """How good a place to cut is, before a piece. The best place available is taken."""

    NEVER = 0  # after a heading
    SENTENCE = 1  # between sentences, or lines of code, or a lead-in and what it introduces
    ITEM = 2  # between list items or rows, or at an empty line in code
    BLOCK = 3
    SUBSECTION = 4  # before a heading of level 3 to 6
    SECTION = 5  # before a heading of level 1 or 2


@dataclass(frozen=True, slots=True)
class Piece:
    """[start, end) within a block's text. `weight` is in tokens (see CHARS_PER_TOKEN).

    `header` is a table's header to be repeated in front; its weight is counted in.
    """

    start: int
    end: int
    weight: int
    before: Break = Break.SENTENCE
    header: str = ""


Weighed = tuple[int, int, int]  # start, end, weight

_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\n]+")


def weigh(text: str, spans: Iterable[Span], tokenizer: Tokenizer) -> Iterator[Weighed]:
    """(start, end, weight) of each span; the spans ascend. Lazy; tokenises each stretch once.

    A span longer than WINDOW_CHARS weighs a token a character: too much for any chunk.
    """
    batch: list[Span] = []
    for span in spans:
        if batch and span[1] - batch[0][0] > WINDOW_CHARS:
            yield from _weigh_batch(text, batch, tokenizer)
            batch = []
        if span[1] - span[0] > WINDOW_CHARS:
            yield span[0], span[1], span[1] - span[0]
        else:
            batch.append(span)
    if batch:
        yield from _weigh_batch(text, batch, tokenizer)


def _weigh_batch(text: str, batch: list[Span], tokenizer: Tokenizer) -> Iterator[Weighed]:
    base = batch[0][0]
    # A token belongs where it ends: it may begin with the space before its word, or be one of
    # several of a single character, of which only the first has a width.
    ends = [end for _, end in tokenizer.spans(text[base : batch[-1][1]])]
    for start, end in batch:
        tokens = bisect_right(ends, end - base) - bisect_right(ends, start - base)
        yield start, end, max(tokens, -(-(end - start) // CHARS_PER_TOKEN))


def prose_pieces(text: str, limit: int, tokenizer: Tokenizer) -> Iterator[Piece]:
    """Sentences; where one is over the limit its words, where one of those is, characters."""
    for start, end, weight in weigh(text, sentence_spans(text), tokenizer):
        if weight <= limit:
            yield Piece(start, end, weight)
        else:
            yield from word_pieces(text, start, end, limit, tokenizer)


def word_pieces(
    text: str, start: int, end: int, limit: int, tokenizer: Tokenizer
) -> Iterator[Piece]:
    """As many words a piece as the limit takes."""
    words = (match.span() for match in _WORD.finditer(text, start, end))
    first, last, total = start, start, 0
    for word_start, word_end, weight in weigh(text, words, tokenizer):
        spread = -(-(word_end - first) // CHARS_PER_TOKEN)
        if total and (total + weight > limit or spread > limit):
            yield Piece(first, last, max(total, -(-(last - first) // CHARS_PER_TOKEN)))
            total = 0
        if weight > limit:
            yield from _character_pieces(text, word_start, word_end, limit, tokenizer)
            continue
        if not total:
            first = word_start
        last, total = word_end, total + weight
    if total:
        yield Piece(first, last, max(total, -(-(last - first) // CHARS_PER_TOKEN)))


def _character_pieces(
    text: str, start: int, end: int, limit: int, tokenizer: Tokenizer
) -> Iterator[Piece]:
    # A word cut in two has other tokens than the whole, but at most one a character. The few
    # tokenizers that need several are caught when the chunk is counted.
    for cut in range(start, end, limit):
        stop = min(cut + limit, end)
        weight = max(tokenizer.count(text[cut:stop]), -(-(stop - cut) // CHARS_PER_TOKEN))
        yield Piece(cut, stop, weight)


def code_pieces(text: str, limit: int, tokenizer: Tokenizer) -> Iterator[Piece]:
    """The whole block where it fits; else its lines, with better breaks at empty lines."""
    lines = (span for span in _spans_of_lines(text) if not text[slice(*span)].isspace())
    weighed = weigh(text, lines, tokenizer)
    head, total = take_until(weighed, limit)
    if total <= limit:
        if head:
            yield Piece(head[0][0], head[-1][1], total)
        return
    previous_end = 0
    for start, end, weight in chain(head, weighed):
        gap = text.count("\n", previous_end, start)
        before = Break.ITEM if gap > 1 else Break.SENTENCE
        previous_end = end
        if weight <= limit:
            yield Piece(start, end, weight, before)
        else:
            yield from word_pieces(text, start, end, limit, tokenizer)


def take_until(weighed: Iterator[Weighed], limit: int) -> tuple[list[Weighed], int]:
    """The first items up to and with the one that passes the limit, and their weight."""
    head: list[Weighed] = []
    total = 0
    for item in weighed:
        head.append(item)
        # From the first start on, as the indentation and line ends between count as characters.
        total = max(total + item[2], -(-(item[1] - head[0][0]) // CHARS_PER_TOKEN))
        if total > limit:
            break
    return head, total


def _spans_of_lines(text: str) -> Iterator[Span]:
    return (match.span() for match in _LINE.finditer(text))
