"""What of a file was read: recall of words, values and table rows, and words made up.

The normal form here is the benchmark's own: it must not share a fault with the product's.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any

from benchmarks.reading.letters import Table
from ingestion.domain import Block

_SUPERIOR = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
# A unit of one or two letters is one word with its power (m², km²); a word with a mark is two.
_POWER = re.compile(r"\b([a-zµ]{1,2})([²³])")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
# Thai to Khmer, kana, Han: written without spaces between words.
_SPACELESS = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
_SPACELESS_RUN = re.compile(f"{_SPACELESS}+")
_BETWEEN = re.compile(f"(?<={_SPACELESS})\\r?\\n(?={_SPACELESS})")


@dataclass
class Share:
    """`of` things were to be read, `read` of them were."""

    read: int = 0
    of: int = 0

    def add(self, other: Share) -> None:
        self.read, self.of = self.read + other.read, self.of + other.of

    def __str__(self) -> str:
        if not self.of:
            return "-"
        # Only what is whole reads 1.
        return "1" if self.read == self.of else f"{min(self.read / self.of, 0.9994):.3f}"[1:]


@dataclass
class Reading:
    """The figures of one file or of several; `silent` are lost words that nothing names."""

    files: int = 1
    words: Share = field(default_factory=Share)
    values: Share = field(default_factory=Share)
    rows: Share = field(default_factory=Share)
    made_up: Share = field(default_factory=Share)
    silent: int = 0
    failed: int = 0

    def add(self, other: Reading) -> None:
        self.files, self.failed = self.files + other.files, self.failed + other.failed
        self.silent += other.silent
        for name in ("words", "values", "rows", "made_up"):
            getattr(self, name).add(getattr(other, name))

    @classmethod
    def of_json(cls, stored: dict[str, Any]) -> Reading:
        return cls(**{k: Share(**v) if isinstance(v, dict) else v for k, v in stored.items()})


def words(text: str) -> Counter[str]:
    """The words of a text, or pairs of neighbouring characters where no spaces part words."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFC", text).casefold())
    text = _POWER.sub(lambda match: match[1] + _SUPERIOR[match[2]], text)
    text = "".join(f" {_SUPERIOR[char]}" if char in _SUPERIOR else char for char in text)
    text = _BETWEEN.sub("", unicodedata.normalize("NFKC", text).casefold())
    text = "".join(map(_letter, text))
    return Counter(part for word in text.split() for part in _parts(word))


@cache
def _letter(char: str) -> str:
    return char if unicodedata.category(char)[0] in "LMN" else " "


def _parts(word: str) -> Iterable[str]:
    for run in _SPACELESS_RUN.findall(word):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    yield from _SPACELESS_RUN.sub(" ", word).split()


def text_of_blocks(blocks: Iterable[Block]) -> str:
    """All text, each cell on its own."""
    pieces = (
        (cell for row in block.rows for cell in row) if block.rows else (block.text,)
        for block in blocks
    )
    return "\n\n".join(chain.from_iterable(pieces))


def recall(known: Counter[str], text: Counter[str]) -> Share:
    return Share((known & text).total(), known.total())


def made_up(known: Counter[str], text: Counter[str]) -> Share:
    """Words of the text that the source nowhere has, of all words of the text."""
    return Share(added(known, text).total(), text.total())


def added(known: Counter[str], text: Counter[str]) -> Counter[str]:
    """The words made up; a pair of characters only if the source lacks one of them.

    A line's end within a sentence makes new pairs and no new word.
    """
    characters = set().union(*known) if known else set()
    return Counter(
        {
            word: count
            for word, count in text.items()
            if word not in known and not (_SPACELESS_RUN.match(word) and characters >= set(word))
        }
    )


def values_read(values: Sequence[str], text: str) -> Share:
    """Numbers with their unit, whatever the white space between them.

    A power stands as in the source, as ^6, or apart: 10⁶ is not 106.
    """
    folded = _value_form(text)
    return Share(sum(bool(_value_pattern(each).search(folded)) for each in values), len(values))


def _value_form(text: str) -> str:
    text = "".join(f"^{_SUPERIOR[char]}" if char in _SUPERIOR else char for char in text)
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


@cache
def _value_pattern(value: str) -> re.Pattern[str]:
    parts = re.findall(r"\^?\d+|\S", _value_form(value))
    text, before = "", ""
    for part in parts:
        if part.startswith("^"):
            text += (r"(?:\^|\s+)" if before[-1:].isdigit() else r"\^?\s*") + part[1:]
        else:
            text += (r"\s*" if text else "") + re.escape(part)
        before = part
    after = r"(?!\d)" if before[-1].isdigit() else r"(?![A-Za-z])"
    return re.compile(r"(?<!\d)(?<!\d[.,])" + text + after)


def rows_read(tables: Sequence[Table], blocks: Iterable[Block]) -> Share:
    """Rows that a block holds with every cell below the words of its own header.

    A table without a header begins with an empty row.
    """
    parsed = [block for block in blocks if block.rows]
    every = [(table[0], row) for table in tables for row in table[1:]]
    return Share(
        sum(any(_has_row(block, header, row) for block in parsed) for header, row in every),
        len(every),
    )


def _has_row(block: Block, header: Sequence[str], row: Sequence[str]) -> bool:
    """In any order of the columns: right to left is as good as left to right."""
    above = [words(cell) for cell in block.rows[0]] if block.has_header else []
    wanted = [*zip(map(words, header or [""] * len(row)), map(words, row), strict=True)]
    for candidate in block.rows[1 if block.has_header else 0 :]:
        cells = dict(enumerate(map(words, candidate)))
        for name, cell in wanted:
            columns = (n for n in cells if cells[n] == cell and _is_below(name, above, n))
            if (column := next(columns, None)) is None:
                break
            del cells[column]
        else:
            return True
    return False


def _is_below(name: Counter[str], above: list[Counter[str]], column: int) -> bool:
    return not name or (column < len(above) and name <= above[column])
