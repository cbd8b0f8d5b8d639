"""Figures: numbers with their units, dates and times of day; which of them say the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

Date = tuple[int | None, int | None, int | None]  # year, month, day


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement. `factor` is its size in the base unit of its `dimension`; units of the
    same dimension can be compared.
    """

    name: str
    dimension: str
    factor: Decimal


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure at [start, end) of a text, as `text` writes it.

    A number has its possible `values`, and a unit or none; a date its possible `dates`; a time its
    possible `minutes` of the day. `decimals`: the digits after its point, which tell 2.1 from 2.10.
    `is_alone`: no word follows it, as in a table. `is_sure` is False where it can bear out a claim
    but is none: "one of them", "first".
    """

    start: int
    end: int
    text: str
    values: frozenset[Decimal] = frozenset()
    unit: Unit | None = None
    decimals: str = ""
    dates: frozenset[Date] = frozenset()
    minutes: frozenset[int] = frozenset()
    is_alone: bool = False
    is_sure: bool = True

    @property
    def kind(self) -> str:
        """Figures of one kind can stand in each other's place: dates, times, a dimension."""
        if self.unit is not None:
            return "money" if self.unit.dimension in _MONEY else self.unit.dimension
        return "date" if self.dates else "time" if self.minutes else ""


# The units of each dimension: name, factor, further spellings. A name or spelling with a capital or
# of up to three letters is read with its case: MB is not Mb; others in any case, with a plural.
_UNITS = """
time: ms .001 millisecond millisekunde msec; s 1 sec second sekunde seconde; min 60 minute;
    h 3600 hr hrs hour stunde heure; day 86400 d tag jour; week 604800 woche semaine
months: month 1 monat mois; year 12 jahr année yr yrs
length: nm .000000001 nanometer; µm .000001 μm micrometer; mm .001 millimeter millimetre;
    cm .01 centimeter centimetre zentimeter; m 1 meter metre; km 1000 kilometer kilometre;
    inch .0254 inches zoll; foot .3048 ft feet; mile 1609.344 meile
area: m² 1 m2; ha 10000 hectare hektar; km² 1000000 km2
volume: ml .001 millilitre milliliter; l 1 litre liter
mass: mg .001 milligram milligramm; g 1 gram gramm; kg 1000 kilogram kilogramm kilo;
    t 1000000 ton tonne
pounds: lb 1 lbs; pound 1
cents: cent .01
bytes: B 1 byte; KB 1000 kB kilobyte; MB 1000000 megabyte; GB 1000000000 gigabyte;
    TB 1000000000000 terabyte; KiB 1024 kibibyte; MiB 1048576 mebibyte; GiB 1073741824 gibibyte
bits: bit 1; Mbit 1000000 megabit Mb; Gbit 1000000000 gigabit Gb
frequency: Hz 1 hertz; MHz 1000000 megahertz; GHz 1000000000 gigahertz
power: W 1 watt; kW 1000 kilowatt; MW 1000000 megawatt
energy: kWh 1
voltage: V 1 volt; kV 1000 kilovolt
current: A 1 ampere; mA .001 milliampere
celsius: °C 1 ℃ celsius
fahrenheit: °F 1 fahrenheit
pressure: Pa 1 pascal; bar 100000
speed: km/h 1 kph; mph 1.609344
share: % 1 percent prozent percentage pct
points: pp 1
usd: $ 1 US$ USD dollar
eur: € 1 EUR euro
gbp: £ 1 GBP; penny .01 pence
jpy: ¥ 1 JPY yen
"""
_PHRASES = {
    "percentage points": "pp", "percentage point": "pp", "prozentpunkte": "pp",
    "prozentpunkten": "pp", "prozentpunkt": "pp", "per cent": "%", "us dollars": "$",
    "degrees celsius": "°C", "grad celsius": "°C", "degrees fahrenheit": "°F",
    "square metres": "m²", "square meters": "m²", "square kilometres": "km²",
    "square kilometers": "km²", "miles per hour": "mph", "kilometres per hour": "km/h",
    "kilometers per hour": "km/h",
}  # fmt: skip
# Words that may mean other units, too: money or a weight, of one currency or another.
_READINGS = {"pound": {"£", "lb"}, "£": {"pound"}, "cent": {"$", "€"}, "$": {"cent"}, "€": {"cent"}}
_MONEY = frozenset({"usd", "eur", "gbp", "jpy", "pounds", "cents"})
_ENDINGS = ("", "s", "es", "n", "en", "e")


