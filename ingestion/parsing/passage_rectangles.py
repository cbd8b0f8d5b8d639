"""The rectangles of a passage on a page: its words among the page's words. Pure.

The text of a passage and the text of a page are read by two libraries, which differ in the order of
columns, in hyphens and in spaces. A word of the page therefore counts as the passage's if it is in
a run of RUN words that the passage has as well; gaps of a few words between such runs are closed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

SCALE = 10_000
"""Places are in ten-thousandths of the picture's width and height, from its top left corner."""
RUN = 4
"""Words: three are common phrases ("one of the"), five miss the cells of a table. A guess."""
GAP = 3
MARGIN, FIGURE = 400, 3_000
"""Around a passage, and the height that a figure above its caption is given. Guesses."""

Word = list[str | int]
"""A word, then four numbers (left, top, right, bottom) for each line that it is on."""
Box = tuple[int, int, int, int]


def normal(text: str) -> str:
    """The form in which words are compared: without case, ligatures and widths."""
    return unicodedata.normalize("NFKC", text).casefold()


def is_apart(letter: str) -> bool:
    """Whether a letter counts as a word of its own, as in scripts without spaces."""
    return (
        "\u3040" <= letter <= "\u30ff"
        or "\u3400" <= letter <= "\u9fff"
        or "\uf900" <= letter <= "\ufaff"
        or "\u0e00" <= letter <= "\u0eff"
    )


def words_in(text: str) -> list[str]:
    """The words of a passage, split in the same way as the words of a page."""
    spaced = "".join(
        f" {letter} " if is_apart(letter) else letter if letter.isalnum() else " "
        for letter in text
    )
    return normal(spaced).split()


def places_of(passage: str, page: Sequence[Word]) -> list[Box]:
    """The rectangles of a passage on a page, one for each line; none if it is not there."""
    passage_words = words_in(passage)
    run = min(RUN, len(passage_words))
    if not run:
        return []
    runs = {tuple(passage_words[at : at + run]) for at in range(len(passage_words) - run + 1)}
    words = [str(word[0]) for word in page]
    matches = set[int]()
    for at in range(len(words) - run + 1):
        if tuple(words[at : at + run]) in runs:
            matches.update(range(at, at + run))
    return _lines(_boxes(page[at]) for at in _closed(sorted(matches)))


def region_of(boxes: Sequence[Box]) -> Box:
    """The part of the page around a passage and the figure above its caption; else all of it."""
    if not boxes:
        return 0, 0, SCALE, SCALE
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    bottom = min(max(bottoms) + MARGIN, SCALE)
    top = max(min(min(tops), bottom - FIGURE) - MARGIN, 0)
    return max(min(lefts) - MARGIN, 0), top, min(max(rights) + MARGIN, SCALE), bottom


def _closed(places: Sequence[int]) -> list[int]:
    """The places, with gaps of at most GAP between them filled."""
    filled = list(places[:1])
    for before, after in pairwise(places):
        filled += range(before + 1, after + 1) if after - before <= GAP + 1 else (after,)
    return filled


def _boxes(word: Word) -> list[Box]:
    numbers = [int(number) for number in word[1:]]
    groups = (numbers[at : at + 4] for at in range(0, len(numbers) - 3, 4))
    return [(left, top, right, bottom) for left, top, right, bottom in groups]


def _lines(words: Iterable[list[Box]]) -> list[Box]:
    """The boxes, with consecutive boxes on one line joined."""
    lines: list[Box] = []
    for box in (box for boxes in words for box in boxes):
        if lines and _is_beside(lines[-1], box):
            left, top, right, bottom = lines[-1]
            lines[-1] = (
                min(left, box[0]), min(top, box[1]), max(right, box[2]), max(bottom, box[3]),
            )  # fmt: skip
        else:
            lines.append(box)
    return lines


def _is_beside(line: Box, box: Box) -> bool:
    """Whether `box` continues `line`: at least half of its height beside it, and to the right."""
    shared = min(line[3], box[3]) - max(line[1], box[1])
    smaller = min(line[3] - line[1], box[3] - box[1])
    return 2 * shared >= smaller and box[0] >= line[0]
