"""Units -> passages of the target size, cut at the best place, -> ChunkDrafts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ingestion.chunking.embedding_text import TextLimits
from ingestion.chunking.options import ChunkingOptions
from ingestion.chunking.sections import common_path
from ingestion.chunking.text_splitting import Break
from ingestion.chunking.units import PROSE, Unit, UnitReader
from ingestion.domain import Block, BlockKind, BlockPlace, ChunkDraft, SectionPlace
from ingestion.embedding.protocol import Tokenizer

# How full a passage must be, in shares of the target, before a cut of this kind is taken.
# A heading is worth a short chunk, a sentence's end is not. Guesses. A definition that fits a chunk
# is not split.
FILL = {
    Break.SUBSECTION: 0.25, Break.TERM: 0, Break.BLOCK: 0.5, Break.ITEM: 0.5, Break.SENTENCE: 0.75
}  # fmt: skip
SUBSECTION_FILL = 0.5  # a fuller passage is closed as soon as a subsection begins


def chunk_blocks(
    blocks: Iterable[Block],
    options: ChunkingOptions,
    tokenizer: Tokenizer,
    *,
    title: str = "",
    by_page: bool = False,
) -> Iterator[ChunkDraft]:
    """Yield the document's chunks in reading order, ordinals from 0.

    None for a document without a letter or digit, and none of a part without.
    `by_page`: no chunk has text of two pages, as of slides.
    Lazy: reads blocks on demand and holds little more than one chunk in memory.
    """
    limits = TextLimits(title, options, tokenizer)
    units = UnitReader(options, tokenizer, limits).units(blocks, by_page=by_page)
    passages = _join_tiny(_Packer(options, limits).passages(units), options, limits)
    ordinal = 0
    for passage in filter(_has_words, passages):
        for draft in _drafts_of(passage, ordinal, limits, tokenizer):
            yield draft
            ordinal += 1


@dataclass(frozen=True, slots=True)
class _Passage:
    """Consecutive units that make one chunk; the first `overlap` also end the previous passage.

    `opens` and `closes`: a section of the document begins or ends with this passage.
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

    def joinable_to(self, following: _Passage) -> bool:
        """True if the two are contiguous text: no repeated header, no long gap."""
        bridged = following.own[0].space_before is not None
        return bridged and not any(unit.header for unit in (*self.units, *following.units))

    def joined(self, following: _Passage) -> _Passage:
        units = (*self.units, *following.own)
        return _Passage(units, self.overlap, opens=self.opens, closes=following.closes)


class _Packer:
    """Fills passages with units; cuts a passage that overflows at its best break."""

    def __init__(self, options: ChunkingOptions, limits: TextLimits) -> None:
        self._options = options
        self._limits = limits
        self._units: list[Unit] = []
        self._weight = 0
        self._overlap = 0  # number of leading units shared with the previous passage
        self._opens = True

    def passages(self, units: Iterable[Unit]) -> Iterator[_Passage]:
        for unit in units:
            if self._must_close(unit):
                yield from self._close(ends=unit.before is Break.SECTION)
            while self._units and self._weight + unit.weight > self._size(unit):
                if len(self._units) == self._overlap:
                    self._units, self._weight, self._overlap = [], 0, 0
                    break
                cut = self._best_cut(unit)
                if cut is None:
                    if self._weight + unit.weight <= self._size(unit, hard=True):
                        break
                    cut = len(self._units)
                yield from self._cut(cut, unit)
            self._units.append(unit)
            self._weight += unit.weight
            if unit.header:
                yield from self._close(ends=False)
        yield from self._close(ends=True)

    def _must_close(self, unit: Unit) -> bool:
        if unit.space_before is None or unit.header or unit.before is Break.SECTION:
            return True
        full = self._weight > SUBSECTION_FILL * self._options.target_tokens
        return unit.before is Break.SUBSECTION and full

    def _size(self, unit: Unit, *, hard: bool = False) -> int:
        """The weight allowed with `unit` added: the minimum over every path it may get."""
        limit = self._limits.of if hard else self._limits.size
        paths = {waiting.path for waiting in self._units} | {unit.path}
        return min(limit(path) for path in paths | {common_path(paths)})

    def _best_cut(self, unit: Unit) -> int | None:
        """The index to cut before, or None if headings forbid every cut.

        The last of the strongest breaks that leave a full enough passage; if there is none,
        of those that leave no tiny passage; if there is none either, of all.
        """
        target = self._options.target_tokens
        full: list[tuple[Break, int]] = []
        possible: list[tuple[bool, Break, int]] = []
        weight = sum(other.weight for other in self._units[: self._overlap])
        following = [*self._units[self._overlap + 1 :], unit]
        for index, candidate in enumerate(following, start=self._overlap + 1):
            weight += self._units[index - 1].weight
            if candidate.before is Break.NEVER:
                continue
            if weight >= FILL.get(candidate.before, 0) * target:
                full.append((candidate.before, index))
            possible.append((weight >= self._options.tiny_tokens, candidate.before, index))
        return max(full)[1] if full else max(possible)[2] if possible else None

    def _cut(self, index: int, unit: Unit) -> Iterator[_Passage]:
        """Close the passage before `index`; keep the overlap and the rest open."""
        closed, rest = self._units[:index], self._units[index:]
        first_overlap = self._overlap
        rest_weight = sum(other.weight for other in rest)
        overlap = self._overlapping(closed[first_overlap:], [*rest, unit], rest_weight)
        yield _Passage(tuple(closed), first_overlap, opens=self._opens, closes=False)
        self._units = [*overlap, *rest]
        self._overlap = len(overlap)
        self._weight = rest_weight + sum(other.weight for other in overlap)
        self._opens = False

    def _overlapping(self, closed: list[Unit], following: list[Unit], weight: int) -> list[Unit]:
        """The last whole sentences of `closed`, if the following units continue its prose."""
        first, unit = following[0], following[-1]
        if first.kind not in PROSE or not Break.SENTENCE <= first.before <= Break.BLOCK:
            return []
        room = min(self._options.overlap_tokens, self._size(unit) - weight - unit.weight)
        overlap: list[Unit] = []
        for other in reversed(closed[1:]):
            room -= other.weight
            if room < 0 or other.kind not in PROSE or other.path != first.path:
                break
            overlap.insert(0, other)
        return overlap

    def _close(self, *, ends: bool) -> Iterator[_Passage]:
        if len(self._units) > self._overlap:
            yield _Passage(tuple(self._units), self._overlap, opens=self._opens, closes=ends)
            self._opens = False
        self._units, self._weight, self._overlap = [], 0, 0
        self._opens = self._opens or ends


