"""The normal form of text that is read for words, in Python and in SQL (ADR 124).

Unicode writes one word in several ways: composed or with combining marks, with ligatures, in full
width, with superior and inferior digits, with soft hyphens and characters of no width. And with
the C locale, Postgres' parser takes every character outside ASCII for a letter, so that “word”,
50€ and pump→tank would each be one word; in any locale it drops what stands in <...>, as in
List<String> or <artifactId>. The normal form is NFKC, but that symbols, punctuation and superior
digits part words: blade¹ is read as “blade 1”, CO₂ as CO2.

Only the input of `to_tsvector` has it; the stored text and its offsets do not change. The SQL is
made from the same patterns as the Python, and uses nothing that depends on a locale.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_letters

# Apostrophes, quotes, hyphens and signs of codes get their ASCII form. Persian's joint of no width
# is typed as a space, as nothing or as itself: the readings of a hyphen. Hebrew's geresh and
# gershayim stay: they are part of numbers and abbreviations.
_AS_WRITTEN, _IN_ASCII = (
    "ʼ’“”„\u058a\u05be\u200c\u2010\u2011\u2212＃＆＋－．／",
    '\'\'"""------#&+-./',
)
_MARKS_OF_WORDS = dict(zip(map(ord, _AS_WRITTEN), _IN_ASCII, strict=True))
_LETTER_LIKE = {0x05F3, 0x05F4}
# A boundary of words, and marks of direction, which stand around them.
_BOUNDARIES = {0x200B, 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
# Without width or a meaning of their own, within words: soft hyphens, joiners, variation selectors.
# Arabic's tatweel only widens a word.
_REMOVED = {
    0xAD, 0x34F, 0x640, 0x180E, 0x200D, *range(0x2060, 0x2065), 0xFEFF,
    *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0),
}  # fmt: skip
# Vowels and letters of Thai and Lao that NFKC takes apart, which their readers do not.
_KEPT = "\u0e33\u0eb3\u0edc\u0edd"
_IN_PLACE_OF_KEPT = "\ue010\ue011\ue012\ue013"  # private use: parsers remove it from texts
_SUPERIOR = "⁰¹²³⁴-⁹"
_INFERIOR = range(0x2080, 0x208A)
_NO_WORDS = "™℠"
# M8×40 is typed M8x40, 25 µg 25 ug, and 18€ EUR 18; NFKC makes µg of ㎍.
_MICRO = re.compile("[µμ](?=[A-Za-zÀ-ÖØ-öø-ňŊ-ɏ])")
_CURRENCIES = {" EUR ": re.compile("€"), " GBP ": re.compile("£")}
_TYPED = {"x": re.compile("(?<=[0-9])×(?=[0-9])"), "u": _MICRO, **_CURRENCIES}
# What NFKC makes of ℃, ŀ, 🄪, ½, ㎧ and ŉ.
_LEFT = dict(zip(map(ord, "°·〔〕⁄∕ʼ"), "    //'", strict=True))
# All of Unicode but for ideographs, Hangul and private use, which are letters as they stand.
_RANGES = (
    (0x80, 0x33FF),
    (0x4DC0, 0x4DFF),
    (0xA000, 0xABFF),
    (0xF900, 0x1FFFF),
    (0x2F800, 0x2FA1D),
)


