"""Blocks -> units: the pieces of text that chunks are built from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from ingestion.chunking.embedding_text import TextLimits, short_name
from ingestion.chunking.options import ChunkingOptions
from ingestion.chunking.tables import table_pieces
from ingestion.chunking.text_splitting import (
    Break,
    Piece,
    code_pieces,
    prose_pieces,
    whole_or_sentences,
)
from ingestion.domain import BLOCK_SEPARATOR, Block, BlockKind
from ingestion.embedding.protocol import Tokenizer

MAX_GAP_CHARS = 256  # more whitespace than this between two units always ends a chunk
LAST_SECTION_LEVEL = 2  # headings up to this level begin sections, deeper ones subsections
MAX_ANCHOR_CHARS = 60  # a guess
_NO_SLUG = re.compile(r"[^\w.]+")
PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM})


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of the extracted text that is not split: a sentence, an item, a table, lines.

    `space_before` is the whitespace since the previous unit, or None if it is too long to keep.
    `weight` is in tokens. A unit with a `header` makes a chunk of its own. `block` is the number of
    the block that it is from, and `level` that block's. `path` are the headings and terms above it,
    `anchors` theirs; the unit `opens` the innermost if it begins with its name.
    """

    start: int
    text: str
    space_before: str | None
    weight: int
    kind: BlockKind
    before: Break
    path: tuple[str, ...]
    page: int | None
    header: str = ""
    block: int = 0
    level: int = 0
    anchors: tuple[str, ...] = ()
    opens: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Name(NamedTuple):
    """A heading of this level, or a term, with its anchor."""

    level: int
    text: str
    anchor: str


def _bare(name: str) -> str:
    return name.removesuffix("()").casefold()


def _is_bare(block: Block) -> bool:
    """Whether the first block of a definition contains only its term: a signature, a name."""
    return block.kind is BlockKind.PARAGRAPH or block.text.rstrip(" :") == block.terms[-1]


