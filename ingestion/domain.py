"""The value types of an upload: Block, ParsedDocument, ChunkDraft. No Django, no I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

BLOCK_SEPARATOR = "\n\n"
CELL_SEPARATOR = " | "


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """One structural unit of a document, in reading order.

    `level` is 1-6 for a heading, 0 (outermost) upwards for a list item, 0 otherwise.
    `page` counts from 1 and is None where the format has no pages.
    `rows` are a table's cells; with `has_header` the first row is the header. A table's `text`
    has one row per line, cells joined by CELL_SEPARATOR: build it with `table()`.
    `terms` are those whose definitions it is part of, outermost first. A definition begins with the
    block whose terms differ from those of the block before.
    """

    kind: BlockKind
    text: str
    level: int = 0
    page: int | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    has_header: bool = False
    terms: tuple[str, ...] = ()

    @classmethod
    def table(
        cls,
        rows: Sequence[Sequence[str]],
        *,
        has_header: bool,
        page: int | None = None,
        terms: tuple[str, ...] = (),
    ) -> Block:
        cells = tuple(tuple(" ".join(cell.split()) for cell in row) for row in rows)
        text = "\n".join(row_text(row) for row in cells)
        return cls(BlockKind.TABLE, text, page=page, rows=cells, has_header=has_header, terms=terms)


def row_text(row: Sequence[str]) -> str:
    """A table row as it appears in the extracted text."""
    return CELL_SEPARATOR.join(row)


@dataclass(frozen=True, slots=True)
class Part:
    """A file within a file: a member of an archive, an attachment of a message.

    `path` is its path inside the containing file, unique and displayable ("reports/q3.pdf").
    `file` holds its bytes until the caller of the parser deletes it.
    """

    path: str
    file: Path
    size: int


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The result of parsing: blocks in reading order and the file's own metadata.

    Metadata that the file does not state is empty, never guessed: defaults for title and
    language are set later, in `services`. Dates are ISO 8601 strings, as precise as the file
    states. `warnings` are sentences for people ("Two pages contain only images.").
    """

    blocks: tuple[Block, ...]
    title: str = ""
    author: str = ""
    language: str = ""
    created: str = ""
    modified: str = ""
    page_count: int | None = None
    parser: str = ""
    warnings: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


def extracted_text(blocks: Sequence[Block]) -> str:
    """The document's text: all blocks' text in order. Chunk offsets refer to it."""
    return BLOCK_SEPARATOR.join(block.text for block in blocks)


class BlockPlace(NamedTuple):
    """Where a block begins in a chunk's text, its kind, and its level as in Block.

    The block extends to the next one's beginning; the white space between them belongs to neither.
    """

    start: int
    kind: BlockKind
    level: int


class SectionPlace(NamedTuple):
    """A section that a chunk holds, or a part of it: a heading's, or the definition of a term.

    `start` is its offset in the chunk's text, `level` the number of names in its path, which are
    those above it and its own `heading`. `anchor` is unique in the document.
    """

    start: int
    level: int
    heading: str
    anchor: str


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk before it is stored, without id, lexemes or embedding.

    `text` is the displayed text. `start` and `end` are its [start, end) offsets in the extracted
    text; for a table piece with a repeated header they cover only the rows, and for a chunk with
    overlap they begin at the overlap. `tokens` counts `text` in the embedding model's own tokens,
    without special tokens. `layout` are the blocks in `text`, in order, and `sections` its sections
    below `heading_path`, in order; the first one, at 0, may have begun in the chunk before.
    """

    ordinal: int
    text: str
    start: int
    end: int
    tokens: int
    kind: BlockKind = BlockKind.PARAGRAPH
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    content_hash: str = field(default="")
    layout: tuple[BlockPlace, ...] = ()
    sections: tuple[SectionPlace, ...] = ()

    def __post_init__(self) -> None:
        if not self.content_hash:
            digest = hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()
            object.__setattr__(self, "content_hash", digest)