def blocks(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
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


def members(ranges: Iterable[tuple[int, int]]) -> str:
    """The ranges as a bracket expression's content, valid in Python and in Postgres."""
    return "".join(chr(a) if a == b else f"{chr(a)}-{chr(b)}" for a, b in ranges)


def sql_literal(text: str) -> str:
    """An SQL literal; requires standard_conforming_strings, Postgres' default."""
    return "'" + text.replace("'", "''") + "'"


def translated_sql(expression: str, table: Mapping[int, str]) -> str:
    """SQL for `str.translate` with single characters."""
    return (
        f"translate({expression}, {sql_literal(''.join(map(chr, table)))},"
        f" {sql_literal(''.join(table.values()))})"
    )


def _classes() -> tuple[str, str, str]:
    """What becomes a space, what parts words by itself, and what makes a text other than plain."""
    spaces, parting, special = [], [], []
    for code in (code for first, last in _RANGES for code in range(first, last + 1)):
        char = chr(code)
        category, form = unicodedata.category(char), unicodedata.normalize("NFKC", char)
        is_sign = category[0] == "S" or (category == "No" and code not in _INFERIOR)
        stands_for_words = form != char and any(map(str.isalnum, form)) and char not in _NO_WORDS
        if char in "€£":
            special.append(code)
            continue
        if is_sign and stands_for_words:
            parting.append(code)
        elif code in _BOUNDARIES or (category[0] in "SPZ" and code not in _LETTER_LIKE):
            spaces.append(code)
            continue
        elif not (form != char or unicodedata.combining(char) or 0x1160 <= code <= 0x11FF):
            continue
        if char not in _KEPT:
            special.append(code)
    special = sorted({*special, *_REMOVED})
    return members(blocks(spaces)), members(blocks(parting)), members(blocks(special))


_SPACES, _PARTING, _SPECIAL = _classes()
_TO_SPACE = f"[{_SPACES}{members(blocks(sorted(_MARKS_OF_WORDS)))}]"
_PARTED = rf"([{_SUPERIOR}]+|[{_PARTING}])"
_SPACED = f"[{_SPACES}]"
_DROPPED = f"[{members(blocks(sorted(_REMOVED)))}]"
_KEEP = {ord(a): b for a, b in zip(_KEPT, _IN_PLACE_OF_KEPT, strict=True)}
_GIVE_BACK = {ord(b): a for a, b in zip(_KEPT, _IN_PLACE_OF_KEPT, strict=True)} | _LEFT
# `re` tries a class with characters beyond 16 bits range by range: ASCII is told apart before.
_patterns = (f"[{_SPECIAL}]+", _PARTED, _SPACED, _DROPPED)
_specials, _parted, _spaced, _dropped = (re.compile(rf"(?=[^\0-\x7f]){p}") for p in _patterns)
_LATIN = "A-Za-z" + "".join(
    char for char in map(chr, range(0xC0, 0x250)) if char.isalpha() and not _specials.match(char)
)
# m² is read as “m 2” and as m2: whether 2 is an exponent or a note nobody can tell.
_UNITS = {
    digit: re.compile(rf"(?<![{_LATIN}])([A-Za-z]{{1,3}}){sign}(?![{_SUPERIOR}])")
    for digit, sign in (("2", "²"), ("3", "³"))
}
_LETTERS = ascii_letters + _LATIN.removeprefix("A-Za-z")


def normal_form(text: str) -> str:
    """`text` with its words in their normal form, and spaces in place of symbols."""
    text = text.replace("</", "  ").replace("<", " ")
    if text.isascii():
        return text
    text = text.translate(_MARKS_OF_WORDS)
    for letter, written in _TYPED.items():
        text = written.sub(letter, text)
    if not _specials.search(text):
        return _spaced.sub(" ", text)
    for digit, unit in _UNITS.items():
        text = unit.sub(rf"\g<0> \g<1>{digit}", text)
    text = _spaced.sub(" ", _parted.sub(r" \1 ", text)).translate(_KEEP)
    text = _MICRO.sub("u", _dropped.sub("", unicodedata.normalize("NFKC", text)))
    return unicodedata.normalize("NFC", text.translate(_GIVE_BACK))


def normal_form_sql(expression: str) -> str:
    """SQL that computes `normal_form` of a text expression. Contains no percent signs."""
    # Few texts have a special character, and those with typographic quotes alone keep their length.
    written = translated_sql("t", _MARKS_OF_WORDS)
    for letter, pattern in _TYPED.items():
        written = f"regexp_replace({written}, '{pattern.pattern}', '{letter}', 'g')"
    plain = f"regexp_replace({written}, '{_SPACED}', ' ', 'g')"
    for digit, unit in _UNITS.items():
        written = f"regexp_replace({written}, '{unit.pattern}', '\\& \\1{digit}', 'g')"
    parted = f"regexp_replace({written}, '{_PARTED}', ' \\1 ', 'g')"
    spaced = f"regexp_replace({parted}, '{_SPACED}', ' ', 'g')"
    dropped = (
        f"regexp_replace(normalize({translated_sql(spaced, _KEEP)}, NFKC), '{_DROPPED}', '', 'g')"
    )
    typed = f"regexp_replace({dropped}, '{_MICRO.pattern}', 'u', 'g')"
    special = f"normalize({translated_sql(typed, _GIVE_BACK)}, NFC)"
    untagged = f"replace(replace({expression}, '</', '  '), '<', ' ')"
    return (
        # ASCII has none; its texts have as many bytes as characters, which is known at once.
        "(SELECT CASE WHEN octet_length(t) = length(t) THEN t"  # noqa: S608  # ours
        f" WHEN t ~ '[{_SPECIAL}]' THEN {special}"
        f" WHEN t ~ '{_TO_SPACE}|μ' THEN {plain} ELSE t END FROM (SELECT {untagged} AS t) given)"
    )


def places(text: str) -> tuple[list[int], list[int]]:
    """The starts and the ends in `text` of the characters of its normal form."""
    starts: list[int] = []
    ends: list[int] = []

    def stay(first: int, beyond: int) -> None:
        starts.extend(range(first, beyond))
        ends.extend(range(first + 1, beyond + 1))

    last = 0
    for match in _specials.finditer(text):
        special = match.start()
        # What joins special characters is the word, or the one character, before them.
        start = last + len(text[last:special].rstrip(_LETTERS))
        if start == special > last:
            start -= 1
        stay(last, start)
        before, last = text[start:special], match.end()
        form = normal_form(text[start:last])
        if form.startswith(normal_form(before)):
            stay(start, special)
            form, start = form[special - start :], special
        starts += [start] * len(form)
        ends += [last] * len(form)
    stay(last, len(text))
    return starts, ends