def _has_words(passage: _Passage) -> bool:
    """Whether the passage has a letter or digit: a file of brackets would keep a model busy."""
    return any(char.isalnum() for unit in passage.units for char in unit.text)


def _join_tiny(
    passages: Iterable[_Passage], options: ChunkingOptions, limits: TextLimits
) -> Iterator[_Passage]:
    """Join tiny passages to a neighbour where the structure allows it."""
    previous: _Passage | None = None
    for passage in passages:
        if previous is not None and _may_join(previous, passage, options, limits):
            previous = previous.joined(passage)
            continue
        if previous is not None:
            yield previous
        previous = passage
    if previous is not None:
        yield previous


def _may_join(
    left: _Passage, right: _Passage, options: ChunkingOptions, limits: TextLimits
) -> bool:
    if not left.joinable_to(right):
        return False
    own = right.own_weight
    paths = {unit.path for unit in (*left.units, *right.units)}
    if left.weight + own > min(limits.of(path) for path in paths | {common_path(paths)}):
        return False
    tiny = options.tiny_tokens
    if left.whole_sections and right.whole_sections:
        return left.weight < tiny and own < tiny
    # A short remainder rejoins its passage, but a subsection's own text stays separate.
    rest = Break.SENTENCE <= right.own[0].before <= Break.TERM
    return rest and not right.opens and own < tiny


def _drafts_of(
    passage: _Passage, ordinal: int, limits: TextLimits, tokenizer: Tokenizer
) -> Iterator[ChunkDraft]:
    """The passage as one chunk, or as several if the exact token count exceeds the limit.

    That happens with tokenizers that split the joined text differently from its parts.
    """
    units = passage.units
    text = _text(units)
    path = _path(units)
    tokens = tokenizer.count(text)
    if tokens > limits.of(path) and (parts := _smaller(passage)):
        for smaller in parts:
            part = _Passage(smaller, 0, opens=False, closes=False)
            for draft in _drafts_of(part, ordinal, limits, tokenizer):
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
        layout=_layout(units),
        sections=tuple(_sections(units, path)),
    )


def _placed(units: tuple[Unit, ...]) -> Iterator[tuple[int, Unit]]:
    """Each unit with its offset in the chunk's text."""
    position = 0
    for number, unit in enumerate(units):
        position += len(unit.space_before or "") if number else 0
        yield position, unit
        if not number and unit.header:
            position += len(unit.header) + 1
        position += len(unit.text)


def _layout(units: tuple[Unit, ...]) -> tuple[BlockPlace, ...]:
    """The offset of each block in the chunk's text."""
    places: dict[int, BlockPlace] = {}
    for position, unit in _placed(units):
        places.setdefault(unit.block, BlockPlace(position, unit.kind, unit.level))
    return tuple(places.values())


def _sections(units: tuple[Unit, ...], current: tuple[str, ...]) -> Iterator[SectionPlace]:
    """The sections of a chunk below the headings `current`, beginning with the one at its start.

    After a definition within a section, that section is listed again.
    """
    for number, (position, unit) in enumerate(_placed(units)):
        path = unit.path
        if number and not unit.opens and path == current:
            continue
        shared = len(common_path((path, current)))
        first = min(shared, len(path) - unit.opens)
        if first == len(path):
            first -= 1
        for level in range(max(first, 0), len(path)):
            yield SectionPlace(position, level + 1, path[level], unit.anchors[level])
        if not path and number:
            yield SectionPlace(position, 0, "", "")
        current = path


def _text(units: tuple[Unit, ...]) -> str:
    parts = [units[0].text]
    for unit in units[1:]:
        parts += (unit.space_before or "", unit.text)
    # A table piece may follow its heading, but then it is the table's first and has no header.
    header = units[0].header
    return f"{header}\n{parts[0]}" if header else "".join(parts)


def _path(units: tuple[Unit, ...]) -> tuple[str, ...]:
    """The headings above all of the content; without content, the last heading's path."""
    content = {unit.path for unit in units if unit.kind is not BlockKind.HEADING}
    return common_path(content) if content else units[-1].path


def _kind(units: tuple[Unit, ...]) -> BlockKind:
    """The kind that makes up most of the content."""
    weights: Counter[BlockKind] = Counter()
    for unit in units:
        if unit.kind is not BlockKind.HEADING:
            weights[unit.kind] += max(1, unit.weight)
    return weights.most_common(1)[0][0] if weights else BlockKind.HEADING


def _smaller(passage: _Passage) -> tuple[tuple[Unit, ...], ...]:
    """Smaller groups of the passage's units; empty if it cannot be reduced.

    Drops the overlap first; then halves the units; then drops a single unit's header; then
    halves its text.
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
    right = replace(unit, start=unit.start + middle, text=unit.text[middle:], space_before="")
    return tuple((half,) for half in (left, right) if half.text.strip())
