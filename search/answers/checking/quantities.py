"""Units of measurement, dates and times of day by their spellings. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Unit:
    """`factor`: its size in the dimension's base unit. Units of one dimension can be compared."""

    name: str
    dimension: str
    factor: Decimal


# dimension: name, factor, spellings. Symbols (with a capital or of up to three letters) are read
# with their case: MB is not Mb; words in any case, with a plural.
_TABLE = """
time: ms 0.001 ms millisecond millisekunde msec
time: s 1 s sec second sekunde seconde
time: min 60 min minute
time: h 3600 h hr hrs hour stunde heure
time: d 86400 day tag jour tage tagen
time: week 604800 week woche semaine wk
months: month 1 month monat mois monate monaten
months: year 12 year jahr année yr yrs
length: nm 0.000000001 nm nanometer nanometre
length: µm 0.000001 µm μm micrometer micrometre
length: mm 0.001 mm millimeter millimetre
length: cm 0.01 cm centimeter centimetre zentimeter
length: m 1 m meter metre mètre
length: km 1000 km kilometer kilometre
length: in 0.0254 inch inches zoll
length: ft 0.3048 ft foot feet
length: yd 0.9144 yd yard
length: mi 1609.344 mile mi meile
area: m² 1 m² m2 sqm
area: ha 10000 ha hectare hektar
area: km² 1000000 km² km2
volume: ml 0.001 ml millilitre milliliter
volume: l 1 l litre liter
volume: m³ 1000 m³ m3
mass: mg 0.001 mg milligram milligramm
mass: g 1 g gram gramm
mass: kg 1000 kg kilogram kilogramm kilo
mass: t 1000000 t ton tonne
mass: lb 453.59237 lb lbs pound
mass: oz 28.349523 oz ounce
bytes: B 1 B byte
bytes: KB 1000 KB kB kilobyte
bytes: MB 1000000 MB megabyte
bytes: GB 1000000000 GB gigabyte
bytes: TB 1000000000000 TB terabyte
bytes: KiB 1024 KiB kibibyte
bytes: MiB 1048576 MiB mebibyte
bytes: GiB 1073741824 GiB gibibyte
bits: bit 1 bit
bits: kbit 1000 kbit kilobit Kb
bits: Mbit 1000000 Mbit megabit Mb
bits: Gbit 1000000000 Gbit gigabit Gb
rate: Mbit/s 1 Mbps Mbit/s
rate: Gbit/s 1000 Gbps Gbit/s
frequency: Hz 1 Hz hertz
frequency: kHz 1000 kHz kilohertz
frequency: MHz 1000000 MHz megahertz
frequency: GHz 1000000000 GHz gigahertz
power: W 1 W watt
power: kW 1000 kW kilowatt
power: MW 1000000 MW megawatt
energy: kWh 1 kWh
voltage: V 1 V volt
voltage: kV 1000 kV kilovolt
current: A 1 ampere
current: mA 0.001 mA milliampere
celsius: °C 1 °C ℃ celsius
fahrenheit: °F 1 °F fahrenheit
angle: ° 1 ° degree grad
pressure: Pa 1 Pa pascal
pressure: bar 100000 bar
speed: km/h 1 km/h kph
speed: mph 1.609344 mph
share: % 1 % percent prozent percentage pct ％
points: pp 1 pp
usd: $ 1 $ US$ USD dollar
eur: € 1 € EUR euro
gbp: £ 1 £ GBP
jpy: ¥ 1 ¥ JPY yen
chf: CHF 1 CHF franken
times: x 1 × times mal fold
"""
_PHRASES = MappingProxyType(
    {"percentage points": "pp", "percentage point": "pp", "prozentpunkte": "pp",
     "prozentpunkten": "pp", "prozentpunkt": "pp", "per cent": "%", "us dollars": "$",
     "us-dollar": "$", "pounds sterling": "£", "degrees celsius": "°C", "grad celsius": "°C",
     "degrees fahrenheit": "°F", "square metres": "m²", "square meters": "m²",
     "square kilometres": "km²", "square kilometers": "km²", "cubic metres": "m³",
     "cubic meters": "m³", "miles per hour": "mph", "kilometres per hour": "km/h",
     "kilometers per hour": "km/h"}
)  # fmt: skip
_ENDINGS = ("", "s", "es", "n", "en", "e")


