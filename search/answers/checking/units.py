"""Units of measurement by their spellings. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
