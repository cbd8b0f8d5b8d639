"""The figures of a text, in all their spellings: digits, words, dates and times of day. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from search.answers.checking.figures import SYMBOLS, UNIT_WORDS, Date, Figure, one_of

_UNIT = re.compile(
    rf"[ \u00a0\u202f]?-?(?:(?:more|full|whole|volle|weitere|additional|further) )?(?:"
    rf"(?P<word>(?i:{one_of(UNIT_WORDS)}))(?![^\W\d_])|(?P<symbol>{one_of(SYMBOLS)})(?![^\W_]))"
)
_CURRENCY = re.compile(r"((?:US)?\$|€|£|¥|\b(?:USD|EUR|GBP|JPY))[ \u00a0]?\Z")
_FOLLOWING = re.compile(r"[ \u00a0-][^\W\d_]{3,}")
_DIGITS = re.compile(
    r"(?:(?<![\w.,])(?P<sign>(?<![\d%])[-−](?=\d))?|(?<=\d)[-–—])(?P<n>"
    r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?(?!\d)|\d{1,3}(?:,\d{3})+(?:\.\d+)?|"
    r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:[.,]\d+)?|\.\d+)(?![.,]?\d)"
)
_SUFFIX = re.compile(r"(?P<ordinal>(?:st|nd|rd|th)\b)|(?P<decade>s\b)|(?P<short>(?:k|K|M|bn|mn)\b)")
_SHORT = {"k": 1000, "K": 1000, "M": 10**6, "bn": 10**9, "mn": 10**6}
_SCALES = {
    "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "dozen": 12, "mio": 10**6, "mrd": 10**9, "millionen": 10**6, "milliarde": 10**9,
    "milliarden": 10**9, "hundert": 100, "tausend": 1_000,
}  # fmt: skip
_SCALE = re.compile(rf"[ \u00a0-]?({one_of(_SCALES)})s?\b\.?", re.IGNORECASE)
_ENGLISH = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905
_ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_GERMAN = """null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn
    fünfzehn sechzehn siebzehn achtzehn neunzehn""".split()  # noqa: SIM905
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()  # noqa: SIM905
_ORDINALS = """zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh
    twelfth""".split()  # noqa: SIM905
_SMALL = {word: n for words in (_ENGLISH, _GERMAN) for n, word in enumerate(words)}
_SMALL |= {"einmal": 1, "once": 1, "twice": 2, "thrice": 3, "zweimal": 2, "dreimal": 3}
_TENS = {word: 10 * n for words in (_ENGLISH_TENS, _GERMAN_TENS) for n, word in enumerate(words, 2)}
_SMALL |= {
    f"{'ein' if one == 1 else _GERMAN[one]}und{ten}": _TENS[ten] + one
    for ten in _GERMAN_TENS
    for one in range(1, 10)
}
_ORDINAL = {word: n for n, word in enumerate(_ORDINALS)}
_ORDINAL |= {f"{word}th": n for n, word in enumerate(_ENGLISH) if n > 12}
_ORDINAL |= {f"{word[:-1]}ieth": _TENS[word] for word in _ENGLISH_TENS}
_BELOW = (
    rf"(?:(?:{one_of(_ENGLISH_TENS)})[ -](?:{one_of(_ENGLISH[1:10])})|{one_of(_SMALL | _TENS)})"
)
_NUMERAL = re.compile(
    rf"\b(?:(?P<tens>{one_of(_ENGLISH_TENS)})-(?P<last>{one_of(_ORDINALS[1:10])})"
    rf"|(?P<ordinal>{one_of(_ORDINAL)})"
    rf"|(?P<number>(?:{_BELOW}|an?|eine?)(?:[ -](?:{one_of(_SCALES)}))+"
    rf"(?: (?:and )?{_BELOW}(?:[ -](?:{one_of(_SCALES)}))*)*|{_BELOW}))\b",
    re.IGNORECASE,
)
# What may mean another thing than a number.
_UNSURE = frozenset({"one", "eins", "null", "zero", "acht", "elf", "once", "einmal"})
_FRACTIONS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "drittel": 3, "viertel": 4}
_FRACTION = re.compile(
    r"\b(?:(?P<count>an?|one|two|three|ein|zwei|drei|um ein)[ -]"
    rf"(?P<below>{one_of(_FRACTIONS)})s?|half|hälfte)\b",
    re.IGNORECASE,
)
_ENDS_FRACTION = re.compile(r"[.,;]|\Z| (?:of|as|to|in|from|der|des|von|auf)\b", re.IGNORECASE)
_COUNTS = {"two": 2, "zwei": 2, "three": 3, "drei": 3}
_RANGE = re.compile(r"[ \u00a0]?(?:-|–|—|to|bis|and|und|or|oder|until)[ \u00a0]?", re.IGNORECASE)


def figures(text: str) -> list[Figure]:
    """The figures of a text in order, without overlaps."""
    results: list[Figure] = []
    for each in (*_dates(text), *_times(text), *_fractions(text), *_numbers(text)):
        if not any(one.start < each.end and each.start < one.end for one in results):
            results.append(each)
    results.sort(key=lambda each: each.start)
    for place, (one, two) in enumerate(pairwise(results)):  # 5 to 10 seconds
        is_range = one.values and not one.unit and _RANGE.fullmatch(text[one.end : two.start])
        if is_range and two.unit:
            results[place] = replace(one, unit=two.unit, is_sure=True)
    return results


def _numbers(text: str) -> Iterator[Figure]:
    for match in _DIGITS.finditer(text):
        start, end = match.start("sign" if match["sign"] else "n"), match.end()
        values = _readings(("-" if match["sign"] else "") + match["n"])
        parts = re.split("[.,]", match["n"])
        decimals = parts[1] if len(parts) == 2 else ""
        suffix = _SUFFIX.match(text, end)
        if suffix and (suffix["ordinal"] or (suffix["decade"] and len(match["n"]) == 4)):
            mark = "s" if suffix["decade"] else ""
            yield Figure(start, suffix.end(), text[start : suffix.end()], values, None, mark)
            continue
        factor = 1
        if suffix and suffix["short"]:
            factor, end = _SHORT[suffix["short"]], suffix.end()
        elif scale := _SCALE.match(text, end):
            factor, end = _SCALES[scale[1].casefold()], scale.end()
        values = frozenset(each * factor for each in values)
        yield _measured(text, Figure(start, end, "", values, None, decimals))
    for match in _NUMERAL.finditer(text):
        start, end = match.span()
        if last := match["last"]:
            value = _TENS[match["tens"].casefold()] + _ORDINAL[last.casefold()]
            yield Figure(start, end, match.group(), frozenset({Decimal(value)}))
        elif match["ordinal"]:
            value = _ORDINAL[match["ordinal"].casefold()]  # "first, open it" is no figure
            values = frozenset({Decimal(value)})
            yield Figure(start, end, match.group(), values, is_sure=value > 3)
        else:
            values = frozenset({Decimal(_value(match["number"].casefold()))})
            is_sure = match.group().casefold() not in _UNSURE
            yield _measured(text, Figure(start, end, "", values, is_sure=is_sure))


def _measured(text: str, number: Figure) -> Figure:
    """The number with the unit around it. A unit makes a number of "one"."""
    start, end, unit = number.start, number.end, None
    if after := _UNIT.match(text, end):
        word = after["word"]
        unit = UNIT_WORDS[word.casefold()] if word else SYMBOLS[after["symbol"]]
        end = after.end()
    elif before := _CURRENCY.search(text[max(0, start - 5) : start]):
        unit, start = SYMBOLS[before[1]], max(0, start - 5) + before.start()
    is_sure = number.is_sure or unit is not None
    is_alone = _FOLLOWING.match(text, end) is None
    return replace(
        number,
        start=start,
        end=end,
        text=text[start:end],
        unit=unit,
        is_alone=is_alone,
        is_sure=is_sure,
    )


def _value(numeral: str) -> int:
    """The value of a number in words."""
    total = current = 0
    for word in re.split(r"[ -]", numeral):
        if scale := _SCALES.get(word):
            current = max(current, 1) * scale
            if scale >= 1000:
                total, current = total + current, 0
        elif word not in ("a", "an", "ein", "eine", "and"):
            current += _SMALL.get(word, 0) + _TENS.get(word, 0)
    return total + current


def _fractions(text: str) -> Iterator[Figure]:
    for match in _FRACTION.finditer(text):
        count = _COUNTS.get((match["count"] or "").casefold(), 1)
        value = Decimal(count) / _FRACTIONS.get((match["below"] or "half").casefold(), 2)
        is_sure = match["below"] is not None and _ENDS_FRACTION.match(text, match.end()) is not None
        yield Figure(*match.span(), match.group(), frozenset({value}), is_sure=is_sure)


def _readings(written: str) -> frozenset[Decimal]:
    """The values that a number in digits may have: 1.500 is 1500 in German and 1.5 in English."""
    plain = re.sub(r"[ \u00a0\u202f'’]", "", written)
    if "," in plain and "." in plain:
        head, tail = re.split(r"[.,](?=\d*\Z)", plain)
        return frozenset({Decimal(f"{re.sub('[.,]', '', head)}.{tail}")})
    head, *groups = re.split("[.,]", plain)
    whole, values = Decimal(head + "".join(groups)), set()
    if all(len(group) == 3 for group in groups) and head.lstrip("-") not in ("", "0"):
        values.add(whole)
    if len(groups) == 1:
        values.add(Decimal(f"{head or 0}.{groups[0]}"))
    return frozenset(values or {whole})


_NAMES = """
january jan januar jänner janvier enero gennaio
february feb februar février febrero febbraio
march mar märz mars marzo
april apr avril abril aprile
may mai mayo maggio
june jun juni juin junio giugno
july jul juli juillet julio luglio
august aug août agosto
september sep sept septembre septiembre settembre
october oct oktober okt octobre octubre ottobre
november nov novembre noviembre
december dec dezember dez décembre diciembre dicembre
"""
MONTHS = {
    name: number
    for number, line in enumerate(_NAMES.strip().splitlines(), start=1)
    for name in line.split()
}
_MONTH = rf"(?P<month>{one_of(MONTHS)})\b\.?"
_DAY = r"(?<![\d.,])(?P<day>[0-3]?\d)(?:st|nd|rd|th|\.)?"
_YEAR = r"(?P<year>[12]\d{3})\b"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_DAY}[ \u00a0](?:of |de )?{_MONTH}(?:,? (?:de |of )?{_YEAR})?",
        rf"\b{_MONTH}[ \u00a0](?:the )?{_DAY}(?![\d.,]\d|\d|[ ]?%)(?:,? {_YEAR})?",
        rf"\b{_MONTH},? (?:of )?{_YEAR}",
        r"(?<![\d-])(?P<year>[12]\d{3})-(?P<month>[01]\d)-(?P<day>[0-3]\d)(?![\d-])",
        r"(?<![\d.])(?P<day>[0-3]?\d)\.(?P<month>[01]?\d)\.(?P<year>(?:[12]\d)?\d\d)(?![\d.]\d|\d)",
        r"(?<![\d/])(?P<day>[0-3]?\d)/(?P<month>[0-3]?\d)/(?P<year>(?:[12]\d)?\d\d)(?![\d/])",
    )
]
_CLOCK = re.compile(
    r"(?<![\d:.,])(?P<h>[0-2]?\d)(?::(?P<m>[0-5]\d))(?::[0-5]\d)?(?![\d:])"
    r"(?:[ \u00a0]?(?P<half>[ap])\.?m\b\.?|[ \u00a0](?:Uhr|h)\b)?|"
    r"(?<![\d:.,])(?P<h2>[0-2]?\d)(?:\.(?P<m2>[0-5]\d))?[ \u00a0]?"
    r"(?:(?P<half2>[ap])\.?m\b\.?|Uhr\b|o['’]clock\b)",
    re.IGNORECASE,
)


def _dates(text: str) -> Iterator[Figure]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = parts["month"].casefold()
            number = int(month) if month.isdigit() else MONTHS[month]
            day = int(parts["day"]) if parts.get("day") else None
            year = _year(parts["year"]) if parts.get("year") else None
            dates: set[Date] = {(year, number, day)}
            if "/" in match.group():  # 3/4/2024 has two readings
                dates.add((year, day, number))
            possible = {
                d for d in dates if 1 <= (d[1] or 0) <= 12 and (d[2] is None or 1 <= d[2] <= 31)
            }
            if possible:
                yield Figure(*match.span(), match.group(), dates=frozenset(possible))


def _year(written: str) -> int:
    year = int(written)
    return year if len(written) == 4 else year + (2000 if year < 70 else 1900)


def _times(text: str) -> Iterator[Figure]:
    for match in _CLOCK.finditer(text):
        hour, minute = int(match["h"] or match["h2"]), int(match["m"] or match["m2"] or 0)
        half = (match["half"] or match["half2"] or "").casefold()
        afternoon = (hour % 12 + 12) * 60 + minute
        minutes = {hour * 60 + minute}
        if half:
            minutes = {afternoon if half == "p" else hour % 12 * 60 + minute}
        elif hour <= 12 and not match.group().casefold().endswith(("uhr", "h")):
            minutes.add(afternoon)
        if hour <= 24:
            yield Figure(*match.span(), match.group(), minutes=frozenset(minutes))