def _read() -> tuple[Mapping[str, Unit], Mapping[str, Unit]]:
    symbols: dict[str, Unit] = {}
    words: dict[str, Unit] = {}
    for line in _TABLE.strip().splitlines():
        dimension, rest = line.split(": ")
        name, factor, *spellings = rest.split()
        unit = Unit(name, dimension, Decimal(factor))
        for spelling in spellings:
            if not spelling.islower() or len(spelling) <= 3:
                symbols.setdefault(spelling, unit)
            if spelling.islower() and len(spelling) >= 3:
                for ending in _ENDINGS:
                    words.setdefault(spelling + ending, unit)
    by_name = {unit.name: unit for unit in symbols.values()} | {
        unit.name: unit for unit in words.values()
    }
    by_name["pp"] = Unit("pp", "points", Decimal(1))
    words |= {phrase: by_name[name] for phrase, name in _PHRASES.items()}
    return symbols, words


SYMBOLS, WORDS = _read()
_CURRENCIES = re.compile(r"(?:US)?\$|€|£|¥|\b(?:USD|EUR|GBP|JPY|CHF)")
_SYMBOL = re.compile("|".join(sorted((re.escape(each) for each in SYMBOLS), key=len, reverse=True)))
_GAP = re.compile(r"[ \t\u00a0\u202f]{0,2}-?")
_PHRASE = re.compile(
    r"(?i:" + "|".join(sorted((re.escape(e) for e in _PHRASES), key=len, reverse=True)) + r")\b"
)
_WORD = re.compile(r"[^\W\d_]+")
_BRACKETED = re.compile(r"[(\[|]\s*([^\s()\[\]|]{1,6})\s*[)\]|]")  # "Size (MB)", "| MB |"
# An adjective may stand between a number and its unit: "five whole seconds", "ten more minutes".
_BETWEEN = re.compile(r"(?:(?:more|full|whole|volle|ganze|weitere|additional|further)[ ])?")


def unit_after(text: str, position: int) -> tuple[Unit | None, int]:
    """The unit written at `position`, after a number, and its end; None and `position` for none."""
    gap = _GAP.match(text, position)
    start = gap.end() if gap else position
    between = _BETWEEN.match(text, start)
    start = between.end() if between else start
    if phrase := _PHRASE.match(text, start):
        return WORDS[phrase.group().casefold()], phrase.end()
    if word := _WORD.match(text, start):
        known = WORDS.get(word.group().casefold())
        if known is not None:
            return known, word.end()
    symbol = _SYMBOL.match(text, start)
    if symbol and not text[symbol.end() : symbol.end() + 1].isalnum():
        return SYMBOLS[symbol.group()], symbol.end()
    return None, position


def currency_before(text: str, position: int) -> tuple[Unit | None, int]:
    """The currency written before `position`, and its start; None and `position` for none."""
    stripped = text[max(0, position - 5) : position].rstrip(" \u00a0")
    for match in _CURRENCIES.finditer(stripped):
        if match.end() == len(stripped):
            start = max(0, position - 5) + match.start()
            return SYMBOLS[match.group()], start
    return None, position


def mentioned(text: str) -> frozenset[str]:
    """The names of the units that a text mentions, also without a number: heads of tables."""
    named = {unit.name for word in _WORD.findall(text) if (unit := WORDS.get(word.casefold()))}
    named |= {SYMBOLS[each].name for each in _BRACKETED.findall(text) if each in SYMBOLS}
    return frozenset(named | ({"%"} if "%" in text else set()))


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
