"""The figures of a text in all their spellings: numbers with units, dates and times. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from search.answers.checking.numerals import SCALES, Numeral, numerals, readings
from search.answers.checking.quantities import (
    Date,
    Unit,
    currency_before,
    moments,
    unit_after,
)
from search.answers.checking.words import STOP

_NUMBER = re.compile(
    r"(?<![\w.,])(?:(?<=[\d%])[-–—]|(?<!\w)[-−](?=\d))?(?P<n>"
    r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?(?![\d])|\d{1,3}(?:,\d{3})+(?:\.\d+)?|"
    r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:[.,]\d+)?|(?<!\d)\.\d+)(?![.,]?\d)"
)
_IN_RANGE = re.compile(r"(?<=\d)[-–—](?P<n>\d+(?:[.,]\d+)?)(?![.,]?\d)")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_DECADE = re.compile(r"[12]\d\d0s\b")
_SCALE = re.compile(r"[ \u00a0-]?([^\W\d_]+)\b\.?")
_SHORT_SCALE = re.compile(r"(k|K|M|bn|mn|m)\b")
_RANGE = re.compile(r"[ \u00a0]?(?:-|–|—|to|bis|and|und|or|oder|until)[ \u00a0]?", re.IGNORECASE)
_EXCLUSIVE = frozenset({"%", "pp", "x"})


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure at [start, end) of a text, as `text` writes it.

    `kind` is number, ordinal, date or time. A number has its possible `values` and a unit or none.
    `written`: the digits after a decimal point, which tell 2.1 from 2.10 where there is no unit.
    `following`: the word after it. `is_sure` is False where it can bear out a claim but is none.
    """

    start: int
    end: int
    text: str
    kind: str
    values: frozenset[Decimal] = frozenset()
    unit: Unit | None = None
    written: str = ""
    following: str = ""
    is_sure: bool = True
    readings: frozenset[Date] | frozenset[int] = field(default_factory=frozenset)


def figures(text: str) -> list[Figure]:
    """The figures of a text in order, without overlaps."""
    results = [
        Figure(m.start, m.end, text[m.start : m.end], m.kind, readings=m.readings)
        for m in moments(text)
    ]
    taken = [(each.start, each.end) for each in results]
    numbers = [
        number
        for number in (*_digits(text), *(_from_words(text, each) for each in numerals(text)))
        if not any(start < number.end and number.start < end for start, end in taken)
    ]
    numbers.sort(key=lambda each: each.start)
    results += _without_overlaps(_shared_units(text, numbers))
    return sorted(results, key=lambda each: each.start)


def _digits(text: str) -> Iterator[Figure]:
    for pattern in (_NUMBER, _IN_RANGE):
        for match in pattern.finditer(text):
            written = match["n"]
            sign = "-" if match.group()[0] in "-−" and pattern is _NUMBER else ""
            start = match.start() if sign else match.start("n")
            yield _number(text, start, match.end(), readings(sign + written), _decimals(written))


def _decimals(written: str) -> str:
    parts = re.split(r"[.,]", written)
    return parts[-1] if len(parts) == 2 else ""


def _number(text: str, start: int, end: int, values: frozenset[Decimal], written: str) -> Figure:
    if suffix := _ORDINAL.match(text, end):
        following = _word_after(text, suffix.end())
        return Figure(start, suffix.end(), text[start : suffix.end()], "ordinal", values,
                      following=following)  # fmt: skip
    if _DECADE.match(text, start):
        return Figure(start, end + 1, text[start : end + 1], "number", values, written="s")
    scale = _SCALE.match(text, end)
    if scale and (factor := SCALES.get(scale[1].casefold())):
        values, end = frozenset(value * factor for value in values), scale.end()
    elif (short := _SHORT_SCALE.match(text, end)) and short[1] != "m":
        factor = {"k": 1000, "K": 1000, "M": 10**6, "bn": 10**9, "mn": 10**6}[short[1]]
        values, end = frozenset(value * factor for value in values), short.end()
    return _measured(text, start, end, values, written, is_sure=True)


