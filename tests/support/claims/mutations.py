"""Ways to make a true sentence false, each of one kind. Deterministic."""

from __future__ import annotations

import random
import re

from tests.support.claims.restatements import COUNT, DATED, DIGITS, MONTH, WORDS, Mutation

_IDENTIFIER = re.compile(
    r"\b(?:[A-Z]{1,4}-?\d{1,4}(?:-\d+)*(?:/[A-Z])?|[A-Z]+(?:_[A-Z]+)+|"
    r"\w+\.(?:sh|log|toml|py|md)|\d+ CFR [\d.]+|[a-z]+-\d\d)\b"
)
_NAME = re.compile(
    r"(?<![.!?:] )(?<!^)(?<![\w“\"])([A-Z][a-zäöüé]{2,}(?: [A-Z][a-zäöüé]{2,})?)(?![\w-]| \d)"
)
_NOT_NAMES = set(MONTH) | {"The", "Monday", "JSON", "Region", "Area", "Line", "Error", "Mount"}
_OTHER_NAMES = (
    "Walter Quist",
    "Dagmar",
    "Bellamy",
    "Kingsley Otero",
    "Norwich",
    "Paulina Reyes",
    "Tromsø",
)
_UNITS = {
    "seconds": "minutes", "minutes": "hours", "hours": "days", "days": "weeks", "weeks": "months",
    "months": "years", "metres": "feet", "km": "miles", "kg": "g", "tonnes": "kilograms", "g": "kg",
    "TB": "GB", "GB": "MB", "percent": "percentage points", "euros": "dollars", "pounds": "euros",
    "km/h": "mph", "mA": "A", "V": "kV", "kW": "W", "bar": "Pa", "hectares": "km²",
    "Minuten": "Stunden",
    "years": "months", "Euro": "Dollar", "Monate": "Jahre", "°C": "°F", "ml": "l",
}  # fmt: skip
_UNIT = re.compile(
    r"(?<=[\d] )(" + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True)) + r")(?![\w/])"
)