class UnitReader:
    """Reads one document's blocks, once and lazily."""

    def __init__(self, options: ChunkingOptions, tokenizer: Tokenizer, limits: TextLimits) -> None:
        self._options = options
        self._tokenizer = tokenizer
        self._limits = limits
        self._position = 0
        self._gap: str | None = ""
        self._stack: list[_Name] = []
        self._terms: list[_Name] = []
        self._opens_term = False
        self._is_bare = False  # the block before is a term without a word of its definition
        self._slugs: Counter[str] = Counter()
        self._headings: list[Unit] = []
        self._last: Block | None = None
        self._number = 0

    def units(self, blocks: Iterable[Block], *, by_page: bool = False) -> Iterator[Unit]:
        """Yield the units of all blocks. Headings are deferred until their content follows.

        `by_page`: nothing joins the units of two pages.
        """
        page: int | None = None
        for self._number, block in enumerate(blocks):
            cursor = 0
            if by_page and block.page != page:
                self._gap, page = None, block.page
            self._enter(block)
            for piece in self._pieces(block):
                self._grow_gap(block.text[cursor : piece.start])
                unit = self._unit(block, piece, opens_block=not cursor)
                self._gap, cursor = "", piece.end
                if unit.kind is BlockKind.HEADING:
                    yield from self._hold(unit)
                else:
                    yield from self._release(unit)
            if cursor:
                self._last = block
                self._is_bare = self._opens_term and _is_bare(block)
            self._grow_gap(block.text[cursor:])
            self._grow_gap(BLOCK_SEPARATOR)
            self._position += len(block.text) + len(BLOCK_SEPARATOR)
        yield from self._headings

    def _enter(self, block: Block) -> None:
        """Add the block's terms to the path, except one that the heading already names."""
        terms = (
            [] if block.kind is BlockKind.HEADING else [short_name(term) for term in block.terms]
        )
        if terms and self._stack and _bare(terms[0]) == _bare(self._stack[-1].text):
            del terms[0]
        same = 0
        while terms[same:] and self._terms[same:] and terms[same] == self._terms[same].text:
            same += 1
        self._opens_term = same < len(terms)
        self._terms[same:] = [_Name(0, term, self._anchor(term)) for term in terms[same:]]

    def _anchor(self, name: str) -> str:
        """The name as an anchor for addresses, unique in the document."""
        slug = _NO_SLUG.sub("-", name.casefold()).strip("-")[:MAX_ANCHOR_CHARS] or "section"
        anchor = slug
        while anchor in self._slugs:
            self._slugs[slug] += 1
            anchor = f"{slug}-{self._slugs[slug]}"
        self._slugs[anchor] = 1
        return anchor

    def _pieces(self, block: Block) -> Iterator[Piece]:
        if not block.text or block.text.isspace():
            return iter(())
        if block.kind is BlockKind.HEADING and (heading := self._heading_piece(block)):
            return iter((heading,))
        path = tuple(name.text for name in self._names())
        headings_weight = sum(heading.weight for heading in self._headings)
        limit = self._limits.of(path) - headings_weight
        if block.kind is BlockKind.TABLE:
            size = self._limits.size(path) - headings_weight
            return table_pieces(block.text, block.has_header, size, limit, self._tokenizer)
        if block.kind is BlockKind.CODE:
            return code_pieces(block.text, limit, self._tokenizer)
        if block.kind is BlockKind.LIST_ITEM:
            return whole_or_sentences(block.text, limit, self._tokenizer)
        return prose_pieces(block.text, limit, self._tokenizer)

    def _heading_piece(self, block: Block) -> Piece | None:
        """The heading's piece, after adding it to the path; None for prose marked as a heading."""
        text = block.text.strip()
        level = max(1, block.level)
        outer = [entry for entry in self._stack if entry.level < level]
        name = short_name(text)
        if len(text) > self._options.target_tokens * 8:  # over half a chunk at 4 chars each
            return None
        weight = self._tokenizer.count(text)
        if weight > self._heading_room((*(entry.text for entry in outer), name)):
            return None
        self._stack = [*outer, _Name(level, name, self._anchor(name))]
        start = len(block.text) - len(block.text.lstrip())
        before = Break.SECTION if level <= LAST_SECTION_LEVEL else Break.SUBSECTION
        return Piece(start, start + len(text), weight, before)

    def _heading_room(self, path: tuple[str, ...]) -> int:
        return self._limits.size(path) // 2

    def _unit(self, block: Block, piece: Piece, *, opens_block: bool) -> Unit:
        # Only a real heading's piece has such a break; any other first piece gets its block's.
        kind, before = block.kind, piece.before
        if kind is BlockKind.HEADING and before < Break.SUBSECTION:
            kind = BlockKind.PARAGRAPH
        if opens_block and before < Break.SUBSECTION:
            before = self._block_break(block)
        names = self._names()
        return Unit(
            start=self._position + piece.start,
            text=block.text[piece.start : piece.end],
            space_before=self._gap,
            weight=piece.weight,
            kind=kind,
            before=before,
            path=tuple(name.text for name in names),
            page=block.page,
            header=piece.header,
            block=self._number,
            level=block.level,
            anchors=tuple(name.anchor for name in names),
            opens=kind is BlockKind.HEADING or (opens_block and self._opens_term),
        )

    def _block_break(self, block: Block) -> Break:
        last = self._last
        if last is None:
            return Break.BLOCK
        if self._opens_term:
            return Break.TERM
        if self._is_bare and block.terms == last.terms:
            return Break.NEVER
        if block.kind is BlockKind.LIST_ITEM and last.kind is BlockKind.LIST_ITEM:
            return Break.ITEM
        # "For example:" belongs to the list or table that it introduces.
        introduces = last.kind is BlockKind.PARAGRAPH and last.text.rstrip()[-1:] in {":", "："}
        if introduces and block.kind is not BlockKind.PARAGRAPH:
            return Break.SENTENCE
        return Break.BLOCK

    def _hold(self, heading: Unit) -> Iterator[Unit]:
        """Defer the heading; release deferred headings that would fill half a chunk."""
        weight = sum(other.weight for other in self._headings) + heading.weight
        if self._headings and weight > self._heading_room(heading.path):
            yield from self._headings
            self._headings = []
        self._headings.append(heading)

    def _release(self, unit: Unit) -> Iterator[Unit]:
        """Yield the deferred headings, then the unit; only the first allows a break before it."""
        if not self._headings:
            yield unit
            return
        strongest = max(heading.before for heading in self._headings)
        for index, heading in enumerate(self._headings):
            yield replace(heading, before=Break.NEVER if index else strongest)
        self._headings = []
        yield replace(unit, before=Break.NEVER)

    def _names(self) -> list[_Name]:
        return self._stack + self._terms

    def _grow_gap(self, text: str) -> None:
        if self._gap is not None:
            whole = self._gap + text
            self._gap = whole if len(whole) <= MAX_GAP_CHARS else None