def _from_words(text: str, numeral: Numeral) -> Figure:
    start, end, values = numeral.start, numeral.end, frozenset({numeral.value})
    if numeral.kind == "times":
        unit, _ = unit_after("×", 0)
        return Figure(start, end, text[start:end], "number", values, unit)
    if numeral.kind == "ordinal":
        return Figure(start, end, text[start:end], "ordinal", values,
                      following=_word_after(text, end), is_sure=numeral.is_sure)  # fmt: skip
    return _measured(text, start, end, values, "", is_sure=numeral.is_sure)


def _measured(
    text: str, start: int, end: int, values: frozenset[Decimal], written: str, *, is_sure: bool
) -> Figure:
    """The number with the unit around it. A unit makes a number of "one"."""
    unit, unit_end = unit_after(text, end)
    if unit is None:
        unit, start = currency_before(text, start)
    return Figure(
        start, unit_end, text[start:unit_end], "number", values, unit, written,
        _word_after(text, unit_end), is_sure or unit is not None,
    )  # fmt: skip


def _word_after(text: str, end: int) -> str:
    match = re.compile(r"[ \u00a0-]([^\W\d_]{3,})").match(text, end)
    word = match[1].casefold() if match else ""
    return "" if word in STOP else word


def _shared_units(text: str, numbers: list[Figure]) -> list[Figure]:
    """The numbers, the first of a range with the unit of the second: 5 to 10 seconds."""
    shared = list(numbers)
    for place in range(len(shared) - 2, -1, -1):
        one, two = shared[place], shared[place + 1]
        between = text[one.end : two.start]
        if one.unit is None and two.unit is not None and _RANGE.fullmatch(between):
            shared[place] = Figure(
                one.start, one.end, one.text, one.kind, one.values, two.unit, one.written,
                two.following, one.is_sure,
            )  # fmt: skip
    return shared


def _without_overlaps(numbers: list[Figure]) -> list[Figure]:
    kept: list[Figure] = []
    for each in numbers:
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def same(claimed: Figure, given: Figure, mentioned: frozenset[str] = frozenset()) -> bool:
    """True if the given figure bears out the claimed one.

    `mentioned`: the units that the given figure's text names, for numbers in a table.
    """
    if claimed.kind == "date":
        return given.kind == "date" and any(
            _has_parts(want, have)
            for want in claimed.readings
            for have in given.readings
            if isinstance(want, tuple) and isinstance(have, tuple)
        )
    if claimed.kind == "time":
        return given.kind == "time" and bool(set(claimed.readings) & set(given.readings))
    if given.kind == "date":
        return claimed.unit is None and any(
            Decimal(year) in claimed.values
            for have in given.readings
            if isinstance(have, tuple) and (year := have[0])
        )
    return claimed.kind == given.kind and _same_number(claimed, given, mentioned)


def _has_parts(claimed: Date, given: Date) -> bool:
    """True if the given date has every part that is claimed."""
    return all(want is None or want == have for want, have in zip(claimed, given, strict=True))


def _same_number(claimed: Figure, given: Figure, mentioned: frozenset[str]) -> bool:
    want, have = claimed.unit, given.unit
    if want is None or have is None:
        in_a_table = want is not None and want.name in mentioned and not given.following
        if want is not None and not in_a_table:
            return _is_half(claimed, given)
        if have is not None and have.name in _EXCLUSIVE:
            return _is_half(given, claimed)
        told_apart = claimed.written and given.written and want is have
        if told_apart and len(claimed.written) != len(given.written):
            return False
        return bool(claimed.values & given.values)
    if want.name == have.name:
        return bool(claimed.values & given.values)
    if want.dimension != have.dimension:
        return False
    sizes = {value * have.factor for value in given.values}
    return any(value * want.factor in sizes for value in claimed.values)


def _is_half(one: Figure, other: Figure) -> bool:
    """True for 50% and "half"."""
    is_share = one.unit is not None and one.unit.name == "%"
    return is_share and any(
        abs(value - 100 * share) < 1
        for value in one.values
        for share in other.values
        if 0 < share < 1
    )


def comparable(claimed: Figure, given: Figure, mentioned: frozenset[str]) -> bool:
    """True if two figures measure alike, so that one could stand in the other's place."""
    if claimed.kind != given.kind:
        return False
    if claimed.unit is None or given.unit is None:
        named = claimed.unit is not None and claimed.unit.name in mentioned
        in_a_table = named and given.unit is None and not given.following
        return claimed.unit is given.unit or in_a_table
    return claimed.unit.dimension == given.unit.dimension
