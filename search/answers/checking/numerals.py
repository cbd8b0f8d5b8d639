"""Numbers written as words, in English and German, and numbers written with separators. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINAL_SMALL = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_GERMAN_SMALL = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn"
)
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
SCALES = MappingProxyType(
    {
        "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
        "millions": 10**6, "billions": 10**9, "mio": 10**6, "mrd": 10**9, "millionen": 10**6,
        "milliarde": 10**9, "milliarden": 10**9, "mn": 10**6, "bn": 10**9, "dozen": 12,
        "hundert": 100, "tausend": 1_000, "dutzend": 12,
    }
)  # fmt: skip
_GERMAN_ORDINALS = MappingProxyType(
    {"erst": 1, "zweit": 2, "dritt": 3, "viert": 4, "fünft": 5, "sechst": 6, "siebt": 7, "acht": 8,
     "neunt": 9, "zehnt": 10}
)  # fmt: skip
_FRACTIONS = MappingProxyType(
    {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifths": 5,
     "hälfte": 2, "halb": 2, "drittel": 3, "viertel": 4}
)  # fmt: skip
_AFTER_FRACTION = frozenset({"of", "as", "the", "a", "an", "der", "des", "von", "aller"})
_ONE_OF = frozenset({"a", "one", "ein", "um"})
_GOING_ON = frozenset({"to", "in", "from", "by", "and", "or", "on", "at", "auf", "und", "im"})
_TIMES = MappingProxyType({"twice": 2, "thrice": 3, "zweimal": 2, "dreimal": 3})


def _words() -> Mapping[str, int]:
    words = {word: number for number, word in enumerate(_SMALL.split())}
    words |= {word: 10 * tens for tens, word in enumerate(_TENS.split(), start=2)}
    return words


def _ordinals() -> Mapping[str, int]:
    words = {word: number for number, word in enumerate(_ORDINAL_SMALL.split())}
    words |= {w[:-1] + "ieth": 10 * tens for tens, w in enumerate(_TENS.split(), start=2)}
    return words


def _german() -> Mapping[str, int]:
    small = _GERMAN_SMALL.split()
    words = {word: number for number, word in enumerate(small)}
    for tens, ten in enumerate(_GERMAN_TENS.split(), start=2):
        words[ten] = 10 * tens
        for one in range(1, 10):
            head = "ein" if one == 1 else small[one]
            words[f"{head}und{ten}"] = 10 * tens + one
    below = dict(words)
    for hundreds in range(1, 10):
        head = "" if hundreds == 1 else small[hundreds]
        words[f"{head}hundert"] = words[f"{'ein' if hundreds == 1 else head}hundert"] = (
            100 * hundreds
        )
        words |= {f"{head}hundert{w}": 100 * hundreds + n for w, n in below.items() if n}
    words |= {f"{w}tausend": 1000 * n for w, n in below.items() if n > 1}
    words |= {"eintausend": 1000}
    return {w.replace("ß", "ss") if "ß" in w else w: n for w, n in words.items()} | words


WORDS = _words()
ORDINALS = _ordinals()
GERMAN = _german()
_WORD = re.compile(r"[^\W\d_]+")
_LINK = re.compile(r"[ \u00a0-]{1,2}(?:and[ \u00a0])?")
_UNSURE = frozenset({"one", "eins", "null", "zero", "acht", "elf", "hundred", "thousand", "half"})


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number in words at [start, end). `is_sure` is False where the word may mean another thing,
    as in "one of them": such a number can bear out a claim, but is none.
    """

    start: int
    end: int
    value: Decimal
    kind: str = "number"
    is_sure: bool = True


def numerals(text: str) -> Iterator[Numeral]:
    """The numbers in words of a text, in order."""
    matches = list(_WORD.finditer(text))
    place = 0
    while place < len(matches):
        word = matches[place].group().casefold()
        if word in WORDS or word in ("hundred", "thousand", "dozen") or _a_scale(matches, place):
            place, numeral = _english(text, matches, place)
            yield numeral
            continue
        if other := _single(text, matches, place, word):
            yield other
        place += 1


def _a_scale(matches: list[re.Match[str]], place: int) -> bool:
    """True at the "a" of "a hundred" and "a million"."""
    following = matches[place + 1].group().casefold() if place + 1 < len(matches) else ""
    return matches[place].group().casefold() in ("a", "ein", "eine") and following in SCALES


