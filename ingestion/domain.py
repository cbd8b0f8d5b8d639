"""The value types of an upload: Block, Completeness, ParsedDocument, ChunkDraft. No Django."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

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


Unit = StrEnum("Unit", "PAGE SHEET SLIDE CHAPTER MESSAGE FILE CELL OUTPUT CHARACTER")
"""What a file consists of; gaps are counted in it."""
Why = StrEnum(
    "Why",
    "NO_OCR OCR_LIMIT OCR_FAILED PICTURE DAMAGED CUT_OFF ENCRYPTED UNSUPPORTED MISMATCH LINK "
    "NESTED LIMIT EMBEDDED NO_VALUE SHORTENED DROPPED UNDECODED BLANK WORDLESS HIDDEN",
)
"""Why a part of a file has no searchable text. Nothing is lost by the last three."""
ALL, NO_LOSS = frozenset(Why), frozenset({Why.BLANK, Why.WORDLESS, Why.HIDDEN})
EMPTY = frozenset({Why.NO_OCR, Why.PICTURE, Why.BLANK, Why.WORDLESS})
OVER_LIMIT = frozenset({Why.OCR_LIMIT, Why.NESTED, Why.LIMIT, Why.SHORTENED})
MAX_PLACES, _LONGEST_PLACE = 10, 200


@dataclass(frozen=True, slots=True)
class Gap:
    """`count` units without searchable text; `places` are numbers or names of the first ones."""

    unit: Unit
    why: Why
    count: int
    places: tuple[str, ...] = ()


# Guesses: characters that a reader of a format may differ in from the file's own count, and the
# share of undecodable characters of which a text is readable.
_DROPPED_SHARE, _FEWEST_DROPPED, _UNDECODED_SHARE = 0.1, 100, 0.02


@dataclass(slots=True)
class Completeness:
    """How much of a file became searchable, as its parser counted.

    `total` is the number of its units, 0 for a format without; `recognised` of them were read by
    OCR. `others` are the numbers of other units that it has (the files attached to a message).
    `found` and `kept` are characters without spaces, `pictures` those of PDFs, office documents,
    books, mail and notebooks.
    """

    unit: Unit | None = None
    total: int = 0
    recognised: int = 0
    tables: int = 0
    pictures: int = 0
    found: int = 0
    kept: int = 0
    others: dict[Unit, int] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)

    def add(self, unit: Unit, why: Why, places: Collection[object] = (), count: int = 0) -> None:
        """Add `count` units to a gap, by default one for each place; nothing if 0."""
        texts = tuple(str(place)[:_LONGEST_PLACE] for place in places)
        if count := count or len(texts):
            alike = [gap for gap in self.gaps if (gap.unit, gap.why) == (unit, why)]
            for gap in alike:
                self.gaps.remove(gap)
                count, texts = gap.count + count, gap.places + texts
            self.gaps.append(Gap(unit, why, count, texts[:MAX_PLACES]))

    def compare(self, expected: int, extracted: int) -> None:
        """Record the file's own number of characters; a gap if much fewer were extracted."""
        self.found = expected
        if expected - extracted > max(_FEWEST_DROPPED, _DROPPED_SHARE * expected):
            self.add(Unit.CHARACTER, Why.DROPPED, count=expected - extracted)

    def keep(self, characters: int, undecoded: int, tables: int) -> None:
        """Record the extracted characters and tables; `undecoded` characters fit no encoding."""
        self.found = max(self.found, characters)
        self.kept, self.tables = characters - undecoded, tables
        if undecoded > _UNDECODED_SHARE * characters:
            self.add(Unit.CHARACTER, Why.UNDECODED, count=undecoded)

    def of(self, whys: Collection[Why]) -> int:
        """The number of units (of `unit`) without text for one of these reasons."""
        return sum(gap.count for gap in self.gaps if gap.unit is self.unit and gap.why in whys)

    @property
    def with_text(self) -> int:
        return max(0, self.total - self.of(ALL))

    @property
    def empty(self) -> int:
        return self.of(EMPTY)

    @property
    def over_limit(self) -> int:
        return self.of(OVER_LIMIT)

    @property
    def failed(self) -> int:
        return self.of(ALL - EMPTY - OVER_LIMIT - {Why.HIDDEN})

    @property
    def losses(self) -> list[Gap]:
        return [gap for gap in self.gaps if gap.why not in NO_LOSS]

    @property
    def missing(self) -> float:
        """The largest lost share of any kind of unit, in [0, 1]; 0 if nothing is lost."""
        lost: Counter[Unit] = Counter()
        for gap in self.losses:
            # It is not known how much is missing at the end of a file that was cut off.
            lost[gap.unit] += gap.count if gap.why is not Why.CUT_OFF else 0
        totals = {**self.others, Unit.CHARACTER: self.found}
        if self.unit:
            totals[self.unit] = self.total
        shares = [count / max(count, totals.get(unit, 0), 1) for unit, count in lost.items()]
        return max((max(round(share, 4), 0.0001) for share in shares), default=0.0)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "missing": self.missing}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Completeness:
        """The inverse of `as_json`. Raises KeyError, TypeError and ValueError for other input."""
        numbers = dict(stored)
        unit, others, gaps, _ = map(numbers.pop, ("unit", "others", "gaps", "missing"))
        return cls(
            Unit(unit) if unit else None,
            others={Unit(unit): int(count) for unit, count in others.items()},
            gaps=[
                Gap(Unit(gap["unit"]), Why(gap["why"]), int(gap["count"]), _clean(gap["places"]))
                for gap in gaps
            ],
            **{name: int(number) for name, number in numbers.items()},
        )


def _clean(places: Sequence[str]) -> tuple[str, ...]:
    """Names without invisible characters and those that a database refuses."""
    return tuple("".join(filter(str.isprintable, str(place))) for place in places)


def visible(block: Block) -> int:
    """The number of a block's characters, without spaces and cell separators."""
    cells = (cell for row in block.rows for cell in row)
    return sum(len("".join(text.split())) for text in (cells if block.rows else (block.text,)))


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The result of parsing: blocks in reading order and the file's own metadata.

    Metadata that the file does not state is empty, never guessed: defaults for title and
    language are set later, in `services`. Dates are ISO 8601 strings, as precise as the file
    states. `warnings` are sentences for people ("Two pages contain only images."), `stated` what
    it says of its currency (`ingestion.currency_dates.values_of`).
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
    completeness: Completeness = field(default_factory=Completeness)
    stated: Mapping[str, Any] = field(default_factory=dict)


def extracted_text(blocks: Sequence[Block]) -> str:
    """The document's text: all blocks' text in order. Chunk offsets refer to it."""
    return BLOCK_SEPARATOR.join(block.text for block in blocks)


class BlockPlace(NamedTuple):
    """The offset of a block in a chunk's text, its kind, and its level as in Block.

    The block extends to the next one's beginning; the white space between them belongs to neither.
    """

    start: int
    kind: BlockKind
    level: int


class SectionPlace(NamedTuple):
    """A section, or a part of one, in a chunk: below a heading, or the definition of a term.

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
