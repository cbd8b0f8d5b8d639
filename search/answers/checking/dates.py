"""Dates and times of day in their spellings. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Date = tuple[int | None, int | None, int | None]  # year, month, day

_NAMES = """
january january jan januar jänner janvier enero gennaio
february february feb februar février febrero febbraio
march march mar märz mars marzo
april april apr avril abril aprile
may may mai mayo maggio
june june jun juni juin junio giugno
july july jul juli juillet julio luglio
august august aug août agosto
september september sep sept septembre septiembre settembre
october october oct oktober okt octobre octubre ottobre
november november nov novembre noviembre
december december dec dezember dez décembre diciembre dicembre
"""
MONTHS = {
    name: number
    for number, line in enumerate(_NAMES.strip().splitlines(), start=1)
    for name in line.split()
}
_MONTH = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?<![\d.,])(?P<day>[0-3]?\d)(?:st|nd|rd|th|\.)?"
_YEAR = r"(?P<year>[12]\d{3})\b"
_PATTERNS = [
    re.compile(
        rf"{_DAY}[ \u00a0](?:of[ ]|de[ ])?{_MONTH}(?:,?[ ](?:de[ ]|of[ ])?{_YEAR})?", re.IGNORECASE
    ),
    re.compile(
        rf"\b{_MONTH}[ \u00a0](?:the[ ])?{_DAY}(?![\d.,]\d|\d|[ ]?%)(?:,?[ ]{_YEAR})?",
        re.IGNORECASE,
    ),
    re.compile(rf"\b{_MONTH},?[ ](?:of[ ])?{_YEAR}", re.IGNORECASE),
    re.compile(r"(?<![\d-])(?P<year>[12]\d{3})-(?P<month>[01]\d)-(?P<day>[0-3]\d)(?![\d-])"),
]
_DOTTED = re.compile(r"(?<![\d.])([0-3]?\d)\.([01]?\d)\.((?:[12]\d)?\d\d)(?![\d.]\d|\d)")
_SLASHED = re.compile(r"(?<![\d/])([0-3]?\d)/([0-3]?\d)/((?:[12]\d)?\d\d)(?![\d/])")
_ALONE = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b"
)
_CLOCK = re.compile(
    r"(?<![\d:.,])(?P<h>[0-2]?\d)(?::(?P<m>[0-5]\d))(?::[0-5]\d)?(?![\d:])"
    r"(?:[ \u00a0]?(?P<half>[ap]\.?m\b\.?)|[ \u00a0](?:Uhr|h)\b)?|"
    r"(?<![\d:.,])(?P<h2>[0-2]?\d)(?:\.(?P<m2>[0-5]\d))?[ \u00a0]?"
    r"(?:(?P<half2>[ap]\.?m\b\.?)|Uhr\b|o['’]clock\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a time of day at [start, end), in all its readings: 3/4/2024 has two. The readings
    of a time are minutes of the day.
    """

    start: int
    end: int
    kind: str
    readings: frozenset[Date] | frozenset[int]


def moments(text: str) -> Iterator[Moment]:
    """The dates and times of a text, without overlaps, not in order."""
    taken: list[tuple[int, int]] = []
    for moment in _all(text):
        if not any(start < moment.end and moment.start < end for start, end in taken):
            taken.append((moment.start, moment.end))
            yield moment


def _all(text: str) -> Iterator[Moment]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if date := _date(match.groupdict()):
                yield Moment(*match.span(), "date", frozenset({date}))
    for match in _DOTTED.finditer(text):
        day, month, year = int(match[1]), int(match[2]), _year(match[3])
        if 1 <= day <= 31 and 1 <= month <= 12:
            yield Moment(*match.span(), "date", frozenset({(year, month, day)}))
    for match in _SLASHED.finditer(text):
        one, two, year = int(match[1]), int(match[2]), _year(match[3])
        both = [(year, m, d) for m, d in ((one, two), (two, one)) if 1 <= m <= 12 and 1 <= d <= 31]
        if both:
            yield Moment(*match.span(), "date", frozenset(both))
    for match in _CLOCK.finditer(text):
        if readings := _minutes(match):
            yield Moment(*match.span(), "time", readings)
    for match in _ALONE.finditer(text):
        is_modal = match.group() == "May" and not re.search(r"\w[ ,;]*\Z", text[: match.start()])
        if not is_modal:
            date = (None, MONTHS[match.group().casefold()], None)
            yield Moment(*match.span(), "date", frozenset({date}))


def _date(parts: dict[str, str | None]) -> Date | None:
    month = parts.get("month") or ""
    number = int(month) if month.isdigit() else MONTHS.get(month.casefold(), 0)
    written = parts.get("day")
    day = int(written) if written else None
    if not 1 <= number <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    year = parts.get("year")
    return (int(year) if year else None, number, day)


def _year(written: str) -> int:
    year = int(written)
    return year if len(written) == 4 else year + (2000 if year < 70 else 1900)


def _minutes(match: re.Match[str]) -> frozenset[int]:
    hour = int(match["h"] or match["h2"])
    minute = int(match["m"] or match["m2"] or 0)
    half = (match["half"] or match["half2"] or "").casefold()
    if hour > 24:
        return frozenset()
    if half:
        return frozenset({(hour % 12 + (12 if half.startswith("p") else 0)) * 60 + minute})
    is_german = match.group().casefold().endswith(("uhr", "h"))
    unclear = hour <= 12 and not is_german and not (match["h"] or "").startswith("0")
    afternoon = {(hour % 12 + 12) * 60 + minute} if unclear else set()
    return frozenset({hour * 60 + minute} | afternoon)


def bears_out(claimed: Date, given: Date) -> bool:
    """True if the given date has every part that is claimed."""
    return all(want is None or want == have for want, have in zip(claimed, given, strict=True))