def _english(text: str, matches: list[re.Match[str]], place: int) -> tuple[int, Numeral]:
    """The number that begins at this word, and the place of the word after it."""
    first, start, total, current, parts = place, matches[place].start(), 0, 0, 0
    kind, previous = "number", 10**15
    while place < len(matches):
        word = matches[place].group().casefold()
        if place > first:
            between = text[matches[place - 1].end() : matches[place].start()]
            if not _LINK.fullmatch(between) and word != "and":
                break
            if word == "and":
                joins = previous >= 100 and place + 1 < len(matches)
                if joins and _tens_or_small(matches[place + 1].group()):
                    place += 1
                    continue
                break
        if word in SCALES:
            scale = SCALES[word]
            current = max(current, 1) * scale
            if scale >= 1000:
                total, current = total + current, 0
            previous = scale
        elif word in ("a", "ein", "eine") and place == first:
            current = 1
        elif word in WORDS and WORDS[word] < previous and _fits(previous, WORDS[word]):
            current += WORDS[word]
            previous = WORDS[word]
        elif place > first and word in ORDINALS and _fits(previous, ORDINALS[word]):
            if text[matches[place - 1].end()] != "-":
                break
            current += ORDINALS[word]
            kind, place, parts = "ordinal", place + 1, parts + 1
            break
        else:
            break
        place, parts = place + 1, parts + 1
    last = matches[place - 1]
    if kind == "number" and (fraction := _fraction(matches, place, total + current)):
        return place + 1, Numeral(start, matches[place].end(), fraction)
    sure = parts > 1 or matches[first].group().casefold() not in _UNSURE
    return place, Numeral(start, last.end(), Decimal(total + current), kind, sure)


def _fits(previous: int, value: int) -> bool:
    """True if a word of this value may follow one of that: "twenty five", "two hundred ten"."""
    return previous >= 100 or (20 <= previous < 100 and 0 < value < 10)


def _tens_or_small(word: str) -> bool:
    return word.casefold() in WORDS


def _fraction(matches: list[re.Match[str]], place: int, count: int) -> Decimal | None:
    """ "two thirds" and "one quarter", after their count."""
    if place >= len(matches):
        return None
    below = _FRACTIONS.get(matches[place].group().casefold())
    if below is None or not 0 < count < below:
        return None
    return Decimal(count) / below


def _single(text: str, matches: list[re.Match[str]], place: int, word: str) -> Numeral | None:
    match = matches[place]
    start, end = match.span()
    following = matches[place + 1].group().casefold() if place + 1 < len(matches) else ""
    if word in GERMAN:
        return Numeral(start, end, Decimal(GERMAN[word]), is_sure=word not in _UNSURE)
    if word in _TIMES:
        return Numeral(start, end, Decimal(_TIMES[word]), "times")
    if word in _FRACTIONS and following in _AFTER_FRACTION and word != "third":
        return Numeral(start, end, Decimal(1) / _FRACTIONS[word], is_sure=word not in _UNSURE)
    before = matches[place - 1].group().casefold() if place else ""
    if (
        word in ("third", "quarter", "drittel", "viertel")
        and before in _ONE_OF
        and (not following or following in _AFTER_FRACTION or following in _GOING_ON)
    ):
        return Numeral(start, end, Decimal(1) / _FRACTIONS[word])
    if word in ORDINALS:
        return Numeral(start, end, Decimal(ORDINALS[word]), "ordinal", _is_ordinal(matches, place))
    stem = re.sub(r"(?:e|en|er|es|em)\Z", "", word)
    if stem != word and stem in _GERMAN_ORDINALS and text[start].islower():
        return Numeral(start, end, Decimal(_GERMAN_ORDINALS[stem]), "ordinal", stem != "acht")
    return None


def _is_ordinal(matches: list[re.Match[str]], place: int) -> bool:
    """False for "first, open it" and for "a second"."""
    word = matches[place].group().casefold()
    before = matches[place - 1].group().casefold() if place else ""
    if word in ("first", "second"):
        return before in ("the", "its", "their", "his", "her", "our", "this")
    return bool(before)


_SPACES = re.compile(r"[ \u00a0\u202f'’]")


def readings(written: str) -> frozenset[Decimal]:
    """The values that a number in digits may have: 1.500 is 1500 in German and 1.5 in English."""
    plain = _SPACES.sub("", written).replace("−", "-").lstrip("+")
    commas, points = plain.count(","), plain.count(".")
    if commas and points:
        decimal = max(plain.rfind(","), plain.rfind("."))
        head, tail = plain[:decimal], plain[decimal + 1 :]
        return frozenset({Decimal(f"{re.sub('[.,]', '', head)}.{tail}")})
    if not commas and not points:
        return frozenset({Decimal(plain)})
    head, *groups = re.split("[.,]", plain)
    values = set()
    if all(len(group) == 3 for group in groups) and head.lstrip("-") not in ("", "0"):
        values.add(Decimal(head + "".join(groups)))
    if len(groups) == 1:
        values.add(Decimal(f"{head or 0}.{groups[0]}"))
    return frozenset(values or {Decimal(head + "".join(groups))})
