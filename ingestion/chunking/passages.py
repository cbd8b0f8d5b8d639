"""A passage: units that make one chunk. Here it gets its text, path, page and exact count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ingestion.chunking.prefix import TextLimits
from ingestion.chunking.units import Unit
from ingestion.domain import BlockKind, ChunkDraft
from ingestion.embedding.protocol import Tokenizer


@dataclass(frozen=True, slots=True)
class Passage:
    """Units that follow one another; the first `overlap` of them the passage before holds too.

    `opens` and `closes` say that a section of the document begins and ends with it.
    """

    units: tuple[Unit, ...]
    overlap: int
    opens: bool
    closes: bool

    @property
    def own(self) -> tuple[Unit, ...]:
        return self.units[self.overlap :]

    @property
    def weight(self) -> int:
        return sum(unit.weight for unit in self.units)

    @property
    def own_weight(self) -> int:
        return sum(unit.weight for unit in self.own)

    @property
    def whole_sections(self) -> bool:
        return self.opens and self.closes

    def joinable_to(self, following: Passage) -> bool:
        """Whether the two are one stretch of text: no repeated header, no long gap."""
        bridged = following.own[0].lead is not None
        return bridged and not any(unit.header for unit in (*self.units, *following.units))

    def joined(self, following: Passage) -> Passage:
        units = (*self.units, *following.own)
        return Passage(units, self.overlap, opens=self.opens, closes=following.closes)


def common_path(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings that all the paths begin with."""
    distinct = list(paths)
    low, high = min(distinct), max(distinct)  # the two that differ first, by order
    length = 0
    for left, right in zip(low, high, strict=False):
        if left != right:
            break
        length += 1
    return low[:length]


def drafts_of(
    passage: Passage, ordinal: int, limits: TextLimits, tokenizer: Tokenizer
) -> Iterator[ChunkDraft]:
    """The passage as a chunk; as several where the exact count passes the limit after all.

    That happens where a tokenizer sees the joined text differently from its parts.
    """
    units = passage.units
    text = _text(units)
    path = _path(units)
    tokens = tokenizer.count(text)
    if tokens > limits.of(path) and (parts := _smaller(passage)):
        for smaller in parts:
            part = Passage(smaller, 0, opens=False, closes=False)
            for draft in drafts_of(part, ordinal, limits, tokenizer):
                yield draft
                ordinal = draft.ordinal + 1
        return
    yield ChunkDraft(
        ordinal=ordinal,
        text=text,
        start=units[0].start,
        end=units[-1].end,
        tokens=tokens,
        kind=_kind(units),
        heading_path=path,
        page=units[0].page,
    )


def _text(units: tuple[Unit, ...]) -> str:
    parts = [units[0].text]
    for unit in units[1:]:
        parts += (unit.lead or "", unit.text)
    # A table's piece may stand behind its heading, but then it is the first and has no header.
    header = units[0].header
    return f"{header}\n{parts[0]}" if header else "".join(parts)


def _path(units: tuple[Unit, ...]) -> tuple[str, ...]:
    """The headings above all of the content; above the last heading where there is no content."""
    content = {unit.path for unit in units if unit.kind is not BlockKind.HEADING}
    return common_path(content) if content else units[-1].path


def _kind(units: tuple[Unit, ...]) -> BlockKind:
    """The kind that makes up most of the content."""
    weights: Counter[BlockKind] = Counter()
    for unit in units:
        if unit.kind is not BlockKind.HEADING:
            weights[unit.kind] += max(1, unit.weight)
    return weights.most_common(1)[0][0] if weights else BlockKind.HEADING


def _smaller(passage: Passage) -> tuple[tuple[Unit, ...], ...]:
    """The units without the overlap, else in two parts, a single one cut in the middle.

    Empty if none of that can be done.
    """
    if passage.overlap:
        return (passage.own,)
    units = passage.units
    if len(units) > 1:
        middle = len(units) // 2
        return units[:middle], units[middle:]
    unit = units[0]
    if unit.header:
        return ((replace(unit, header=""),),)
    middle = len(unit.text) // 2
    if not middle:
        return ()
    left = replace(unit, text=unit.text[:middle])
    right = replace(unit, start=unit.start + middle, text=unit.text[middle:], lead="")
    return tuple((half,) for half in (left, right) if half.text.strip())
