"""Words of scripts that Postgres cannot split, and characters that it does not know.

Chinese, Japanese and Thai do not separate words by spaces, and Korean attaches particles to them:
a run of their letters becomes overlapping bigrams, interleaved with the letters that can be words
on their own (Nie, Gao, Zhang & Zhou 2000). 北京大学 becomes 北 北京 京 京大 大 大学 学, and a part
of it the same tokens, so that phrase search works. Combining marks stay with their letter.

Only the input of `to_tsvector` is transformed; the stored text and its offsets do not change.
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
# Every mark of punctuation and separator outside ASCII lies here (a test goes through Unicode).
_PUNCTUATION = ((0x80, 0x1FFFF),)


def _in_blocks(blocks: Iterable[tuple[int, int]], categories: str) -> Iterator[int]:
    """Yield the blocks' code points whose category begins with one of the letters."""
    for first, last in blocks:
        for code in range(first, last + 1):
            if unicodedata.category(chr(code))[0] in categories:
                yield code


def _members(blocks: Iterable[tuple[int, int]]) -> str:
    """The ranges as a bracket expression's content, valid in Python and in Postgres."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in blocks)


def _blocks(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield ascending code points as ranges without gaps."""
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
    """The usual form of each full-width letter or digit and half-width katakana."""
    return {
        code: unicodedata.normalize("NFKC", chr(code))
        for first, last in (*_FULL_WIDTH, _HALF_WIDTH_KANA)
        for code in range(first, last + 1)
    }


# With the C locale, Postgres' parser treats every non-ASCII character as a letter, so that “word”
# and word—word would each be a single word. Apostrophes and hyphens of words get their ASCII form;
# Hebrew's geresh and gershayim stay: they are part of numbers and abbreviations.
_MARKS_OF_WORDS = {0x2019: "'", 0x058A: "-", 0x05BE: "-", 0x2010: "-", 0x2011: "-"}
_LETTER_LIKE = {0x05F3, 0x05F4}
_SPACES = {*_in_blocks(_PUNCTUATION, "PZ"), 0x200B, 0x200E, 0x200F, 0xFEFF} - _LETTER_LIKE
_SPACED = dict.fromkeys(_SPACES, " ") | _MARKS_OF_WORDS
_WIDE = _wide()
_WHOLE = _members((*_HAN, *_HANGUL))  # letters that can be words on their own
_LETTERS = _WHOLE + _members((*_KANA, *_blocks(_in_blocks(_SOUTH_EAST, "L"))))
_MARKS = _members((*_KANA_MARKS, *_blocks(_in_blocks(_SOUTH_EAST, "M"))))
_RUN = _LETTERS + _MARKS
_TO_SPLIT = f"[{_RUN}{''.join(map(chr, _WIDE))}]"
_TO_SPACE = f"[{_members(_blocks(sorted(_SPACED)))}]"

# Applied in this order. A letter inside a run ends one bigram and begins the next.
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
CHARACTER = re.compile(f"[{_LETTERS}{_UNWRITTEN}][{_MARKS}\uff9e\uff9f]*")
"""A letter of a run with its combining marks, as written in a text."""
IN_RUN = re.compile(f"[{_RUN}{_UNWRITTEN}]")
"""A letter or mark that can begin or end a word without a space."""


def spaced(text: str) -> str:
    """`text` prepared for `to_tsvector`; unchanged if there is nothing to split or fold."""
    text = text.translate(_SPACED)
    if not _SPLITS.search(text):
        return text
    text = unicodedata.normalize("NFC", text.translate(_WIDE))
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def spaced_sql(expression: str) -> str:
    """SQL that computes `spaced` of a text expression. Contains no percent signs."""
    # Punctuation separately: `translate` compares each character with each of its list.
    plain = tidied_sql(expression)
    split = f"normalize({_translated('t', _WIDE)}, NFC)"
    for pattern, replacement in _STEPS:
        split = f"regexp_replace({split}, {_quoted(pattern)}, {_quoted(replacement)}, 'g')"
    return (
        f"(SELECT CASE WHEN t ~ {_quoted(_TO_SPLIT)} THEN {split} ELSE t END"  # noqa: S608  # ours
        f" FROM (SELECT {plain} AS t) tidied)"
    )


def tidied_sql(expression: str) -> str:
    """SQL that replaces punctuation unknown to Postgres' parser; keeps the text's length."""
    plain = f"regexp_replace({_translated('t', _MARKS_OF_WORDS)}, {_quoted(_TO_SPACE)}, ' ', 'g')"
    return (
        f"(SELECT CASE WHEN t ~ {_quoted(_TO_SPACE)} THEN {plain} ELSE t END"  # noqa: S608  # ours
        f" FROM (SELECT {expression} AS t) given)"
    )


def characters(text: str) -> list[tuple[int, int, str]]:
    """The letters of runs in `text` as (start, end, indexed form)."""
    return [
        (match.start(), match.end(), _folded(match.group())) for match in CHARACTER.finditer(text)
    ]


def has_part(text: str) -> bool:
    """True if `text` contains, in isolation, a letter that cannot be a word on its own.

    Runs of letters in other texts have no lexeme for it.
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
    """An SQL literal; requires standard_conforming_strings, Postgres' default."""
    return "'" + text.replace("'", "''") + "'"
