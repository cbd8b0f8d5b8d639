"""Tables of a PDF: rows without lines between them are divided, notes in the margin are no column.

liteparse leaves a narrow last column out of some tables, as a paragraph beside them. It takes the
lines of a table for the borders of its rows: rows between which there is none become one. It takes
a note beside the first lines of a paragraph for a table of two columns.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING

from ingestion.parsing.formats.header_rows import has_header_row
from ingestion.parsing.formats.pdf_directions import is_alike
from ingestion.parsing.formats.pdf_layout import (
    LEVEL,
    around,
    by_line,
    is_beside,
    middle,
    rows_of,
    text_of,
)
from ingestion.parsing.formats.pdf_letters import Letters, lines_of
from ingestion.parsing.formats.pdf_letters import Line as TextLine

if TYPE_CHECKING:
    from liteparse import AnnotationRect, LayoutBlock, LayoutCell, ParsedPage, TextItem

_VALUE = re.compile(r"[^\w]*\d[\d\W]*")
_SENTENCE_END = re.compile(r"[.!?:。！？]['\"”’»)]*$")
# Guesses: rows that are not one wrapped by chance, most of a line of text, a note in a margin.
_FEWEST_ROWS, _SHORTEST_PROSE, _LONGEST_NOTE = 3, 60, 15
_FEWEST_COLUMNS = 3
# Guesses: shares of a table's rows that its program did not write as such, and of lines without a
# gap.
_TORN, _NARROW = 0.8, 0.9
_LONGEST_NAME, _LONGEST_VALUE = 40, 25  # of a row, and in it
# Gaps between rows beside those between the lines of a cell. A guess.
_WIDER = 1.2
# Of the height of a line: how much nearer the lines of a cell are than rows. A guess.
_CLOSER = 0.15
# Of the height of a line; and of the box of a letter, of which a space takes a quarter. A guess.
_TWO_LINES, _GAP = 1.8, 0.6
# A line of a paragraph: longer than labels are, or within a sentence. A guess.
_PROSE = re.compile(r".{41}")
# The name of a value: in the letters of a script with capitals, no part of a sentence.
_NAME = re.compile(
    r"^[a-z]?[A-Z\u00c0-\u00de\u0386-\u03ab\u0410-\u042f][^\n]*(?<![.,;!?-])$", re.MULTILINE
)
# The dots between a label and its value.
_LEADER = re.compile(r"[\s.·…_]{3,}$")

Line = tuple[float, str]
Span = tuple[float, float]


def with_whole_tables(
    blocks: Sequence[LayoutBlock], items: Iterable[TextItem]
) -> list[LayoutBlock]:
    """The blocks; those that are parts of one table are that table.

    liteparse takes columns without lines around them for columns of the page, and wrapped cells
    for paragraphs.
    """
    out = list(blocks)
    for lines, columns in _runs(items):
        top, bottom = lines[0][0].y, max(map(_end, lines[-1]))
        parts = [one for one in out if one.bbox and top < middle(one.bbox) < bottom]
        rows = _grid(lines, columns) if len(parts) > 1 else []
        labels = [cell.text for row in rows[:1] for cell in row]
        is_read = any(
            [cell.text for cell in row] == labels for one in parts for row in rows_of(one)
        )
        # A line below the table may be read as the end of its first column.
        beside = [one.bbox for one in parts if one.bbox and one.kind == "paragraph"]
        after = (one for box in beside for one in items if one.y > bottom and is_beside(one, box))
        below = " ".join(one.text.strip() for one in after)
        written = sorted(spelt("".join(map(text_of, parts))))
        if rows and not is_read and written == sorted(spelt(_text(rows) + below)):
            place = min(map(out.index, parts))
            table = replace(parts[0], kind="table", text=None, header=None, rows=rows)
            rest = [_paragraph(parts[0], below)] if below else []
            out[place : place + 1] = [replace(table, bbox=around(*parts)), *rest]
            out = [one for one in out if one not in parts]
    return out


def with_parted_cells(page: ParsedPage, letters: Letters) -> list[TextItem]:
    """The pieces of text of a page with paragraphs side by side, those below two labels or more,
    or above two pieces of the next line, parted at wide gaps; of another page as they are.

    liteparse joins what is less than two letters apart: “OR-2210 22 mm” of two columns.
    """
    items: list[TextItem] = list(page.text_items)
    boxes = [one.bbox for one in page.blocks or () if one.bbox and one.kind == "paragraph"]
    pairs = pairwise(sorted(boxes, key=lambda one: one.y))
    if not any(a.y < middle(b) < _end(a) or b.y < middle(a) < _end(b) for a, b in pairs):
        return items
    parted: dict[int, list[TextItem]] = {}
    labels: Sequence[TextItem] = ()
    for line, below in pairwise([*by_line(items), []]):
        labels = line if len(line) >= max(len(labels), _FEWEST_COLUMNS) else labels
        for item, others in product(line, (labels, below)):
            if sum(one.x < _right(item) and item.x < _right(one) for one in others) > 1:
                parted[id(item)] = parted_at_gaps(item, letters)
    return [part for item in items for part in parted.get(id(item), [item])]


def parted_at_gaps(
    item: TextItem, letters: Letters, lines: Collection[float] = ()
) -> list[TextItem]:
    """The parts of a piece of text with gaps between them that are wider than a space, or within
    which there is a line, of which these are the places.
    """
    for match in re.finditer(re.escape(item.text.strip()), letters.text):
        pieces: list[TextItem] = []
        for word in re.finditer(r"\S+", match[0]):
            ends = word.start(), word.end() - 1
            first, last = (letters.at(match.start() + at, match[0][at]) for at in ends)
            own = replace(item, text=word[0], x=first.left, width=last.right - first.left)
            end = _right(pieces[-1]) if pieces else float("-inf")
            if own.x - end <= _GAP * first.height and not any(end < x < own.x for x in lines):
                before = pieces.pop()
                text, width = f"{before.text} {own.text}", _right(own) - before.x
                own = replace(before, text=text, width=width)
            pieces.append(own)
        top = letters.at(match.start(), "").top
        if abs(pieces[0].x - item.x) < LEVEL and abs(top - item.y) < LEVEL:
            return pieces
    return [item]


def _runs(items: Iterable[TextItem]) -> Iterator[tuple[list[list[TextItem]], list[Span]]]:
    """The lines below labels side by side, with these: each piece of a line is below one label.

    With the beginning and end of each column.
    """
    lines: list[list[TextItem]] = []
    columns: list[Span] = []
    for line in [*by_line(items), []]:
        places = [
            [at for at, (left, right) in enumerate(columns) if one.x < right and left < _right(one)]
            for one in line
        ]
        # A line of text below the table.
        is_outside = len(line) == 1 < len(lines) and line[0].x < columns[0][0] - LEVEL
        if line and not is_outside and all(len(each) == 1 for each in places):
            lines.append(line)
            for one, (at,) in zip(line, places, strict=True):
                columns[at] = (min(columns[at][0], one.x), max(columns[at][1], _right(one)))
            continue
        if len(lines) >= _FEWEST_ROWS:
            yield lines, columns
        lines, columns = [line], [(one.x, _right(one)) for one in line]
        if len(line) < _FEWEST_COLUMNS:
            lines, columns = [], []


def _grid(lines: Sequence[list[TextItem]], columns: Sequence[Span]) -> list[list[LayoutCell]]:
    """The rows of a table with names at its left and values; empty of another text.

    If each line has a name it is a row, else wider gaps are between rows.
    """
    from liteparse import LayoutCell

    gaps = [middle(below[0]) - middle(above[0]) for above, below in pairwise(lines)]
    are_named = all(line[0].x < columns[0][1] for line in lines)
    narrow = 0.0 if are_named else _WIDER * min(gaps)
    rows: list[list[str]] = []
    for line, gap in zip(lines, [float("inf"), *gaps], strict=True):
        if gap > narrow:
            rows.append([""] * len(columns))
        for item in line:
            at = next(at for at, (_, right) in enumerate(columns) if item.x < right)
            rows[-1][at] = f"{rows[-1][at]} {item.text.strip()}".lstrip()
    if len(rows) < _FEWEST_ROWS or not has_header_row(rows):
        return []
    cells = list(zip(*rows[1:], strict=True))
    # “Author:” begins a line of labels and values, which are two columns.
    named = (0 < len(name) <= _LONGEST_NAME and not name[0].islower() for name in cells[0])
    have_names = all(named) and not cells[0][0].endswith(":")
    if not have_names or 2 * max(sum(map(_is_value, each)) for each in cells) < len(cells[0]):
        return []
    return [[LayoutCell(cell) for cell in row] for row in rows]


def _is_value(cell: str) -> bool:
    return len(cell) <= _LONGEST_VALUE and any(map(str.isdecimal, cell))


def _text(rows: Iterable[Sequence[LayoutCell]]) -> str:
    return "".join(cell.text for row in rows for cell in row)


def _end(box: TextItem | AnnotationRect) -> float:
    return float(box.y + box.height)


def _right(box: TextItem | AnnotationRect) -> float:
    return float(box.x + box.width)


def with_values(blocks: Sequence[LayoutBlock], items: Iterable[TextItem]) -> list[LayoutBlock]:
    """The blocks; labels and the values beside them are lines of one paragraph: "Date: 3 May".

    liteparse reads the two columns of a form, or of the head of an invoice, as two paragraphs, and
    those of a page with headings between as columns of the page: all labels before all values.
    """
    out: list[LayoutBlock] = []
    pieces: list[TextItem] = []
    is_torn = False
    for block in blocks:
        names = [at for at, one in enumerate(out) if _is_label_of(one, block)]
        if names:
            pieces = pieces or sorted((one for one in items if one.text.strip()), key=middle)
            *labels, values = (
                _lines(replace(one, text=(one.text or "").replace("*", "")), pieces)
                for one in (*(out[at] for at in names), block)
            )
            is_torn = is_torn or any(
                one.bbox and one.bbox.y > _end(block.bbox) for one in out[names[-1] :]
            )
            if lines := _labelled([line for each in labels for line in each], values, is_torn):
                for at, own in zip(names, labels, strict=True):
                    text, lines = "\n".join(lines[: len(own)]), lines[len(own) :]
                    out[at] = replace(out[at], text=text, bbox=around(out[at], block))
                continue
        out.append(block)
    return out


def _is_label_of(label: LayoutBlock, value: LayoutBlock) -> bool:
    """Whether both are paragraphs, one level with a part of the other at its right."""
    box, beside = label.bbox, value.bbox
    if not box or not beside or not label.kind == value.kind == "paragraph":
        return False
    return bool(_right(box) < beside.x and beside.y - LEVEL < middle(box) < _end(beside) + LEVEL)


def _labelled(labels: Sequence[Line], values: Sequence[Line], is_torn: bool) -> list[str]:
    """A line for each label and its value; none if they are not such.

    They are if each label has a colon, if values alone have digits, of which two addresses have
    some on both sides, or are nothing but amounts; and if the labels are names of what stands in
    another column of the page.
    """
    names = "\n".join(_LEADER.sub("", text) for _, text in labels)
    has_colons = len(re.findall(r"[:：]$", names, re.MULTILINE)) == len(labels)
    with_digits = sum(any(map(str.isdecimal, text)) for _, text in values)
    is_named = (
        has_colons
        or (2 * with_digits >= len(values) and not re.search(r"\d", names))
        or all(_VALUE.fullmatch(text) for _, text in values)
        or (is_torn and len(re.findall(_NAME, names)) == len(labels))
    )
    if len(labels) < 2 or not is_named or re.search(_PROSE, names):
        return []
    lines = [[text] for _, text in labels]
    places = [bisect_right(labels, top + LEVEL, key=lambda line: line[0]) for top, _ in values]
    for place, (top, text) in zip(places, values, strict=True):
        is_first = len(lines[place - 1]) == 1
        if not place or (is_first and top > labels[place - 1][0] + LEVEL):
            return []
        lines[place - 1].append(text)
    return list(map(" ".join, lines)) if all(len(line) > 1 for line in lines) else []


def with_divided_rows(table: LayoutBlock, items: Iterable[TextItem]) -> LayoutBlock:
    """The table; a row becomes several if the lines of its cells are rows of their own.

    They are if all columns have as many lines, three or more, or if a column has a value on each
    line and the first has as many. The lines of a wrapped text are not.
    """
    if table.kind != "table":
        return table
    pieces = sorted((item for item in items if item.text.strip()), key=middle)
    rows = [(row, _divided(row, pieces)) for row in (table.header or [], *(table.rows or ()))]
    if all(len(parts) == 1 for _, parts in rows):
        return table
    header, body = rows[0][1], [part for _, parts in rows[1:] for part in parts]
    return replace(table, header=header[0] or None, rows=[*header[1:], *body])


def _divided(row: Sequence[LayoutCell], items: Sequence[TextItem]) -> list[list[LayoutCell]]:
    boxes = [cell.bbox for cell in row if cell.bbox]
    top = min((box.y for box in boxes), default=0.0)
    bottom = max((box.y + box.height for box in boxes), default=0.0)
    items = items[bisect_left(items, top, key=middle) : bisect_right(items, bottom, key=middle)]
    if bottom - top < _TWO_LINES * min((item.height for item in items), default=0.0):
        return [list(row)]
    columns = [_lines(cell, items) for cell in row]
    written = [lines for lines in columns if lines]
    count = max((len(lines) for lines in written), default=0)
    if count < 2 or len(written) < 2 or not _are_rows(written, count):
        return [list(row)]
    tops = [top for top, _ in next(lines for lines in written if len(lines) == count)]
    parts = []
    for number, top in enumerate(tops):
        below = tops[number + 1] if number + 1 < count else float("inf")
        above = top if number else float("-inf")
        texts = (
            " ".join(text for place, text in lines if above - 1 <= place < below - 1)
            for lines in columns
        )
        parts.append([replace(cell, text=text) for cell, text in zip(row, texts, strict=True)])
    return parts


def _are_rows(columns: Sequence[Sequence[Line]], count: int) -> bool:
    if count >= _FEWEST_ROWS and all(len(lines) == count for lines in columns):
        return True
    # The first line may be the table's header.
    skipped = 1 if count >= _FEWEST_ROWS else 0
    has_values = any(
        len(lines) == count and all(_VALUE.fullmatch(text) for _, text in lines[skipped:])
        for lines in columns[1:]
    )
    return has_values and len(columns[0]) == count


def _lines(cell: LayoutCell, items: Sequence[TextItem]) -> list[Line]:
    """The top and text of each line in a cell, one line if they are not the text of the cell."""
    box, words = cell.bbox, cell.text.split()
    if not box or len(words) < 2:
        return [(box.y if box else 0.0, cell.text)] if words else []
    lines: list[tuple[float, float, list[str]]] = []
    for item in (one for one in items if is_beside(one, box)):
        if not lines or middle(item) > lines[-1][1]:
            lines.append((item.y, item.y + item.height, []))
        # An item may go on in the next cell.
        for word in item.text.split():
            if words and word == words[0]:
                lines[-1][2].append(words.pop(0))
    if words:
        return [(0.0, cell.text)]
    return [(top, " ".join(texts)) for top, _, texts in lines if texts]


def with_joined_rows(table: LayoutBlock) -> LayoutBlock:
    """The table; rows that are the next lines of the cells above are part of these.

    They are nearer to the row above than other rows, and have text only below a text, without a
    digit: values are rows of their own.
    """
    rows = rows_of(table) if table.kind == "table" else []
    boxes = [next((cell.bbox for cell in row if cell.bbox and cell.text), None) for row in rows]
    tops = [box.y for box in boxes if box]
    gaps = [below - above for above, below in pairwise(tops)]
    if len(tops) < len(rows) or len(gaps) < _FEWEST_ROWS or len(set(map(len, rows))) > 1:
        return table
    # The first row may be near to the names of the columns.
    narrow = min(gaps[1:]) + _CLOSER * min(box.height for box in boxes if box)
    joined = [rows[0]]
    for gap, row in zip(gaps, rows[1:], strict=True):
        texts = [(above.text, cell.text) for above, cell in zip(joined[-1], row, strict=True)]
        if gap > narrow:
            joined.append(row)
        elif all(map(all, texts)) or any(
            (text and not above) or any(map(str.isdecimal, text)) for above, text in texts
        ):
            return table
        else:
            joined[-1] = [
                replace(cell, text=" ".join(filter(None, both)))
                for cell, both in zip(joined[-1], texts, strict=True)
            ]
    is_whole = len(joined) >= _FEWEST_ROWS and all(row[0].text for row in joined)
    return _with_rows(table, joined) if is_whole else table


def with_parted_headers(page: ParsedPage, letters: Letters) -> list[LayoutBlock]:
    """The blocks of the page; names of columns that are one text are each above their column."""
    return [_with_parted_header(one, page.text_items, letters) for one in page.blocks or ()]


def _with_parted_header(
    table: LayoutBlock, items: Iterable[TextItem], letters: Letters
) -> LayoutBlock:
    header, *body = rows_of(table) if table.kind == "table" else [[]]
    names = list(header)
    for at, (cell, after) in enumerate(pairwise(header)):
        left, right = (
            [row[place].bbox for row in body if place < len(row) and row[place].text]
            for place in (at, at + 1)
        )
        if not cell.bbox or not left or not right or after.text not in ("", cell.text):
            continue
        own = [one for one in items if is_beside(one, cell.bbox)]
        parts = [part for one in own for part in parted_at_gaps(one, letters)]
        if len(parts) != 2:  # the names of two columns
            continue
        first, second = parts
        is_between = (
            _right(first) < min(box.x for box in right) and max(map(_right, left)) < second.x
        )
        if is_between and spelt(first.text + second.text) == spelt(cell.text):
            names[at : at + 2] = replace(cell, text=first.text), replace(after, text=second.text)
    if names == header:
        return table
    return _with_rows(table, [names, *body])


def _with_rows(table: LayoutBlock, rows: list[list[LayoutCell]]) -> LayoutBlock:
    """The table with other rows, the first of which is its header if it had one."""
    first = bool(table.header)
    return replace(table, header=rows[0] if first else None, rows=rows[first:])


def without_margins(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """The blocks; a table of prose and notes in its margin becomes those, each a paragraph.

    The paragraph that goes on below is part of the prose.
    """
    out: list[LayoutBlock] = []
    goes_on = False
    for block in blocks:
        if goes_on and block.kind == "paragraph":
            out[-1] = replace(
                out[-1], text=f"{out[-1].text} {block.text}", bbox=around(out[-1], block)
            )
            goes_on = False
            continue
        prose, notes = _prose(block) if block.kind == "table" else ("", "")
        goes_on = bool(prose) and not _SENTENCE_END.search(prose)
        out += [_paragraph(block, text) for text in (notes, prose) if text] or [block]
    return out


def _paragraph(block: LayoutBlock, text: str) -> LayoutBlock:
    return replace(block, kind="paragraph", text=text, header=None, rows=None)


def _prose(table: LayoutBlock) -> tuple[str, str]:
    """The text of a table that is prose, and the notes beside it; empty of another table."""
    texts = [[cell.text.strip() for cell in row] for row in rows_of(table)]
    if {len(row) for row in texts} != {2}:
        return "", ""
    long, short = sorted(zip(*texts, strict=True), key=lambda column: -sum(map(len, column)))
    is_long = all(len(text) >= _SHORTEST_PROSE for text in long)
    flows = all(
        below[:1].islower() and not _SENTENCE_END.search(above) for above, below in pairwise(long)
    )
    are_notes = all(len(text) <= (_LONGEST_NOTE if len(texts) > 1 else 0) for text in short)
    if not is_long or not flows or not are_notes:
        return "", ""
    return " ".join(long), " ".join(filter(None, short))


def without_torn_columns(blocks: Sequence[LayoutBlock], letters: Letters) -> list[LayoutBlock]:
    """The blocks; a table that is columns of prose becomes their text.

    liteparse takes columns whose lines are level for a table, row by row. A program writes a table
    row by row, and columns of prose one after the other.
    """
    written = spelt(letters.text) if any(block.kind == "table" for block in blocks) else ""
    return [_column_text(block, written, letters) or block for block in blocks]


def _column_text(table: LayoutBlock, written: str, letters: Letters) -> LayoutBlock | None:
    """The text of columns of prose as a paragraph; None of another block or a table."""
    box = table.bbox
    if table.kind != "table" or not box:
        return None
    rows = [[cell.text for cell in row if cell.text] for row in rows_of(table)]
    full = [row for row in rows if len(row) > 1]
    torn = [row for row in full if spelt("".join(row)) not in written]
    cells = [text for row in full for text in row]
    if len(full) < _FEWEST_ROWS or len(torn) < _TORN * len(full) or not _go_on(cells):
        return None
    parts = [TextLine.of(part) for line in lines_of(letters) if (part := line.within(box))]
    texts = [part.text for part in parts]
    narrow = sum(not part.has_columns() for part in parts)
    if narrow < _NARROW * len(parts) or not _go_on(texts):
        return None
    text = " ".join(" ".join(texts).split())
    return _paragraph(table, text) if is_alike(text_of(table), text) else None


def _go_on(lines: Sequence[str]) -> bool:
    """Whether most lines begin within a sentence."""
    return 2 * sum(line[:1].islower() for line in lines) >= len(lines)


def spelt(text: str) -> str:
    """The letters and digits of the text; of a ligature, those that it joins."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text)))