def another_number(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    found = [
        m
        for m in (*DIGITS.finditer(sentence), *WORDS.finditer(sentence))
        if not _in_date(sentence, m)
    ]
    if not found:
        return None
    match = chance.choice(found)
    digits = match[1].replace(",", "")
    number = int(digits) if digits.isdigit() else COUNT.index(digits)
    other = chance.choice((number + 1, number * 2 + 1, number * 10, number + 7, max(2, number - 3)))
    if other == number or re.search(rf"\b{other}\b", paragraph):
        other = number + 13
    spelled = f"{other:,}" if "," in match[1] else str(other)
    return sentence[: match.start(1)] + spelled + sentence[match.end(1) :]


def neighbours_number(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """A number of another sentence of the paragraph in the place of the sentence's own."""
    own = {m[1] for m in (*DIGITS.finditer(sentence), *WORDS.finditer(sentence))}
    others = [m[1] for m in DIGITS.finditer(paragraph.replace(sentence, "")) if m[1] not in own]
    found = [m for m in DIGITS.finditer(sentence) if not _in_date(sentence, m)]
    others = [each for each in others if len(each) != 4 and not re.search(rf"\b{each}\b", sentence)]
    if not found or not others:
        return None
    match = chance.choice([m for m in found if len(m[1]) != 4] or [None])  # type: ignore[list-item]
    if match is None:
        return None
    return sentence[: match.start(1)] + chance.choice(others) + sentence[match.end(1) :]


def _in_date(sentence: str, match: re.Match[str]) -> bool:
    return any(d.start() <= match.start() < d.end() for d in DATED.finditer(sentence))


def another_date(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    match = DATED.search(sentence)
    if match:
        day, month = int(match[1]), MONTH.index(match[2])
        day, month = (day % 27 + 1, month) if chance.random() < 0.5 else (day, (month + 5) % 12)
        year = f" {match[3]}" if match[3] else ""
        return sentence[: match.start()] + f"{day} {MONTH[month]}{year}" + sentence[match.end() :]
    year_found = re.search(r"\b(?:in|since|until|by) ((?:1[5-9]|20)\d\d)\b", sentence)
    if year_found is None:
        return None
    other = str(int(year_found[1]) + chance.choice((-11, -1, 1, 9)))
    if other in paragraph:
        other = str(int(other) + 40)
    return sentence[: year_found.start(1)] + other + sentence[year_found.end(1) :]


def another_unit(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    match = _UNIT.search(sentence)
    if match is None:
        return None
    return sentence[: match.start()] + _UNITS[match[1]] + sentence[match.end() :]


def another_name(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    match = _a_name(sentence, chance)
    if match is None:
        return None
    fitting = [each for each in _OTHER_NAMES if each not in paragraph]
    return sentence[: match.start(1)] + chance.choice(fitting) + sentence[match.end(1) :]


def neighbours_name(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """A name of another sentence of the paragraph."""
    match = _a_name(sentence, chance)
    rest = paragraph.replace(sentence, "")
    others = [m[1] for m in _NAME.finditer(rest) if _is_name(m) and m[1] not in sentence]
    lower = set(re.findall(r"\b[a-z]+\b", paragraph))
    others = [each for each in others if not lower & set(each.lower().split())]
    others = [each for each in others if each.split()[0] not in _FIRST_WORDS]
    others = [each for each in others if match and len(each.split()) == len(match[1].split())]
    if match is None or not others:
        return None
    return sentence[: match.start(1)] + chance.choice(others) + sentence[match.end(1) :]


def part_of_name(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """Another first name."""
    found = [m for m in _NAME.finditer(sentence) if " " in m[1] and _is_name(m)]
    if not found:
        return None
    match = chance.choice(found)
    last = match[1].split()[1]
    return sentence[: match.start(1)] + f"Ottilie {last}" + sentence[match.end(1) :]


_GERMAN = re.compile(r"\b(?:wird|der|und|die|das|nicht|Das|Der|Die)\b")
_FIRST_WORDS = frozenset(
    """
    Some Between Functioning Therefore More This While Because These Those Other Most Many Its His
    Her Their If When Who At By For From With During After Before Since Although
    """.split()  # noqa: SIM905
)


def _a_name(sentence: str, chance: random.Random) -> re.Match[str] | None:
    if _GERMAN.search(sentence):  # every noun has a capital
        return None
    found = [m for m in _NAME.finditer(sentence) if _is_name(m)]
    return chance.choice(found) if found else None


def _is_name(match: re.Match[str]) -> bool:
    return not set(match[1].split()) & _NOT_NAMES


def another_identifier(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    found = list(_IDENTIFIER.finditer(sentence))
    if not found:
        return None
    match = chance.choice(found)
    old = match.group()
    if digit := re.search(r"\d(?=\D*\Z)", old):
        other = str((int(digit.group()) + chance.randint(1, 8)) % 10)
        new = old[: digit.start()] + other + old[digit.end() :]
    else:
        new = old.replace("_", "_OLD_", 1) if "_" in old and old.isupper() else f"old_{old}"
    return None if new in paragraph else sentence[: match.start()] + new + sentence[match.end() :]


def misquoted(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """Six words in quotation marks, one of them another."""
    words = sentence.rstrip(".").split()
    if len(words) < 9 or any(mark in sentence for mark in '"“”'):
        return None
    quoted = words[2:8]
    quoted[3] = "allegedly"
    return " ".join([*words[:2], f"“{' '.join(quoted)}”", *words[8:]]) + "."


def swapped(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """Two numbers of the sentence in each other's place."""
    found = [m for m in DIGITS.finditer(sentence) if not _in_date(sentence, m)]
    if len(found) < 2 or found[0][1] == found[1][1]:
        return None
    one, two = found[:2]
    return "".join((
        sentence[: one.start(1)], two[1], sentence[one.end(1) : two.start(1)], one[1],
        sentence[two.end(1) :],
    ))  # fmt: skip


FALSE: dict[str, Mutation] = {
    "number": another_number, "number of a neighbour": neighbours_number, "date": another_date,
    "unit": another_unit, "identifier": another_identifier, "name": another_name,
    "first name": part_of_name, "name of a neighbour": neighbours_name, "quotation": misquoted,
}  # fmt: skip
# Kinds that no rule was written or tuned for.
HELD_OUT: dict[str, Mutation] = {"numbers swapped": swapped}
