"""The dates and times of day of a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingestion.lexical.written_dates import MONTHS
from search.answers.checking.figures import Date, Figure, one_of

_MONTHS, _DAYS = range(1, 13), (None, *range(1, 32))
_DAY = r"(?<![\d.,])(?P<{}>[0-3]?\d)(?:st|nd|rd|th|\.)?"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # 12 March 2024, March 12, March 2024
        rf"(?:{_DAY.format('day')}[ \u00a0](?:of |de )?|\b)(?P<month>{one_of(MONTHS)})\b\.?"
        rf"(?(day)|(?:[ \u00a0](?:the )?{_DAY.format('later')}(?![\d.,]\d|\d|[ ]?%))?)"
        r"(?:,? (?:of |de )?(?P<year>[12]\d{3})\b)?",
        r"(?<![\d-])(?P<year>[12]\d{3})-(?P<month>[01]\d)-(?P<day>[0-3]\d)(?![\d-])",
        r"(?<![\d./])(?P<day>[0-3]?\d)(?P<mark>[./])(?P<month>[0-3]?\d)(?P=mark)"
        r"(?P<year>(?:[12]\d)?\d\d)(?![./]?\d)",
    )
]


def dates(text: str) -> Iterator[Figure]:
    """Yield "12 March 2024", "March 2024", "2024-03-12", "12.3.24"."""
    for match in (match for pattern in _DATES for match in pattern.finditer(text)):
        parts = match.groupdict()
        month, day = parts["month"].casefold(), parts["day"] or parts.get("later")
        if not day and not parts["year"]:
            continue
        date = (_year(parts["year"]), MONTHS.get(month) or int(month), int(day) if day else None)
        readings: set[Date] = {date}
        if parts.get("mark") == "/":  # 3/4/2024 has two readings
            readings.add((date[0], date[2], date[1]))
        readings = {each for each in readings if each[1] in _MONTHS and each[2] in _DAYS}
        if readings:
            yield Figure(*match.span(), match.group(), dates=frozenset(readings))


def _year(written: str | None) -> int | None:
    """The year; of two digits that of 1970 to 2069."""
    year = int(written) if written else None
    return year if year is None or year > 99 else year + (2000 if year < 70 else 1900)


_TIME = re.compile(
    r"(?<![\d:.,])(?P<hour>[0-2]?\d)(?:(?P<mark>[:.])(?P<minute>[0-5]\d))?(?::[0-5]\d)?(?![\d:])"
    r"[ \u00a0]?(?P<half>[ap]\.?m\b\.?|Uhr\b|o['’]clock\b|h\b)?",
    re.IGNORECASE,
)


def times(text: str) -> Iterator[Figure]:
    """Yield "3 pm", "15:00", "15 Uhr"."""
    for match in _TIME.finditer(text):
        hour, half = int(match["hour"]), (match["half"] or "").casefold()
        # 5 h is a duration, and 5.30 a number, unless more is said.
        if hour > 24 or (match["mark"] != ":" and half in ("", "h")):
            continue
        minute = int(match["minute"] or 0)
        morning, afternoon = hour % 12 * 60 + minute, (hour % 12 + 12) * 60 + minute
        minutes = {hour * 60 + minute}
        if half[:1] in ("a", "p"):
            minutes = {morning if half[0] == "a" else afternoon}
        elif hour <= 12 and half not in ("uhr", "h"):
            minutes.add(afternoon)
        written = match.group().rstrip()
        end = match.start() + len(written)
        yield Figure(match.start(), end, written, minutes=frozenset(minutes))
