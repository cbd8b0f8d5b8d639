"""Words of scripts that Postgres cannot split.

Chinese, Japanese and Thai do not separate words by spaces, and Korean attaches particles to them:
a run of their letters becomes overlapping bigrams, interleaved with the letters that can be words
on their own (Nie, Gao, Zhang & Zhou 2000). 北京大学 becomes 北 北京 京 京大 大 大学 学, and a part
of it the same tokens, so that phrase search works. Combining marks stay with their letter.

Only the input of `to_tsvector` is transformed; the stored text and its offsets do not change.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from ingestion.lexical.normal_form import blocks, members, normal_form, normal_form_sql, sql_literal

_THAI_LAO, _MYANMAR, _KHMER = (0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)
_SOUTH_EAST = (_THAI_LAO, _MYANMAR, _KHMER, (0xA9E0, 0xA9FE), (0xAA60, 0xAA7F))
_HAN = ((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))
_HANGUL = ((0xAC00, 0xD7A3),)
_KANA = ((0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x312F), (0x31F0, 0x31FF))
_KANA_MARKS = ((0x3099, 0x309A),)
_HALF_WIDTH_KANA = (0xFF66, 0xFF9F)


def _in_blocks(blocks: Iterable[tuple[int, int]], categories: str) -> Iterator[int]:
    """Yield the blocks' code points whose category begins with one of the letters."""
    for first, last in blocks:
        for code in range(first, last + 1):
            if unicodedata.category(chr(code))[0] in categories:
                yield code


_WHOLE = members((*_HAN, *_HANGUL))  # letters that can be words on their own
_LETTERS = _WHOLE + members((*_KANA, *blocks(_in_blocks(_SOUTH_EAST, "L"))))
_MARKS = members((*_KANA_MARKS, *blocks(_in_blocks(_SOUTH_EAST, "M"))))
_RUN = _LETTERS + _MARKS
_TO_SPLIT = f"[{_RUN}]"

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
_UNWRITTEN = members((_HALF_WIDTH_KANA,))
CHARACTER = re.compile(f"[{_LETTERS}{_UNWRITTEN}][{_MARKS}\uff9e\uff9f]*")
"""A letter of a run with its combining marks, as written in a text."""
IN_RUN = re.compile(f"[{_RUN}{_UNWRITTEN}]")
"""A letter or mark that can begin or end a word without a space."""


def spaced(text: str) -> str:
    """`text` prepared for `to_tsvector`: its normal form, with runs of letters split."""
    text = normal_form(text)
    if not _SPLITS.search(text):
        return text
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def spaced_sql(expression: str) -> str:
    """SQL that computes `spaced` of a text expression. Contains no percent signs."""
    split = "t"
    for pattern, replacement in _STEPS:
        split = f"regexp_replace({split}, {sql_literal(pattern)}, {sql_literal(replacement)}, 'g')"
    return (
        f"(SELECT CASE WHEN t ~ {sql_literal(_TO_SPLIT)} THEN {split} ELSE t END"  # noqa: S608
        f" FROM (SELECT {normal_form_sql(expression)} AS t) normal)"
    )


def characters(text: str) -> list[tuple[int, int, str]]:
    """The letters of runs in `text` as (start, end, indexed form)."""
    return [(one.start(), one.end(), normal_form(one.group())) for one in CHARACTER.finditer(text)]


def has_part(text: str) -> bool:
    """True if `text` contains, in isolation, a letter that cannot be a word on its own.

    Runs of letters in other texts have no lexeme for it.
    """
    return any(_PART.fullmatch(word) for word in spaced(text).split())