def _units() -> tuple[dict[str, Unit], dict[str, Unit]]:
    symbols: dict[str, Unit] = {}
    words: dict[str, Unit] = {}
    by_name: dict[str, Unit] = {}
    for line in _UNITS.strip().replace(";\n", ";").splitlines():
        dimension, units = line.split(": ")
        for each in units.split(";"):
            name, factor, *others = each.split()
            by_name[name] = unit = Unit(name, dimension, Decimal(factor))
            for spelling in (name, *others):
                if not spelling.islower() or len(spelling) <= 3:
                    symbols[spelling] = unit
                if spelling.islower() and len(spelling) >= 3:
                    words |= {spelling + ending: unit for ending in _ENDINGS}
    words |= {phrase: by_name[name] for phrase, name in _PHRASES.items()}
    return symbols, words


SYMBOLS, UNIT_WORDS = _units()


def one_of(words: Iterable[str]) -> str:
    """A regular expression that matches one of the words, the longest one first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_WORD = re.compile(r"[^\W\d_]+")
_BRACKETED = re.compile(r"[(\[|]\s*([^\s()\[\]|]{1,6})\s*[)\]|]")  # "Size (MB)", "| MB |"


def units_in(text: str) -> frozenset[str]:
    """The names of the units that a text names, also without a number, as headers of tables do."""
    words = {u.name for each in _WORD.findall(text) if (u := UNIT_WORDS.get(each.casefold()))}
    signs = {SYMBOLS[each].name for each in _BRACKETED.findall(text) if each in SYMBOLS}
    return frozenset(words | signs | ({"%"} if "%" in text else set()))


def same(claimed: Figure, cited: Figure, units: frozenset[str] = frozenset()) -> bool:
    """True if the cited figure supports the claimed one.

    `units` are the units in the text of the cited figure, for numbers in a table.
    """
    if claimed.dates:
        return any(
            all(want is None or want == have for want, have in zip(one, two, strict=True))
            for one in claimed.dates
            for two in cited.dates
        )
    if claimed.minutes:
        return bool(claimed.minutes & cited.minutes)
    if cited.dates:
        years = {Decimal(each[0]) for each in cited.dates if each[0]}
        return claimed.unit is None and bool(claimed.values & years)
    return _same_number(claimed, cited, units)


def _same_number(claimed: Figure, cited: Figure, units: frozenset[str]) -> bool:
    want, have = claimed.unit, cited.unit
    if want and have:
        sizes = {value * have.factor for value in cited.values}
        is_same = any(value * want.factor in sizes for value in claimed.values)
        readings = _READINGS.get(want.name, set())
        return is_same and (want.dimension == have.dimension or have.name in readings)
    if want and not (units & {want.name, *_READINGS.get(want.name, ())} and cited.is_alone):
        return _is_share(claimed, cited)
    if have and have.name in ("%", "pp"):
        return _is_share(cited, claimed)
    if want is have and claimed.decimals and cited.decimals:
        return claimed.decimals == cited.decimals and bool(claimed.values & cited.values)
    return bool(claimed.values & cited.values)


def _is_share(percent: Figure, fraction: Figure) -> bool:
    """True if `percent` equals `fraction`: 50% and "half"."""
    return (
        percent.unit is not None
        and percent.unit.name == "%"
        and any(
            abs(value - 100 * share) < 1
            for value in percent.values
            for share in fraction.values
            if 0 < share < 1
        )
    )
