"""A block's text -> pieces that fit a chunk: sentences, words, characters, lines of code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

from ingestion.embedding.protocol import Tokenizer

# Characters per tokenizer call: enough to make the call's overhead negligible, few enough that
# the offsets of a 50 MB block are never in memory together.
WINDOW_CHARS = 16_384

# WordPiece gives a word of more than 100 characters, or a run of spaces, one token or none.
# Counting at least one token per 16 characters keeps such a chunk short enough to read.
CHARS_PER_TOKEN = 16


class Break(IntEnum):
    """The rank of a cut before a piece. The highest-ranked break available is used."""

    NEVER = 0  # after a heading
    SENTENCE = 1  # between sentences, lines of code, or a lead-in and its list or table
    ITEM = 2  # between list items or rows, or at an empty line in code
    BLOCK = 3
    TERM = 4  # before the definition of a term
    SUBSECTION = 5  # before a heading of level 3 to 6
    SECTION = 6  # before a heading of level 1 or 2


@dataclass(frozen=True, slots=True)
class Piece:
    """[start, end) within a block's text. `weight` is in tokens (see CHARS_PER_TOKEN).

    `header` is a table header to repeat before the text; `weight` includes it.
    """

    start: int
    end: int
    weight: int
    before: Break = Break.SENTENCE
    header: str = ""


Span = tuple[int, int]
Weighed = tuple[int, int, int]  # start, end, weight

_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\n]+")


def weigh(text: str, spans: Iterable[Span], tokenizer: Tokenizer) -> Iterator[Weighed]:
    """Yield (start, end, weight) of each span, in order; tokenizes each stretch once.

    `spans` must ascend. A span longer than WINDOW_CHARS counts one token per character, which
    is too much for any chunk.
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
    # A token is assigned by its end: it may begin with the space before its word, or be one of
    # several for a single character, of which only the first has a width.
    ends = [end for _, end in tokenizer.spans(text[base : batch[-1][1]])]
    for start, end in batch:
        tokens = bisect_right(ends, end - base) - bisect_right(ends, start - base)
        yield start, end, max(tokens, -(-(end - start) // CHARS_PER_TOKEN))


def prose_pieces(text: str, limit: int, tokenizer: Tokenizer) -> Iterator[Piece]:
    """Yield sentences; split one over the limit into words, and an overlong word by characters."""
    for start, end, weight in weigh(text, sentence_spans(text), tokenizer):
        if weight <= limit:
            yield Piece(start, end, weight)
        else:
            yield from word_pieces(text, start, end, limit, tokenizer)


def word_pieces(
    text: str, start: int, end: int, limit: int, tokenizer: Tokenizer
) -> Iterator[Piece]:
    """Yield pieces of as many words as the limit allows."""
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
    # A split word has different tokens from the whole, but at most one per character. The few
    # tokenizers that need more are handled when the chunk is counted exactly.
    for cut in range(start, end, limit):
        stop = min(cut + limit, end)
        weight = max(tokenizer.count(text[cut:stop]), -(-(stop - cut) // CHARS_PER_TOKEN))
        yield Piece(cut, stop, weight)


def code_pieces(text: str, limit: int, tokenizer: Tokenizer) -> Iterator[Piece]:
    """Yield the whole block if it fits, else its lines, with stronger breaks at empty lines."""
    whole, lines = whole_or_lines(text, limit, tokenizer)
    yield from whole
    previous_end = 0
    for start, end, weight in lines:
        gap = text.count("\n", previous_end, start)
        before = Break.ITEM if gap > 1 else Break.SENTENCE
        previous_end = end
        if weight <= limit:
            yield Piece(start, end, weight, before)
        else:
            yield from word_pieces(text, start, end, limit, tokenizer)


def whole_or_lines(
    text: str, limit: int, tokenizer: Tokenizer
) -> tuple[list[Piece], Iterator[Weighed]]:
    """The text as one piece if it fits, or else its lines that are not empty."""
    spans = (line.span() for line in _LINE.finditer(text) if not line[0].isspace())
    lines = weigh(text, spans, tokenizer)
    head: list[Weighed] = []
    total = 0
    for line in lines:
        head.append(line)
        # Measured from the first start, because indentation and line ends count as characters.
        total = max(total + line[2], -(-(line[1] - head[0][0]) // CHARS_PER_TOKEN))
        if total > limit:
            return [], chain(head, lines)
    return [Piece(head[0][0], head[-1][1], total)] if head else [], iter(())


# Sentence boundaries for most written languages, without a model.

# The lookbehind makes a run of dots match only at its first dot, so that a megabyte of dots
# takes linear time. Possessive quantifiers do not backtrack.
_END = re.compile(
    r"""(?<![.!?…‽])[.!?…‽]++["'”’»›)\]}]*+\s++  # Latin, Greek, Cyrillic: needs a space
      | [。！？｡．；]++["'”’»」』】）〕]*+\s*+       # Chinese, Japanese: needs none
      | [।॥؟۔።၊။៕]++["'”’»)\]]*+\s*+               # Indic, Arabic, Ethiopic, Burmese, Khmer
      | (?<!\n)\n[^\S\n]*+\n\s*+                  # an empty line
    """,
    re.VERBOSE,
)

_LAST_WORD = re.compile(r"(?:^|[\s(\[\"'“‘«])([^\s(\[\"'“‘«]{1,12})\.$")
_LOOK_BACK = 16

# Words whose dot does not end a sentence. Deliberately few, only words often followed by a
# capital or a digit: a missed split costs little, because the next sentence end is near.
_ABBREVIATION_LIST = """
e.g i.e eg ie cf vs viz ca approx dr mr mrs ms prof st sr jr gen col rev hon no nos nr fig figs
eq eqs sec sect ch chap vol pp p ed eds art abs inc ltd co corp dept est al u.s u.k a.m p.m
bzw z.b d.h u.a usw ggf vgl inkl bd s.o s.u m mme mlle p.ex sra sres dra ud uds pág núm
jan feb mar apr jun jul aug sep sept oct nov dec
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())


def sentence_spans(text: str) -> Iterator[Span]:
    """Yield [start, end) of each sentence in order, without surrounding whitespace."""
    start = 0
    for match in _END.finditer(text):
        if not _ends_sentence(text, match):
            continue
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, len(text))


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    mark = match.group()[0]
    if mark not in ".!?…‽":
        return True
    following = text[match.end() : match.end() + 1]
    if following.islower():  # also "e.g. this", "Yahoo! said"
        return False
    if mark != "." or match.group()[1:2] == ".":
        return True
    before = text[max(0, match.start() - _LOOK_BACK) : match.start() + 1]
    word = _LAST_WORD.search(before)
    if word is None:
        return True
    letters = word.group(1)
    initial = len(letters) == 1 and letters.isupper()
    # "1. First", "a. First": the dot after an item's number belongs to the item.
    numbered = letters.isdigit() and match.start() - len(letters) == 0
    return not (initial or numbered or letters.lower() in _ABBREVIATIONS)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        yield start, start + len(stripped)


def whole_or_sentences(text: str, limit: int, tokenizer: Tokenizer) -> Iterator[Piece]:
    """Yield the text as one piece if it fits, else its sentences."""
    pieces = list(prose_pieces(text, limit, tokenizer))
    weight = sum(piece.weight for piece in pieces)
    if pieces and weight <= limit:
        return iter((Piece(pieces[0].start, pieces[-1].end, weight),))
    return iter(pieces)
