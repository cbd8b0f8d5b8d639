"""Tables -> pieces of whole rows, each with the table's header."""

from __future__ import annotations

from collections.abc import Iterator

from ingestion.chunking.text_splitting import (
    Break,
    Piece,
    Span,
    Weighed,
    prose_pieces,
    weigh,
    whole_or_lines,
)
from ingestion.domain import CELL_SEPARATOR, row_text
from ingestion.embedding.protocol import Tokenizer


def table_pieces(
    text: str, has_header: bool, size: int, limit: int, tokenizer: Tokenizer
) -> Iterator[Piece]:
    """Yield the whole table if it fits `limit`, else groups of rows up to `size` with headers."""
    whole, rows = whole_or_lines(text, limit, tokenizer)
    yield from whole
    yield from _Splitter(text, size, limit, tokenizer).pieces(rows, has_header=has_header)


class _Splitter:
    def __init__(self, text: str, size: int, limit: int, tokenizer: Tokenizer) -> None:
        self.text = text
        self.size = size
        self.limit = limit
        self.tokenizer = tokenizer
        self.names: tuple[str, ...] = ()
        self.header = ""
        self.header_weight = 0

    def pieces(self, rows: Iterator[Weighed], *, has_header: bool) -> Iterator[Piece]:
        """Yield groups of rows; split a row over the limit into cells with their header cells."""
        group: list[Weighed] = []
        room = self.size
        repeated = False  # the first group begins with the header row; only later groups repeat it
        for index, row in enumerate(rows):
            weight = row[2]
            if group and weight > room:
                yield self._rows_piece(group, repeated=repeated)
                group, room, repeated = [], self.size - self.header_weight, True
            if weight + self.header_weight > self.limit:
                if group:
                    yield self._rows_piece(group, repeated=repeated)
                yield from self._split_row(row)
                group, room, repeated = [], self.size - self.header_weight, True
            else:
                group.append(row)
                room -= weight
            if index == 0 and has_header:
                self._take_header(row)
        if group:
            yield self._rows_piece(group, repeated=repeated)

    def _take_header(self, row: Weighed) -> None:
        text = self.text[row[0] : row[1]]
        self.names = tuple(text.split(CELL_SEPARATOR))
        # A header that would take half of every chunk is repeated only in split rows, per cell.
        if row[2] * 2 <= self.size:
            self.header, self.header_weight = text, row[2]

    def _rows_piece(self, rows: list[Weighed], *, repeated: bool) -> Piece:
        weight = sum(row[2] for row in rows)
        if not repeated or not self.header:
            return Piece(rows[0][0], rows[-1][1], weight, Break.ITEM)
        weight += self.header_weight
        return Piece(rows[0][0], rows[-1][1], weight, Break.ITEM, self.header)

    def _split_row(self, row: Weighed) -> Iterator[Piece]:
        """Yield pieces of a row: all but the first begin with its first cell, which names it."""
        cells = self.text[row[0] : row[1]].split(CELL_SEPARATOR)
        spans = _cell_spans(row[0], cells)
        names = list(self.names) if len(self.names) == len(spans) else [""] * len(spans)
        called = f"{cells[0]}: " if 0 < self.tokenizer.count(cells[0]) * 4 <= self.size else ""
        first, total = 0, 0
        for column, (start, end, weight) in enumerate(weigh(self.text, spans, self.tokenizer)):
            weight += self.tokenizer.count(names[column]) + 1  # and its separator
            if column > first and total + weight > self.size:
                yield self._cells_piece(spans[first:column], names[first:column], total)
                first, total = column, 0
            if column == first > 0 and self.names:
                names[column] = f"{called}{names[column]}"
                weight += self.tokenizer.count(called)
            if weight > self.limit:
                yield from self._split_cell(start, end, names[column])
                first, total = column + 1, 0
            else:
                total += weight
        if first < len(spans) and self.text[spans[first][0] : row[1]].strip():
            yield self._cells_piece(spans[first:], names[first:], total)

    def _cells_piece(self, spans: list[Span], names: list[str], weight: int) -> Piece:
        header = row_text(names) if any(names) else ""
        return Piece(spans[0][0], spans[-1][1], weight, Break.ITEM, header)

    def _split_cell(self, start: int, end: int, name: str) -> Iterator[Piece]:
        name_weight = self.tokenizer.count(name)
        if name_weight * 2 > self.limit:
            name, name_weight = "", 0
        for piece in prose_pieces(self.text[start:end], self.limit - name_weight, self.tokenizer):
            weight = piece.weight + name_weight
            yield Piece(start + piece.start, start + piece.end, weight, Break.SENTENCE, name)


def _cell_spans(start: int, cells: list[str]) -> list[Span]:
    """Each cell's span with the separator after it, so that no text between cells is lost."""
    spans: list[Span] = []
    bar = len(CELL_SEPARATOR.rstrip())
    for cell in cells:
        end = start + len(cell)
        spans.append((start, end + bar))
        start = end + len(CELL_SEPARATOR)
    spans[-1] = (spans[-1][0], spans[-1][1] - bar)
    return spans
