"""U4: words for the text that Postgres' parser cannot split. One reading for chunks and queries.

Chinese, Japanese and Thai part no words by spaces, and Korean glues particles to them: a run of
their letters becomes overlapping bigrams, and letters that can be words by themselves stand
between them (Nie, Gao, Zhang & Zhou 2000). 北京大学 reads 北 北京 京 京大 大 大学 学, and any part
of it reads the same by itself, so that a phrase is a phrase. Marks stay with their letter.

Only what is given to `to_tsvector` is read so. The stored text and its offsets stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

_THAI_LAO, _MYANMAR, _KHMER = (0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)
_SOUTH_EAST = (_THAI_LAO, _MYANMAR, _KHMER, (0xA9E0, 0xA9FE), (0xAA60, 0xAA7F))
_HAN = ((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))
_HANGUL = ((0xAC00, 0xD7A3),)
_KANA = ((0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x312F), (0x31F0, 0x31FF))
_KANA_MARKS = ((0x3099, 0x309A),)
_HALF_WIDTH_KANA = (0xFF66, 0xFF9F)
_FULL_WIDTH = ((0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A))
# Latin-1's, General Punctuation, CJK Symbols and Punctuation, Half- and Fullwidth Forms.
_PUNCTUATION = ((0xA0, 0xA1), (0xAB, 0xAB), (0xB7, 0xB7), (0xBB, 0xBF), (0x2000, 0x206F),
                (0x3000, 0x303F), (0x30A0, 0x30A0), (0x30FB, 0x30FB), (0xFF01, 0xFF65))  # fmt: skip


def _in_blocks(blocks: Iterable[tuple[int, int]], categories: str) -> Iterator[int]:
    """The code points of a block whose category begins with one of the letters."""
    for first, last in blocks:
        for code in range(first, last + 1):
            if unicodedata.category(chr(code))[0] in categories:
                yield code


def _members(blocks: Iterable[tuple[int, int]]) -> str:
    """What stands between the brackets of a regular expression, for Python and for Postgres."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in blocks)


def _blocks(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Code points in ascending order as ranges without gaps."""
    first = last = -1
    for code in codes:
        if code != last + 1:
            if first >= 0:
                yield first, last
            first = code
        last = code
    if first >= 0:
        yield first, last


def _wide() -> dict[int, str]:
    """Each full-width letter and digit and half-width katakana by its usual form."""
    return {
        code: unicodedata.normalize("NFKC", chr(code))
        for first, last in (*_FULL_WIDTH, _HALF_WIDTH_KANA)
        for code in range(first, last + 1)
    }


# With the locale C, Postgres' parser takes everything beyond ASCII for a letter, so that “word”
# and word—word would be words of their own.
_SPACES = (*_in_blocks(_PUNCTUATION, "PZ"), 0x200B, 0x200E, 0x200F, 0xFEFF)
_MARKS_OF_WORDS = {0x2019: "'", 0x2010: "-", 0x2011: "-"}
_SPACED = {code: " " for code in _SPACES if code not in _MARKS_OF_WORDS} | _MARKS_OF_WORDS
_WIDE = _wide()
_WHOLE = _members((*_HAN, *_HANGUL))  # letters that can be words by themselves
_LETTERS = _WHOLE + _members((*_KANA, *_blocks(_in_blocks(_SOUTH_EAST, "L"))))
_MARKS = _members((*_KANA_MARKS, *_blocks(_in_blocks(_SOUTH_EAST, "M"))))
_RUN = _LETTERS + _MARKS
_TO_SPLIT = f"[{_RUN}{''.join(map(chr, _WIDE))}]"
_TO_SPACE = f"[{''.join(map(chr, _SPACED))}]"

# In this order. A letter in the middle of a run ends one bigram and begins the next.
_STEPS = (
    (f"([{_RUN}]+)", r" \1 "),
    (f"(?<=[{_RUN}])([{_WHOLE}][{_MARKS}]*)(?![{_RUN}])", r"\1 \1"),
    (f"(?<=[{_RUN}])([{_LETTERS}][{_MARKS}]*)(?=[{_LETTERS}])", r"\1 \1"),
    (f"([{_WHOLE}][{_MARKS}]*)(?=[{_LETTERS}])", r"\1 \1"),
)
_PATTERNS = tuple((re.compile(pattern), replacement) for pattern, replacement in _STEPS)
_PART = re.compile(f"(?![{_WHOLE}])[{_LETTERS}][{_MARKS}]*")
_SPLITS = re.compile(_TO_SPLIT)
_UNWRITTEN = _members((_HALF_WIDTH_KANA,))
UNIT = re.compile(f"[{_LETTERS}{_UNWRITTEN}][{_MARKS}\uff9e\uff9f]*")
"""A letter of a run with its marks, as it may be written in a text."""
IN_RUN = re.compile(f"[{_RUN}{_UNWRITTEN}]")
"""A letter or mark that needs no space before or after it to begin or end a word."""


def spaced(text: str) -> str:
    """`text` as `to_tsvector` should see it; as it is where there is nothing to split or fold."""
    text = text.translate(_SPACED)
    if not _SPLITS.search(text):
        return text
    text = unicodedata.normalize("NFC", text.translate(_WIDE))
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def spaced_sql(expression: str) -> str:
    """The SQL of `spaced` for an expression of type text. Holds no percent signs."""
    # Punctuation apart: `translate` compares each character of a text with each of its list.
    plain = tidied_sql(expression)
    split = f"normalize({_translated('t', _WIDE)}, NFC)"
    for pattern, replacement in _STEPS:
        split = f"regexp_replace({split}, {_quoted(pattern)}, {_quoted(replacement)}, 'g')"
    return (
        f"(SELECT CASE WHEN t ~ {_quoted(_TO_SPLIT)} THEN {split} ELSE t END"  # noqa: S608  # ours
        f" FROM (SELECT {plain} AS t) tidied)"
    )


def tidied_sql(expression: str) -> str:
    """The SQL of an expression with punctuation as Postgres' parser knows it, of equal length."""
    plain = f"regexp_replace({_translated('t', _MARKS_OF_WORDS)}, {_quoted(_TO_SPACE)}, ' ', 'g')"
    return (
        f"(SELECT CASE WHEN t ~ {_quoted(_TO_SPACE)} THEN {plain} ELSE t END"  # noqa: S608  # ours
        f" FROM (SELECT {expression} AS t) given)"
    )


def units(text: str) -> list[tuple[int, int, str]]:
    """The letters of runs in `text`: where each begins and ends, and how it is indexed."""
    return [(match.start(), match.end(), _folded(match.group())) for match in UNIT.finditer(text)]


def has_part(text: str) -> bool:
    """Whether a letter that is no word by itself stands alone in `text`.

    Inside the runs of other texts no lexeme stands for it.
    """
    return any(_PART.fullmatch(word) for word in spaced(text).split())


def _folded(unit: str) -> str:
    return unicodedata.normalize("NFC", unit.translate(_WIDE))


def _translated(expression: str, table: Mapping[int, str]) -> str:
    return (
        f"translate({expression}, {_quoted(''.join(map(chr, table)))},"
        f" {_quoted(''.join(table.values()))})"
    )


def _quoted(text: str) -> str:
    """A literal of SQL; needs standard_conforming_strings, which is Postgres' default."""
    return "'" + text.replace("'", "''") + "'"
