"""The numbers of a text that are written in words, in English and German. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from search.answers.checking.figures import Figure, one_of

# Words in the order of their numbers, from 0 and from 20.
_ENGLISH = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905
_GERMAN = """null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn
    fünfzehn sechzehn siebzehn achtzehn neunzehn""".split()  # noqa: SIM905
_NTH = """zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
    thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth""".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_ZEHNER = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()  # noqa: SIM905
_WORDS = {"once": 1, "einmal": 1, "twice": 2, "zweimal": 2, "thrice": 3, "dreimal": 3}
_WORDS |= {word: n for words in (_ENGLISH, _GERMAN) for n, word in enumerate(words)}
_WORDS |= {word: 10 * n for words in (_TENS, _ZEHNER) for n, word in enumerate(words, start=2)}
_WORDS |= {
    f"{one}und{ten}": _WORDS[ten] + n
    for ten in _ZEHNER
    for n, one in enumerate(["ein", *_GERMAN[2:10]], start=1)
}
_ORDINALS = {word: n for n, word in enumerate(_NTH)}
_ORDINALS |= {f"{word[:-1]}ieth": _WORDS[word] for word in _TENS}
SCALES = {
    "dozen": 12, "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9,
    "trillion": 10**12, "hundert": 100, "tausend": 1_000, "mio": 10**6, "millionen": 10**6,
    "mrd": 10**9, "milliarde": 10**9, "milliarden": 10**9,
}  # fmt: skip
# What may mean another thing than a number.
_UNSURE = "one eins null zero acht elf once einmal zeroth first second third".split()  # noqa: SIM905

_BELOW = rf"(?:(?:{one_of(_TENS)})[ -](?:{one_of(_ENGLISH[1:10])})|{one_of(_WORDS)})"
_SCALED = rf"(?:[ -](?:{one_of(SCALES)}))"
_CARDINAL = re.compile(
    rf"\b(?:(?:{_BELOW}|an?|eine?){_SCALED}+(?: (?:and )?{_BELOW}{_SCALED}*)*|{_BELOW})\b"
    rf"(?!-(?:{one_of(_ORDINALS)})\b)",
    re.IGNORECASE,
)
_ORDINAL = re.compile(rf"\b(?:(?:{one_of(_TENS)})-)?(?:{one_of(_ORDINALS)})\b", re.IGNORECASE)
_COUNTS = {"two": 2, "zwei": 2, "three": 3, "drei": 3}
_PARTS = {"half": 2, "hälfte": 2, "third": 3, "drittel": 3, "quarter": 4, "viertel": 4, "fifth": 5}
_FRACTION = re.compile(
    rf"\b(?:(?P<count>an?|one|ein|um ein|{one_of(_COUNTS)})[ -](?P<part>{one_of(_PARTS)})s?"
    r"|half|hälfte)\b",
    re.IGNORECASE,
)
_ENDS_FRACTION = re.compile(r"[.,;]|\Z| (?:of|as|to|in|from|der|des|von|auf)\b", re.IGNORECASE)


def cardinals(text: str) -> Iterator[Figure]:
    """Yield "two hundred and six"."""
    for match in _CARDINAL.finditer(text):
        written = match.group().casefold()
        yield _figure(match, _value(written), is_sure=written not in _UNSURE)


def _value(numeral: str) -> int:
    total = current = 0
    for word in re.split("[ -]", numeral):
        scale = SCALES.get(word)
        current = max(current, 1) * scale if scale else current + _WORDS.get(word, 0)
        if scale and scale >= 1000:
            total, current = total + current, 0
    return total + current


def ordinals(text: str) -> Iterator[Figure]:
    """Yield "the twenty-first"."""
    for match in _ORDINAL.finditer(text):
        tens, _, last = match.group().casefold().rpartition("-")
        is_sure = bool(tens) or last not in _UNSURE
        yield _figure(match, _WORDS.get(tens, 0) + _ORDINALS[last], is_sure=is_sure)


def fractions(text: str) -> Iterator[Figure]:
    """Yield "two thirds"."""
    for match in _FRACTION.finditer(text):
        value = Decimal(_COUNTS.get((match["count"] or "").casefold(), 1))
        is_sure = match["part"] is not None and _ENDS_FRACTION.match(text, match.end()) is not None
        yield _figure(match, value / _PARTS[(match["part"] or "half").casefold()], is_sure=is_sure)


def _figure(match: re.Match[str], value: Decimal | int, *, is_sure: bool) -> Figure:
    return Figure(*match.span(), match.group(), frozenset({Decimal(value)}), is_sure=is_sure)
