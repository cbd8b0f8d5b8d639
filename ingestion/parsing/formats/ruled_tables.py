"""Tables of a PDF within drawn lines, read by these where liteparse reads other rows or columns.

liteparse goes by the gaps between words: it takes a column of wrapped texts for one of the page,
and tables that follow each other for one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise, product
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ingestion.parsing.formats.pdf_layout import (
    LARGER,
    by_line,
    is_beside,
    middle,
    rows_of,
    text_of,
)
from ingestion.parsing.formats.pdf_letters import Letters
from ingestion.parsing.formats.pdf_tables import parted_at_gaps, spelt

if TYPE_CHECKING:
    from liteparse import AnnotationRect, LayoutBlock, ParsedPage, TextItem, VectorGraphics

# Points: the width of a line at most, and how far two that meet may be apart. Guesses.
_THIN, _APART = 2.5, 2.5
# Guesses: lines of a drawing that is no table, and the share of a table's cells with a text.
_MOST_LINES, _FILLED = 500, 0.6
# Guesses: lines between columns, lines of text, and gaps between rows beside those within a cell,
# by the height of a line.
_FEWEST_LINES, _FEWEST_ROWS, _FEWEST_COLUMNS, _WIDER = 2, 3, 3, 0.15
# Guesses: a line of prose, by the width of its column, and by the height of a line.
_FULL, _LONG = 0.85, 8
_LINES_OF_HEADER = 3  # around and below it
_MOST_OF_NAME = 4  # lines of the name of several rows; a guess
_MOST_BESIDE = 2  # lines of text beside a table that liteparse took for a part of it; a guess


class DrawnLine(NamedTuple):
    """A straight line: its place across, and its ends along."""

    at: float
    start: float
    end: float


class DrawnGrid(NamedTuple):
    """The places of a table's upright and level lines, and what of each is drawn.

    No `levels`: between rows there is only space.
    """

    xs: list[float]
    ys: list[float]
    uprights: list[DrawnLine]
    levels: list[DrawnLine]

    def has(self, box: TextItem | AnnotationRect) -> bool:
        """Whether the middle of the box is within the table."""
        is_across = self.xs[0] < box.x + box.width / 2 < self.xs[-1]
        return bool(is_across and self.ys[0] < middle(box) < self.ys[-1])

    def overlaps(self, box: AnnotationRect) -> bool:
        is_across = box.x < self.xs[-1] and self.xs[0] < box.x + box.width
        return bool(is_across and box.y < self.ys[-1] and self.ys[0] < box.y + box.height)


def with_ruled_tables(page: ParsedPage, letters: Letters) -> list[LayoutBlock]:
    """The blocks of the page; those within which lines draw other tables are these.

    Nothing is changed where a word crosses a line, or a letter would be lost.
    """
    blocks = list(page.blocks or ())
    if not page.vector_graphics or not page.text_items:
        return blocks
    grids = list(_grids(page.vector_graphics, page.text_items, letters))
    if not grids:
        return blocks
    items = [piece for item in page.text_items for piece in _within_cells(item, grids, letters)]
    usual = median(item.font_size or 0 for item in items)
    while grids:
        own, parts = _connected(grids.pop(), grids, blocks)
        if not parts:
            continue
        inner = [item for item in items if any(is_beside(item, one.bbox) for one in parts)]
        tables = [table for grid in own if (table := _table(grid, inner, parts[0]))]
        others = [one.bbox for one in blocks if one.bbox and one.text and one not in parts]
        beside = [
            item
            for item in inner
            if not any(grid.has(item) for grid in own)
            and not any(is_beside(item, box) for box in others)
        ]
        lines = by_line(part for item in beside for part in parted_at_gaps(item, letters))
        texts = [_text(line, parts[0], usual) for line in lines]
        new = sorted([*tables, *texts], key=lambda one: one.bbox.y)
        # A line of several pieces is rather a row of the table.
        most = _MOST_BESIDE if all(len(line) == 1 for line in lines) else 1
        is_whole = len(tables) == len(own) and len(texts) <= most * len(own)
        least = _filled(parts) if len(parts) == 1 else _FILLED
        is_other = _letters_of_cells(new) != _letters_of_cells(parts)
        is_better = is_whole and is_other and _filled(new) >= least
        if is_better and _has_words(new, parts):
            place = blocks.index(parts[0])
            blocks[place:place] = new
            blocks = [one for one in blocks if one not in parts]
    return blocks


def _within_cells(item: TextItem, grids: Iterable[DrawnGrid], letters: Letters) -> list[TextItem]:
    """The piece of text, parted at wide gaps and at lines if a line of a table is within it."""
    return _parted(item, [x for grid in grids if grid.has(item) for x in grid.xs], letters)


def _parted(item: TextItem, xs: Iterable[float], letters: Letters) -> list[TextItem]:
    lines = [x for x in xs if item.x + _APART < x < item.x + item.width - _APART]
    return parted_at_gaps(item, letters, lines) if lines else [item]


def _connected(
    grid: DrawnGrid, others: list[DrawnGrid], blocks: Sequence[LayoutBlock]
) -> tuple[list[DrawnGrid], list[LayoutBlock]]:
    """The table with those that share a block with it, taken from `others`; and their blocks."""
    own, parts = [grid], []
    for one in own:  # grows
        parts += [each for each in blocks if each.bbox and one.overlaps(each.bbox)]
        met = [each for each in others if any(each.overlaps(part.bbox) for part in parts)]
        own += met
        others[:] = [each for each in others if each not in met]
    return own, [one for one in blocks if one in parts]


def _grids(
    graphics: VectorGraphics, items: Sequence[TextItem], letters: Letters
) -> Iterator[DrawnGrid]:
    """The lines that cross each other, if they make two rows and two columns or more; and those
    between columns, with lines between the rows of their texts.
    """
    uprights, levels = _drawn_lines(graphics)
    if len(uprights) + len(levels) > _MOST_LINES:
        return
    while levels:
        own, crossing = [levels.pop()], list[DrawnLine]()
        for level in own:  # grows
            met = [one for one in uprights if _meet(one, level)]
            uprights = [one for one in uprights if not _meet(one, level)]
            crossing += met
            own += [one for one in levels if any(_meet(each, one) for each in met)]
            levels = [one for one in levels if not any(_meet(each, one) for each in met)]
        xs, ys = (sorted({line.at for line in lines}) for lines in (crossing, own))
        if len(xs) > 2 and len(ys) > 2:
            # A line below the header alone.
            whole = _joined(crossing, 2 * _APART)
            rows = _columns(whole, items, letters) if len(ys) == _LINES_OF_HEADER else None
            has_rows = rows is not None and len(rows.ys) > _LINES_OF_HEADER + 1
            yield rows if rows and has_rows else DrawnGrid(xs, ys, crossing, own)
        else:
            uprights += crossing
    # A heavier line below a header has space around it: as wide as two lines.
    whole = sorted(_joined(uprights, 2 * _APART), key=_ends)
    for _, group in groupby(whole, key=_ends):
        if columns := _columns(list(group), items, letters):
            yield columns


def _ends(line: DrawnLine) -> tuple[float, float]:
    return round(line.start / _APART), round(line.end / _APART)


def _columns(
    lines: Sequence[DrawnLine], items: Iterable[TextItem], letters: Letters
) -> DrawnGrid | None:
    """The table with only lines between its columns; None of another drawing.

    If each line of text has a name at its left it is a row, else wider gaps are between rows.
    """
    _, top, bottom = lines[0]
    places = [line.at for line in lines]
    own = (one for one in items if top < middle(one) < bottom)
    texts = by_line(part for one in own for part in _parted(one, places, letters))
    if len(lines) < _FEWEST_LINES or len(texts) < _FEWEST_ROWS:
        return None
    left = min(lines[0].at, *(line[0].x - _APART for line in texts))
    right = max(lines[-1].at, *(line[-1].x + line[-1].width + _APART for line in texts))
    xs = sorted({left, *places, right})
    columns = _by_column(texts, xs)
    if all(line[0].x < xs[1] for line in texts):
        narrow = min(gap for _, gap in _gaps(texts))
    else:
        pitches = (gap for column in columns for _, gap in _gaps(column))
        narrow = min(pitches, default=0.0) + _WIDER * texts[0][0].height
    ys = [top, *(place for place, gap in _gaps(texts) if gap >= narrow), bottom]
    is_prose = 2 * sum(map(_full_lines, columns)) > sum(map(len, columns))
    if is_prose or not ys[1:-1] or sum(map(bool, columns)) < _FEWEST_COLUMNS:
        return None
    return DrawnGrid(xs, ys, [DrawnLine(x, top, bottom) for x in xs], [])


def _full_lines(column: Sequence[Sequence[TextItem]]) -> int:
    """How many lines of a column are long and reach its ends, as those of prose do."""
    pieces = [one for line in column for one in line]
    left = min((one.x for one in pieces), default=0)
    right = max((one.x + one.width for one in pieces), default=0)
    return sum(one.width > max(_FULL * (right - left), _LONG * one.height) for one in pieces)


def _by_column(texts: Iterable[list[TextItem]], xs: Sequence[float]) -> list[list[list[TextItem]]]:
    """The pieces of text of each column, one a line."""
    pieces = [one for line in texts for one in line]
    return [[[one] for one in pieces if left < one.x < right] for left, right in pairwise(xs)]


def _gaps(lines: Iterable[Sequence[TextItem]]) -> Iterator[tuple[float, float]]:
    """The middle and height of the space between each line of text and the next."""
    for above, below in pairwise(lines):
        end = max(one.y + one.height for one in above)
        start = min(one.y for one in below)
        yield (end + start) / 2, start - end


def _drawn_lines(graphics: VectorGraphics) -> tuple[list[DrawnLine], list[DrawnLine]]:
    """The upright and the level lines; programs draw many as narrow rectangles."""
    boxes = [shape.bbox for shape in graphics.shapes if not shape.has_curve]
    for line in graphics.lines:
        left, right = sorted((line.x1, line.x2))
        top, bottom = sorted((line.y1, line.y2))
        boxes.append((left, top, right - left, bottom - top))
    uprights = (DrawnLine(x + w / 2, y, y + h) for x, y, w, h in boxes if w <= _THIN < h)
    levels = (DrawnLine(y + h / 2, x, x + w) for x, y, w, h in boxes if h <= _THIN < w)
    return _joined(uprights), _joined(levels)


def _joined(lines: Iterable[DrawnLine], apart: float = _APART) -> list[DrawnLine]:
    """The lines; pieces that go on in each other, or are drawn twice, are one at one place."""
    place = float("-inf")
    level: list[DrawnLine] = []
    for line in sorted(lines):
        place = line.at if line.at - place > _APART else place
        level.append(line._replace(at=place))
    joined: list[DrawnLine] = []
    for line in sorted(level):
        if joined and line.at == joined[-1].at and line.start <= joined[-1].end + apart:
            joined[-1] = joined[-1]._replace(end=max(line.end, joined[-1].end))
        else:
            joined.append(line)
    return joined


def _meet(upright: DrawnLine, level: DrawnLine) -> bool:
    is_across = level.start - _APART <= upright.at <= level.end + _APART
    return is_across and upright.start - _APART <= level.at <= upright.end + _APART


def _is_drawn(lines: Iterable[DrawnLine], at: float, start: float, end: float) -> bool:
    """Whether there is a line at this place beside the middle of a cell."""
    center = (start + end) / 2
    return any(one.at == at and one.start < center < one.end for one in lines)


def _table(grid: DrawnGrid, items: Iterable[TextItem], part: LayoutBlock) -> LayoutBlock | None:
    """The table of the texts between the lines; cells without a line between them are one.

    None where a text crosses a line, and of other drawings.
    """
    from liteparse import LayoutCell

    owners = _cells(grid)
    lines: dict[tuple[int, int], list[list[TextItem]]] = {one: [] for one in owners.values()}
    for line in by_line(item for item in items if grid.has(item)):
        met = [_cell_of(item, grid, owners) for item in line]
        for cell in dict.fromkeys(met):
            if cell is None:
                return None
            lines[cell].append([one for one, at in zip(line, met, strict=True) if at == cell])
    tall = {owner for (row, _), owner in owners.items() if owner[0] < row}
    if _is_otherwise(lines, tall, has_levels=bool(grid.levels)):
        return None
    cells = [[LayoutCell("") for _ in grid.xs[1:]] for _ in grid.ys[1:]]
    for (row, column), owner in owners.items():
        # The name of several rows is that of each.
        if not column or owner == (row, column):
            words = (item.text.strip() for line in lines[owner] for item in line)
            cells[row][column] = LayoutCell(" ".join(words))
    box = replace(
        part.bbox,
        x=grid.xs[0],
        y=grid.ys[0],
        width=grid.xs[-1] - grid.xs[0],
        height=grid.ys[-1] - grid.ys[0],
    )
    return replace(part, kind="table", text=None, header=None, rows=cells, bbox=box)


def _cells(grid: DrawnGrid) -> dict[tuple[int, int], tuple[int, int]]:
    """The first row and column of the cell that each row and column of the table is in."""
    columns, rows = list(pairwise(grid.xs)), list(pairwise(grid.ys))
    owners: dict[tuple[int, int], tuple[int, int]] = {}
    for row, column in product(range(len(rows)), range(len(columns))):
        owner = row, column
        if row and grid.levels and not _is_drawn(grid.levels, grid.ys[row], *columns[column]):
            owner = owners[row - 1, column]
        elif column and not _is_drawn(grid.uprights, grid.xs[column], *rows[row]):
            owner = owners[row, column - 1]
        owners[row, column] = owner
    return owners


def _cell_of(
    item: TextItem, grid: DrawnGrid, owners: Mapping[tuple[int, int], tuple[int, int]]
) -> tuple[int, int] | None:
    """The cell that a piece of text is in; None if it crosses a line."""
    row = bisect_right(grid.ys, middle(item)) - 1
    ends = item.x + _APART, max(item.x + item.width - _APART, item.x + _APART)
    first, last = (bisect_right(grid.xs, end) - 1 for end in ends)
    met = {owners.get((row, at)) for at in range(first, last + 1)}
    return met.pop() if len(met) == 1 else None


def _is_otherwise(
    lines: Mapping[tuple[int, int], Sequence[Sequence[TextItem]]],
    tall: Collection[tuple[int, int]],
    *,
    has_levels: bool,
) -> bool:
    """Whether the lines are no table's, or not all of it; `tall` are the cells of several rows.

    They have prose over several rows, gaps as between columns, or rows with several lines in each
    cell.
    """
    written = {at: texts for at, texts in lines.items() if texts}
    pairs = (pair for texts in written.values() for line in texts for pair in pairwise(line))
    has_gaps = any(right.x - left.x - left.width > left.height for left, right in pairs)
    has_prose = any(len(texts) > _MOST_OF_NAME for at, texts in written.items() if at in tall)
    rows: dict[int, list[int]] = {}
    for (row, column), texts in written.items():
        if (row, column) not in tall:
            rows.setdefault(row, []).append(len(texts))
    several = [counts for counts in rows.values() if len(counts) > 1]
    has_rows = not several or any(min(counts) > 1 for counts in several)
    return has_gaps or has_prose or (has_levels and has_rows)


def _text(line: Sequence[TextItem], part: LayoutBlock, usual: float) -> LayoutBlock:
    """A line beside a table: a heading if its letters are larger than usual."""
    first = line[0]
    box = replace(part.bbox, x=first.x, y=first.y, width=first.width, height=first.height)
    kind = "heading" if (first.font_size or 0) >= LARGER * usual else "paragraph"
    text = " ".join(item.text.strip() for item in line)
    return replace(part, kind=kind, text=text, level=1, header=None, rows=None, bbox=box)


def _filled(blocks: Sequence[LayoutBlock]) -> float:
    """The share of the cells of tables that have a text; that of a usual one without tables."""
    cells = [cell.text for one in blocks for row in rows_of(one) for cell in row]
    return sum(map(bool, cells)) / len(cells) if cells else _FILLED


def _has_words(blocks: Sequence[LayoutBlock], before: Sequence[LayoutBlock]) -> bool:
    """Whether the blocks have all words of those before, which may repeat some."""
    letters = spelt("".join(map(text_of, blocks)))
    return all(spelt(word) in letters for one in before for word in text_of(one).split())


def _letters_of_cells(blocks: Iterable[LayoutBlock]) -> list[list[list[str]]]:
    """The letters of each cell, in any order: raised digits may stand elsewhere."""
    return [
        [["".join(sorted(spelt(cell.text))) for cell in row] for row in rows_of(one)]
        for one in blocks
    ]
