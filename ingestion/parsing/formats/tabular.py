"""CSV and TSV -> tables; merged cells of all formats with tables."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence

from ingestion.domain import Block
from ingestion.errors import ParseLimitExceeded
from ingestion.files import filetypes
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.header_rows import has_header_row, is_short, with_one_header
from ingestion.parsing.formats.table_regions import tables_in
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source

Row = list[str]

_SAMPLE_CHARS = 20_000
_SAMPLE_ROWS = 200
# Excel's first line with the delimiter, which Excel does not display.
_STATED_DELIMITER = re.compile(r'\ufeff?"?sep=([,;|\t])"?[^\S\n]*\n', re.IGNORECASE)

# Before a letter it is no backslash at the end of a quoted cell.
_ESCAPED_QUOTE = re.compile(r'(?<!\\)\\"\w')
_ESCAPE = re.compile(r'\\["\\]')

MOST_CELLS = 2_000_000
"""Maximum number of cells of one grid: a hostile span demands billions. A guess."""


class TabularParser:
    """Tables, with a header for each; lines of one cell or of a key and a value are paragraphs."""

    name = "csv"

    def extract(self, source: Source) -> Extraction:
        text = _with_doubled_quotes(decode(source.path.read_bytes()).replace("\x00", ""))
        preferred = "\t" if source.file_type == filetypes.TSV else ","
        if match := _STATED_DELIMITER.match(text):
            rows = _read(text[match.end() :], match[1], source.limits)
        else:
            rows = _read(text, delimiter_of(text, preferred), source.limits)
        return Extraction(tables_in(rows))


def _with_doubled_quotes(text: str) -> str:
    """The text with `\\"` of databases' exports as `""`; a cell may also end with a backslash."""
    if not _ESCAPED_QUOTE.search(text):
        return text
    return _ESCAPE.sub(lambda escape: '""' if escape[0] == '\\"' else escape[0][1], text)


def delimiter_of(text: str, preferred: str = ",") -> str:
    """The delimiter by which most rows of a sample have the same number of cells, above 1.

    Rows with an odd number of quotes in a cell do not count: the delimiter is another one, as of
    `"a";"1,50"`. `preferred` wins a tie, then the one with more columns. csv.Sniffer was tried and
    chooses letters as delimiters.
    """
    sample = text[:_SAMPLE_CHARS]
    if len(text) > len(sample):
        sample = sample[: sample.rfind("\n") + 1] or sample

    def vote(delimiter: str) -> tuple[float, bool, int]:
        rows = _rows(sample, delimiter)[:_SAMPLE_ROWS]
        widths = Counter(len(row) for row in rows if not any(cell.count('"') % 2 for cell in row))
        wide = [(count, width) for width, count in widths.items() if width > 1]
        if not wide:
            return 0.0, False, 0
        count, width = max(wide)
        return count / len(rows), delimiter == preferred, width

    best = max(",;\t|", key=vote)
    return best if vote(best)[0] > 0 else preferred


def _rows(text: str, delimiter: str) -> list[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    return [row for row in reader if any(cell.strip() for cell in row)]


def _read(text: str, delimiter: str, limits: ParseLimits) -> list[Row]:
    csv.field_size_limit(max(len(text), 1))
    rows: list[Row] = []
    full = 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    for row in reader:
        if not any(cell.strip() for cell in row):
            # Empty rows part tables; more of them than that say no more.
            if rows and (rows[-1] or any(rows[-2:])):
                rows.append([])
            continue
        full += 1
        limits.check_table(full, len(row))
        rows.append(row)
    return rows


def table_of(cells: Sequence[Sequence[tuple[str, int, int]]], *, has_head: bool | None) -> Block:
    """The table of cells as `spread` takes them; with None its header is judged by the rows."""
    rows = with_one_header(spread(cells))
    # A header cell across two columns is one label, not a label and an empty one.
    labels = [text for text, _, _ in cells[0]] if len(rows) == len(cells) else rows[0]
    has_header = has_header_row([labels, *rows[1:]]) if has_head is None else has_head
    return Block.table(rows, has_header=has_header and len(rows) > 1)


def spread(rows: Sequence[Sequence[tuple[str, int, int]]]) -> list[list[str]]:
    """The full grid of cells given as (text, row span, column span), all rows of one width.

    A merged cell's text is in its first position, a short one in each of its rows; the others are
    empty. Raises ParseLimitExceeded for a grid of more than MOST_CELLS cells.
    """
    grid: list[list[str]] = []
    covered: dict[int, tuple[int, str]] = {}  # by column: how many rows more, and their text
    width = 0
    for row in rows:
        out: list[str] = []
        left = covered
        covered = {column: (down - 1, text) for column, (down, text) in left.items() if down > 1}
        for text, down, across in row:
            while len(out) in left:
                out.append(left[len(out)][1])
            across = min(max(across, 1), 1_000)
            if down > 1:
                covered |= dict.fromkeys(range(len(out), len(out) + across), (down - 1, ""))
                covered[len(out)] = (down - 1, text if is_short(text) else "")
            out += [text, *[""] * (across - 1)]
        while len(out) in left:
            out.append(left[len(out)][1])
        grid.append(out)
        width = max(width, len(out))
        if width * len(grid) > MOST_CELLS:
            raise ParseLimitExceeded(f"A table has more than {MOST_CELLS:,} cells. Split it up.")
    return [row + [""] * (width - len(row)) for row in grid]


PARSER = TabularParser()
