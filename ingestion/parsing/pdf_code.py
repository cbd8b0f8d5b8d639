"""The indentation of a program in a PDF, which liteparse leaves out: read off where lines begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from liteparse import AnnotationRect, TextItem

_DEEPEST = 60
"""Columns; what lies further to the right is another column of the page. A guess."""


def indented(lines: Sequence[str], box: AnnotationRect, items: Iterable[TextItem]) -> list[str]:
    """The lines, each moved in by as many letters as it begins to the right of the first column.

    Unchanged where the pieces of text in the box are not as many lines as these.
    """
    held = [item for item in items if item.text.strip() and _is_within(item, box)]
    if not held:
        return list(lines)
    rows = _rows(held)
    width = median(item.width / len(item.text) for item in held)
    if len(rows) != len(lines) or width <= 0:
        return list(lines)
    first = min(rows)
    columns = [min(round((left - first) / width), _DEEPEST) for left in rows]
    return [" " * column + line.lstrip() for column, line in zip(columns, lines, strict=True)]


def _is_within(item: TextItem, box: AnnotationRect) -> bool:
    across, down = item.x + item.width / 2, item.y + item.height / 2
    is_beside = box.x <= across <= box.x + box.width
    return bool(is_beside and box.y <= down <= box.y + box.height)


def _rows(items: Sequence[TextItem]) -> list[float]:
    """Where each row of text begins, from the top of the page."""
    rows: list[float] = []
    bottom = 0.0
    for item in sorted(items, key=lambda item: item.y + item.height / 2):
        middle = item.y + item.height / 2
        if rows and middle < bottom:
            rows[-1] = min(rows[-1], item.x)
        else:
            rows.append(item.x)
            bottom = middle + item.height / 2
    return rows
