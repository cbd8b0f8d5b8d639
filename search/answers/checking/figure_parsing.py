"""The figures of a text: numbers with the units around them, dates and times of day. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from search.answers.checking.dates import dates, times
from search.answers.checking.figures import SYMBOLS, UNIT_WORDS, Figure, one_of
from search.answers.checking.numerals import SCALES, cardinals, fractions, ordinals

# A number in digits, after a sign or the dash of a range: 1,000 and 1 000 and 1.000,5 and .5.
_DIGITS = re.compile(
    r"(?:(?<![\w.,])(?P<sign>(?<![\d%])[-−](?=\d))?|(?<=\d)[-–—])(?P<digits>"
    r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*|\.\d+)(?![.,]?\d)"
)
# A whole number, perhaps in groups of three digits.
_WHOLE = re.compile(r"\d+|[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*")
_SHORT_SCALES = {"k": 1_000, "K": 1_000, "M": 10**6, "mn": 10**6, "bn": 10**9}
_SCALE = re.compile(
    rf"(?P<short>{one_of(_SHORT_SCALES)})\b|[ \u00a0-]?(?P<word>(?i:{one_of(SCALES)}))(?i:s?)\b\.?"
)
# 3rd, and the 1990s.
_ORDINAL = re.compile(r"(?<![\w.,])(\d[\d,]*)(?:st|nd|rd|th|(?<=\d{4})s)\b")
_UNIT = re.compile(
    rf"[ \u00a0\u202f]?-?(?:(?:more|full|whole|volle|weitere|additional|further) )?(?:"
    rf"(?P<word>(?i:{one_of(UNIT_WORDS)}))(?![^\W\d_])|(?P<symbol>{one_of(SYMBOLS)})(?![^\W_]))"
)
_CURRENCY = re.compile(r"((?:US)?\$|€|£|¥|\b(?:USD|EUR|GBP|JPY))[ \u00a0]?\Z")
_FOLLOWING = re.compile(r"[ \u00a0-][^\W\d_]{3,}")
_RANGE = re.compile(r"[ \u00a0]?(?:-|–|—|to|bis|and|und|or|oder|until)[ \u00a0]?", re.IGNORECASE)


def figures(text: str) -> list[Figure]:
    """The figures of a text in order, without overlaps: of two, the one that is read first."""
    results: list[Figure] = []
    for read in (dates, times, fractions, _ordinals, _numbers, ordinals):
        for each in read(text):
            if not any(one.start < each.end and each.start < one.end for one in results):
                results.append(each)
    results.sort(key=lambda each: each.start)
    for place, (one, two) in enumerate(pairwise(results)):  # 5 to 10 seconds
        is_range = one.values and not one.unit and _RANGE.fullmatch(text[one.end : two.start])
        if is_range and two.unit:
            results[place] = replace(one, unit=two.unit, is_sure=True)
    return results


def _ordinals(text: str) -> Iterator[Figure]:
    for match in _ORDINAL.finditer(text):
        yield Figure(*match.span(), match.group(), _readings(match[1]))


def _numbers(text: str) -> Iterator[Figure]:
    for number in (*_digits(text), *cardinals(text)):
        yield _measured(text, number)


def _digits(text: str) -> Iterator[Figure]:
    for match in _DIGITS.finditer(text):
        start, end = match.start("sign" if match["sign"] else "digits"), match.end()
        factor = -1 if match["sign"] else 1
        if scale := _SCALE.match(text, end):
            end = scale.end()
            factor *= _SHORT_SCALES.get(scale["short"]) or SCALES[scale["word"].casefold()]
        parts = re.split("[.,]", match["digits"])
        values = frozenset(value * factor for value in _readings(match["digits"]))
        if values:
            decimals = parts[1] if len(parts) == 2 else ""
            yield Figure(start, end, text[start:end], values, None, decimals)


def _readings(written: str) -> frozenset[Decimal]:
    """The values that a number in digits may have: 1.500 is 1500 in German and 1.5 in English.

    None for what is no number, such as 1.2.3.
    """
    plain = re.sub(r"[ \u00a0\u202f'’]", "", written)
    head, mark, last = re.fullmatch(r"(.*?)(?:([.,])(\d+))?", plain).groups()  # type: ignore[union-attr]
    values = set()
    if _WHOLE.fullmatch(plain):
        values.add(Decimal(re.sub("[.,]", "", plain)))
    if last and mark not in head and _WHOLE.fullmatch(head or "0"):
        values.add(Decimal(f"{re.sub('[.,]', '', head)}.{last}"))
    return frozenset(values)


def _measured(text: str, number: Figure) -> Figure:
    """The number with the unit around it. A unit makes a number of "one"."""
    start, end, unit = number.start, number.end, None
    if after := _UNIT.match(text, end):
        word = after["word"]
        unit = UNIT_WORDS[word.casefold()] if word else SYMBOLS[after["symbol"]]
        end = after.end()
    elif before := _CURRENCY.search(text[max(0, start - 5) : start]):
        unit, start = SYMBOLS[before[1]], max(0, start - 5) + before.start()
    is_alone, is_sure = _FOLLOWING.match(text, end) is None, number.is_sure or unit is not None
    number = replace(number, start=start, end=end, text=text[start:end])
    return replace(number, unit=unit, is_alone=is_alone, is_sure=is_sure)
