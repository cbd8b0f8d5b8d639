"""Table cells with spans -> a full grid of texts."""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.errors import ParseLimitExceeded

MOST_CELLS = 2_000_000
"""Cells of one grid at most: a hostile span asks for billions. A guess."""


def spread(rows: Sequence[Sequence[tuple[str, int, int]]]) -> list[list[str]]:
    """The grid of (text, rows down, columns across) cells, all rows of one width.

    A merged cell's text stands in its first position alone; those it covers are empty.
    Raises ParseLimitExceeded for a grid of more than MOST_CELLS cells.
    """
    grid: list[list[str]] = []
    covered: dict[int, int] = {}
    width = 0
    for row in rows:
        out: list[str] = []
        left = covered
        covered = {column: down - 1 for column, down in left.items() if down > 1}
        for text, down, across in row:
            while len(out) in left:
                out.append("")
            across = min(max(across, 1), 1_000)
            if down > 1:
                covered.update(dict.fromkeys(range(len(out), len(out) + across), down - 1))
            out += [text, *[""] * (across - 1)]
        while len(out) in left:
            out.append("")
        grid.append(out)
        width = max(width, len(out))
        if width * len(grid) > MOST_CELLS:
            raise ParseLimitExceeded(
                f"A table of this file has more than {MOST_CELLS:,} cells. Split it up."
            )
    return [row + [""] * (width - len(row)) for row in grid]
