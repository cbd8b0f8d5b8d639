"""Units -> passages of the wished size, cut at the best place, -> ChunkDrafts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingestion.chunking.options import ChunkingOptions
from ingestion.chunking.passages import Passage, common_path, drafts_of
from ingestion.chunking.pieces import Break
from ingestion.chunking.prefix import TextLimits
from ingestion.chunking.units import PROSE, Unit, UnitReader
from ingestion.domain import Block, ChunkDraft
from ingestion.embedding.protocol import Tokenizer

# How full a passage must be, in shares of the target, before a cut of this kind is taken.
# A heading is worth a short chunk, a sentence's end is not. Guesses.
FILL = {Break.SUBSECTION: 0.25, Break.BLOCK: 0.5, Break.ITEM: 0.5, Break.SENTENCE: 0.75}
SUBSECTION_FILL = 0.5  # a fuller passage is closed as soon as a subsection begins


def chunk_blocks(
    blocks: Iterable[Block],
    options: ChunkingOptions,
    tokenizer: Tokenizer,
    *,
    title: str = "",
) -> Iterator[ChunkDraft]:
    """The document's chunks in reading order, ordinals from 0; none for a document without text.

    Lazy: blocks are drawn as chunks are taken, and little more than a chunk is held.
    """
    limits = TextLimits(title, options, tokenizer)
    units = UnitReader(options, tokenizer, limits).units(blocks)
    passages = _join_tiny(_Packer(options, limits).passages(units), options, limits)
    ordinal = 0
    for passage in passages:
        for draft in drafts_of(passage, ordinal, limits, tokenizer):
            yield draft
            ordinal += 1


class _Packer:
    """Fills passages with units; when one overflows, cuts it at the best place in it."""

    def __init__(self, options: ChunkingOptions, limits: TextLimits) -> None:
        self._options = options
        self._limits = limits
        self._units: list[Unit] = []
        self._weight = 0
        self._overlap = 0  # how many of the first units the passage before holds too
        self._opens = True

    def passages(self, units: Iterable[Unit]) -> Iterator[Passage]:
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
        if unit.lead is None or unit.header or unit.before is Break.SECTION:
            return True
        full = self._weight > SUBSECTION_FILL * self._options.target_tokens
        return unit.before is Break.SUBSECTION and full

    def _size(self, unit: Unit, *, hard: bool = False) -> int:
        """What the passage with `unit` may weigh under every path it could be given."""
        limit = self._limits.of if hard else self._limits.size
        paths = {held.path for held in self._units} | {unit.path}
        return min(limit(path) for path in paths | {common_path(paths)})

    def _best_cut(self, unit: Unit) -> int | None:
        """The index to cut before: the strongest break in a full enough passage, the last of
        those; else the strongest that leaves no tiny passage; None where headings forbid all.
        """
        target = self._options.target_tokens
        full: list[tuple[Break, int]] = []
        possible: list[tuple[bool, Break, int]] = []
        weight = sum(held.weight for held in self._units[: self._overlap])
        following = [*self._units[self._overlap + 1 :], unit]
        for index, candidate in enumerate(following, start=self._overlap + 1):
            weight += self._units[index - 1].weight
            if candidate.before is Break.NEVER:
                continue
            if weight >= FILL.get(candidate.before, 0) * target:
                full.append((candidate.before, index))
            possible.append((weight >= self._options.tiny_tokens, candidate.before, index))
        return max(full)[1] if full else max(possible)[2] if possible else None

    def _cut(self, index: int, unit: Unit) -> Iterator[Passage]:
        """Closes the passage before `index`; the rest, behind its overlap, stays open."""
        closed, rest = self._units[:index], self._units[index:]
        first_overlap = self._overlap
        rest_weight = sum(held.weight for held in rest)
        overlap = self._overlapping(closed[first_overlap:], [*rest, unit], rest_weight)
        yield Passage(tuple(closed), first_overlap, opens=self._opens, closes=False)
        self._units = [*overlap, *rest]
        self._overlap = len(overlap)
        self._weight = rest_weight + sum(held.weight for held in overlap)
        self._opens = False

    def _overlapping(self, closed: list[Unit], following: list[Unit], weight: int) -> list[Unit]:
        """The last whole sentences of `closed`, if it and what follows are the same prose."""
        first, unit = following[0], following[-1]
        if first.kind not in PROSE or not Break.SENTENCE <= first.before <= Break.BLOCK:
            return []
        room = min(self._options.overlap_tokens, self._size(unit) - weight - unit.weight)
        overlap: list[Unit] = []
        for held in reversed(closed[1:]):
            room -= held.weight
            if room < 0 or held.kind not in PROSE or held.path != first.path:
                break
            overlap.insert(0, held)
        return overlap

    def _close(self, *, ends: bool) -> Iterator[Passage]:
        if len(self._units) > self._overlap:
            yield Passage(tuple(self._units), self._overlap, opens=self._opens, closes=ends)
            self._opens = False
        self._units, self._weight, self._overlap = [], 0, 0
        self._opens = self._opens or ends


def _join_tiny(
    passages: Iterable[Passage], options: ChunkingOptions, limits: TextLimits
) -> Iterator[Passage]:
    """The passages, the tiny ones joined to a neighbour where the structure allows it."""
    held: Passage | None = None
    for passage in passages:
        if held is not None and _may_join(held, passage, options, limits):
            held = held.joined(passage)
            continue
        if held is not None:
            yield held
        held = passage
    if held is not None:
        yield held


def _may_join(left: Passage, right: Passage, options: ChunkingOptions, limits: TextLimits) -> bool:
    if not left.joinable_to(right):
        return False
    own = right.own_weight
    paths = {unit.path for unit in (*left.units, *right.units)}
    if left.weight + own > min(limits.of(path) for path in paths | {common_path(paths)}):
        return False
    tiny = options.tiny_tokens
    if left.whole_sections and right.whole_sections:
        return left.weight < tiny and own < tiny
    # The short rest of a passage goes back to it, but a subsection's own text stays apart.
    rest = Break.SENTENCE <= right.own[0].before <= Break.BLOCK
    return rest and not right.opens and own < tiny
