"""Chunks as a context reads them, and runs of neighbouring ones joined to one passage. Pure."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from ingestion.chunking.sections import common_path, paths, repeated, separator
from ingestion.chunking.text_splitting import sentence_spans
from ingestion.domain import BLOCK_SEPARATOR, BlockKind, BlockPlace, SectionPlace
from ingestion.embedding.protocol import EstimatedTokenizer
from ingestion.lexical import near_duplicates
from search.answers.checking.conflicts import differ
from search.answers.domain import Passage, SourceText

# A passage's number, page and date, the names of its fields, and the number before each of its
# lines, as `generating.messages` writes them.
PASSAGE_OVERHEAD = 26
LINE_OVERHEAD = 3

# The first passages, by rank, of which one that differs in a figure is no copy. A guess: the chunks
# of two sections.
EDITIONS = 6

_TOKENIZER = EstimatedTokenizer()
# What a passage has of the first of its pieces.
_OF_FIRST = (
    "document", "document_id", "version", "ordinal", "title", "page", "collection_id", "collection",
    "collection_slug", "language", "start", "media_type", "date", "completeness",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece(SourceText):
    """A chunk as the context reads it: `text` is what readers see, `original` the parsed text if it
    was edited by hand.

    `rank` is that of its hit, from 1; 0 for a chunk that was only read as a neighbour. `form` is
    the identifier of the query that it holds; `is_pinned`: its document was pinned to the query.
    """

    chunk_id: int
    score: float = 0.0
    rank: int = 0
    kind: str = BlockKind.PARAGRAPH
    original: str = ""
    content_hash: str = ""
    signature: int | None = None
    form: str = ""
    is_pinned: bool = False
    sections: tuple[SectionPlace, ...] = ()
    layout: tuple[BlockPlace, ...] = ()
    completeness: Mapping[str, Any] | None = field(default=None, compare=False)

    @property
    def place(self) -> tuple[int, int]:
        return self.version, self.ordinal

    def continues(self, before: Piece) -> bool:
        """Whether it is the next chunk of the same section as `before`.

        True if both are under the same headings, if it is in the section in which `before` ends, or
        if it repeats the last words of `before` at its start.
        """
        if self.place != (before.version, before.ordinal + 1):
            return False
        is_same = self.heading_path == before.heading_path or self._paths[0] == before._paths[-1]
        return is_same or self.start < before.end

    @property
    def _paths(self) -> tuple[tuple[str, ...], ...]:
        """The headings of each of its sections, or those above all of it."""
        return tuple(paths(self.heading_path, self.sections)) or (self.heading_path,)

    def repeats(self, other: Piece) -> bool:
        """Whether it adds nothing to `other`.

        True for the same text, or for a near-duplicate in another document, as the grouping of
        results defines it (ADR 16), unless both are among the first and differ in a figure. A
        pinned chunk repeats no other document, nor does a chunk with an identifier of the query
        that the other one lacks.
        """
        if self.document == other.document:
            return self._is_same_text(other)
        if self.is_pinned or (self.form and self.form != other.form):
            return False
        if self._is_same_text(other):
            return True
        # Editions differ in a figure: the first passages are shown beside each other.
        is_first = all(0 < each.rank <= EDITIONS for each in (self, other))
        return self._is_near_duplicate(other) and not (is_first and differ(self.text, other.text))

    def _is_same_text(self, other: Piece) -> bool:
        """Whether the texts are equal; a text too short for a signature ("Default: 5.") also needs
        the same title and headings, because they say what it is about.
        """
        if not self.content_hash or self.content_hash != other.content_hash:
            return False
        names = self.title, self.heading_path
        return self.signature is not None or names == (other.title, other.heading_path)

    def _is_near_duplicate(self, other: Piece) -> bool:
        one, two = self.signature, other.signature
        if one is None or two is None:
            return False
        return near_duplicates.distance(one, two) <= near_duplicates.MAX_DISTANCE


@dataclass(frozen=True, eq=False)
class Run:
    """Neighbouring chunks of a section, in order, as one passage."""

    pieces: tuple[Piece, ...]

    @property
    def first(self) -> Piece:
        return self.pieces[0]

    @property
    def last(self) -> Piece:
        return self.pieces[-1]

    @cached_property
    def best(self) -> Piece:
        """The chunk whose hit ranks first."""
        ranked = (piece for piece in self.pieces if piece.rank)
        return min(ranked, key=lambda piece: (piece.rank, piece.chunk_id))

    @cached_property
    def heading_path(self) -> tuple[str, ...]:
        """The headings above all of its chunks."""
        return common_path([piece.heading_path for piece in self.pieces])

    @property
    def text(self) -> str:
        """The chunks' texts without their overlaps and repeated headers of tables."""
        return self._joined[0]

    @cached_property
    def tokens(self) -> int:
        return passage_tokens(self.first.title, self.heading_path, self.text)

    @cached_property
    def _joined(self) -> tuple[str, tuple[tuple[Piece, int, int], ...]]:
        """The joined text, the number of leading characters that each chunk loses, and the offset
        in the text at which each chunk's first character would be.
        """
        text, places = self.first.text, [(self.first, 0, 0)]
        for before, piece in pairwise(self.pieces):
            count = repeated(before.end, piece.start, piece.text, piece.original)
            if count:
                rest = piece.text[count:].lstrip()
                between = piece.text[count : len(piece.text) - len(rest)]
            else:
                rest = _without_header(before, piece)
                # Below a header of its own, as that of a part of a row, begins a table.
                between = BLOCK_SEPARATOR if _header_chars(piece) and rest == piece.text else ""
            if rest:
                text += between or separator(before.end, piece.start, before.kind, piece.kind)
            skipped = len(piece.text) - len(rest)
            places.append((piece, skipped, len(text) - skipped))
            text += rest
        return text, tuple(places)

    def _sections(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The offset in the text and the path of each section, in order."""
        last: tuple[str, ...] = ()
        for piece, skipped, offset in self._joined[1]:
            for place, path in zip(
                piece.sections, paths(piece.heading_path, piece.sections), strict=True
            ):
                if path and path != last:
                    yield offset + max(place.start, skipped), path
                    last = path

    def _layout(self) -> Iterator[tuple[int, str]]:
        """The offset in the text and the kind of each block, in order.

        A chunk without a layout, or edited by hand, counts as one block. A block that continues
        from the chunk before is listed once.
        """
        for piece, skipped, offset in self._joined[1]:
            blocks = () if piece.original else piece.layout
            starts = [place.start for place in blocks] or [0]
            kinds = [str(place.kind) for place in blocks] or [piece.kind]
            for start, end, kind in zip(starts, [*starts[1:], sys.maxsize], kinds, strict=True):
                at = offset + max(start, skipped)
                if end > skipped and (not at or self.text.endswith(BLOCK_SEPARATOR, 0, at)):
                    yield at, kind

    def cut(self, budget: int) -> Run | None:
        """Its first chunk, shortened to the budget at the end of a sentence, else between words,
        else anywhere; None if its headings alone exceed the budget.
        """
        text = self.first.text
        ends = [end for _, end in sentence_spans(text)]
        gaps = [place for place, letter in enumerate(text) if letter.isspace()]
        for places in (ends, gaps, range(1, len(text) + 1)):
            fitting = bisect_right(places, budget, key=lambda end: self._cut_at(end).tokens)
            if fitting and text[: places[fitting - 1]].strip():
                return self._cut_at(places[fitting - 1])
        return None

    def _cut_at(self, end: int) -> Run:
        piece = self.first
        return Run((replace(piece, text=piece.text[:end], end=min(piece.end, piece.start + end)),))

    def passage(self, number: int) -> Passage:
        first, best = self.first, self.best
        return Passage(
            number=number,
            chunk_ids=tuple(piece.chunk_id for piece in self.pieces),
            heading_path=self.heading_path,
            end=self.last.end,
            text=self.text,
            tokens=self.tokens,
            score=best.score,
            rank=best.rank,
            sections=tuple(self._sections()),
            layout=tuple(self._layout()),
            **{name: getattr(first, name) for name in _OF_FIRST},
        )


def _without_header(before: Piece, piece: Piece) -> str:
    """The text of a chunk without the header of a table that `before` has begun.

    The offsets of such a chunk cover only its rows.
    """
    extra = _header_chars(piece)
    is_begun = before.kind == BlockKind.TABLE and piece.text[:extra] in before.text
    return piece.text[extra:] if is_begun else piece.text


def _header_chars(piece: Piece) -> int:
    """The length of the header that a chunk of a table, unless edited by hand, begins with."""
    is_table = piece.kind == BlockKind.TABLE and not piece.original
    return max(len(piece.text) - (piece.end - piece.start), 0) if is_table else 0


def estimated_tokens(text: str) -> int:
    """The estimated tokens that a language model reads in a text; 0 for an empty one.

    No language model's tokenizer is installed: every model has its own, and its server counts
    exactly only afterwards (`Usage`). The budget must hold before the call. The estimate is the one
    for remote embedding models: 1.3 times OpenAI's count in English, .85 to 1.9 in other languages
    (`ingestion.embedding.protocol` has the ratios).
    """
    return _TOKENIZER.count(text)


def passage_tokens(title: str, heading_path: Sequence[str], text: str) -> int:
    """The estimated tokens of a passage as a model reads it: with its title and headings."""
    names = estimated_tokens(title) + sum(1 + estimated_tokens(heading) for heading in heading_path)
    lines = sum(not line.isspace() and line != "" for line in text.splitlines())
    around = PASSAGE_OVERHEAD + LINE_OVERHEAD * lines
    return around + names + estimated_tokens(text)
