"""Titles of editions: equal but for a year, a number, or a word such as "old" or "final". Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# Words that tell editions apart, from the oldest to the newest. A guess.
_WORDS = {
    word: rank
    for rank, words in enumerate(
        ("old obsolete superseded alt veraltet", "draft entwurf", "", "new revised neu", "final"),
        start=-2,
    )
    for word in words.split()
}
_FILLERS = frozenset({"version", "edition", "ed", "rev", "revision", "ausgabe", "fassung", "copy"})
_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)*")
_NUMBER = re.compile(r"v?(\d{1,4}(?:\.\d{1,4}){0,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class EditionTitle:
    """A title's `stem`, which all editions share, and what tells them apart.

    `year` 0: none; `number` (1,): none; `rank` orders words: 0 without one, below it of old ones.
    """

    stem: tuple[str, ...]
    year: int = 0
    number: tuple[int, ...] = (1,)
    rank: int = 0

    def is_newer(self, other: EditionTitle) -> bool | None:
        """Whether it is the newer of two editions; None if their titles do not tell."""
        if self.year and other.year and self.year != other.year:
            return self.year > other.year
        mine, theirs = (self.number, self.rank), (other.number, other.rank)
        if mine == theirs or bool(self.year) != bool(other.year):
            return None
        return mine > theirs


def edition_title(title: str) -> EditionTitle:
    """The parts of a title. The stem is empty for a title of nothing but marks of editions.

    A day or month (2026-03-01) is a part of the stem: such documents are records of that time. So
    are numbers within names, such as INC-2024-0042.
    """
    stem: list[str] = []
    year, rank = 0, 0
    number: tuple[int, ...] = (1,)
    folded = unicodedata.normalize("NFKC", title).casefold()
    for piece in re.split(r"[\s_,;()\[\]]+", folded):
        tokens = _TOKEN.findall(piece)
        if len(tokens) > 1 and any(any(map(str.isdigit, token)) for token in tokens[:-1]):
            stem.append("-".join(tokens))
            continue
        for token in tokens:
            match = _NUMBER.fullmatch(token)
            if _YEAR.fullmatch(token):
                year = int(token)
            elif match:
                number = tuple(map(int, match[1].split(".")))
            elif token in _WORDS:
                rank = _WORDS[token]
            elif token not in _FILLERS:
                stem.append(token)
    return EditionTitle(tuple(stem), year, number, rank)
