"""Identifiers in a text, and in a query, where more spellings count."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from ingestion.identifiers.normalisers import NORMALISERS, Normaliser
from ingestion.identifiers.patterns import DEFAULT_PATTERNS, Pattern, compiled

# What is longer is no code that anybody types; also the width of the column of its forms.
MAX_IDENTIFIER_CHARS = 200
FULL = 1.0  # the strength of a whole identifier
# A text is searched in stretches, so that a pattern whose time grows with the square of the
# text's length stays linear in it.
_STRETCH = 2_048


@dataclass(frozen=True, slots=True)
class Found:
    """An identifier at [start, end) of the text that was searched.

    `kind` is the pattern's name. `loose` says that only a query's leniency took it for one:
    lower case with a space (`ros 2`), or a bare part (`0042`).
    """

    kind: str
    text: str
    canonical: str
    start: int
    end: int
    normaliser: str
    loose: bool = False

    @property
    def distinctive(self) -> bool:
        """Whether prose has no use for such a form; see Normaliser."""
        return NORMALISERS[self.normaliser].distinctive


def find_identifiers(text: str, patterns: Sequence[Pattern] = DEFAULT_PATTERNS) -> list[Found]:
    """The identifiers in `text` in order, none within another: the earlier pattern wins.

    Takes time linear in the length of the text.
    """
    taken = _Taken()
    found: list[Found] = []
    for pattern in patterns:
        normaliser = NORMALISERS[pattern.normaliser]
        accepted: list[Found] = []
        for match in _matches(compiled(pattern.regex), text):
            if taken.overlaps(match.start(), match.end()):
                continue
            if one := _found(pattern.name, match.group(), match.start(), normaliser):
                accepted.append(one)
        taken.add(accepted)
        found += accepted
    return sorted(found, key=lambda one: one.start)


def query_identifiers(query: str, patterns: Sequence[Pattern] = DEFAULT_PATTERNS) -> list[Found]:
    """The identifiers a query names, in order: those of a text, and loosely meant ones.

    Loose are `d 40`, `pii 2024 0042`, and bare parts: `0042`, `1024-0042`, a query that is
    nothing but `1312`. A bare part is worth a look into the index, which knows whether some
    identifier ends so, and is never proof that one was meant.
    """
    found = find_identifiers(query, patterns)
    taken = _Taken()
    taken.add(found)
    # ASCII letters only: upper() would change offsets (ß).
    for one in find_identifiers(query.translate(_ASCII_UPPER), patterns):
        if not taken.overlaps(one.start, one.end):
            found.append(_loosened(one, query))
            taken.add([found[-1]])
    for part in _bare_parts(query):
        if not taken.overlaps(part.start, part.end):
            found.append(part)
            taken.add([part])
    return sorted(found, key=lambda one: one.start)


def is_single_identifier(query: str, patterns: Sequence[Pattern] = DEFAULT_PATTERNS) -> bool:
    """Whether the whole query is one identifier, so that its meaning needs no embedding.

    Quotes, brackets and a final mark do not count. Bare parts and common names (VectorStore)
    are not enough: the corpus may not hold them, and then the vector signal is all there is.
    """
    bare = query.strip(string.whitespace + "\"'`“”‘’«»?!,;:")
    bare = bare.removesuffix(".")
    found = query_identifiers(bare, patterns)
    if len(found) != 1 or not bare:
        return False
    one = found[0]
    whole = (one.start, one.end) == (0, len(bare))
    return whole and one.distinctive and (not one.loose or _SPACED_CODE.fullmatch(bare) is not None)


class _Taken:
    """Stretches of a text that an identifier has, each remembered by the cells it touches."""

    _CELL = 64

    def __init__(self) -> None:
        self._cells: dict[int, list[tuple[int, int]]] = {}

    def overlaps(self, start: int, end: int) -> bool:
        return any(
            start < other_end and other_start < end
            for cell in range(start // self._CELL, (end - 1) // self._CELL + 1)
            for other_start, other_end in self._cells.get(cell, ())
        )

    def add(self, found: Iterable[Found]) -> None:
        for one in found:
            for cell in range(one.start // self._CELL, (one.end - 1) // self._CELL + 1):
                self._cells.setdefault(cell, []).append((one.start, one.end))


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Matches in order, of which none is longer than MAX_IDENTIFIER_CHARS."""
    resume = 0
    for begin in range(0, len(text), _STRETCH):
        stop = begin + _STRETCH + MAX_IDENTIFIER_CHARS
        for match in pattern.finditer(text, max(begin, resume), min(stop, len(text))):
            if match.start() >= begin + _STRETCH:
                break
            resume = match.end()
            if 0 < match.end() - match.start() <= MAX_IDENTIFIER_CHARS:
                yield match


def _found(
    kind: str, text: str, start: int, normaliser: Normaliser, *, loose: bool = False
) -> Found | None:
    canonical = normaliser.canonical(text)
    # Folding can lengthen: ß is two letters then.
    if not canonical or len(canonical) > MAX_IDENTIFIER_CHARS:
        return None
    return Found(kind, text, canonical, start, start + len(text), normaliser.name, loose)


_ASCII_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)


def _loosened(one: Found, query: str) -> Found:
    text = query[one.start : one.end]
    return Found(one.kind, text, one.canonical, one.start, one.end, one.normaliser, loose=True)


# Spaces where a text has hyphens, but too much of a code to be anything else.
_SPACED_CODE = re.compile(r"[A-Za-z] [0-9]{2,6}|[A-Za-z]{2,6} [0-9]{4}[ -][0-9]{3,6}")
BARE_PART = "Part of an identifier"
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_DIGIT_GROUPS = re.compile(r"(?<![\w.,-])[0-9]{2,8}(?:-[0-9]{2,8}){1,3}(?![\w-]|[.,][0-9])")
_ZERO_LED = re.compile(r"(?<![\w.,:-])0[0-9]{3,11}(?![\w:-]|[.,][0-9])")
_WHOLE_NUMBER = re.compile(r"\s*([0-9]{3,12}(?:[-/ ]?[A-Za-z]{1,2})?)\s*")


def _bare_parts(query: str) -> Iterator[Found]:
    number = NORMALISERS["number"]
    for match in _DIGIT_GROUPS.finditer(query):
        if part := _found(BARE_PART, match.group(), match.start(), number, loose=True):
            yield part
    for match in _ZERO_LED.finditer(query):
        start, end = match.span()
        yield Found(BARE_PART, match.group(), match.group(), start, end, "lower", loose=True)
    whole = _WHOLE_NUMBER.fullmatch(query)
    if whole and not _YEAR.fullmatch(whole[1]):
        canonical = re.sub(r"[-/ ]", "", whole[1].casefold())
        start, end = whole.span(1)
        yield Found(BARE_PART, whole[1], canonical, start, end, "lower", loose=True)


class Form(NamedTuple):
    """A string to look up, 1.0 strong for the identifier itself, less for a part of it."""

    form: str
    strength: float


class Place(IntEnum):
    """Where a chunk holds an identifier; the lower comes first within the tier."""

    TITLE = 0
    HEADING = 1
    BODY = 2


def index_forms(found: Found) -> tuple[Form, ...]:
    """The forms to store for an identifier, the strongest first; also those to look up."""
    forms = {found.canonical: FULL}
    for form, strength in NORMALISERS[found.normaliser].lesser(found.text):
        if form and len(form) <= MAX_IDENTIFIER_CHARS:
            forms.setdefault(form, strength)
    ranked = sorted(forms.items(), key=lambda item: -item[1])
    return tuple(Form(form, strength) for form, strength in ranked)


def match_strength(query: Found, stored: Iterable[Form]) -> float:
    """How well stored forms answer a query's identifier: 1 for itself, 0 for not at all.

    One of the two sides must be whole: `INC-2024-0042` is found by `2024-0042`, and a text
    with `§75.1725` by `30 CFR 75.1725`, but PII-2024-0042 and INC-2024-0042, which share a
    tail, are strangers. Whoever looks forms up in SQL keeps to this.
    """
    asked = dict(index_forms(query))
    return max(
        (
            asked[form] * strength
            for form, strength in stored
            if form in asked and FULL in (asked[form], strength)
        ),
        default=0.0,
    )


def placed_forms(
    title: str,
    heading_path: Sequence[str],
    text: str,
    patterns: Sequence[Pattern] = DEFAULT_PATTERNS,
) -> dict[str, tuple[Place, float]]:
    """Every form a chunk answers to, with its strength and the best place it stands at.

    The strength goes first: the identifier itself in the body over a part of one in the title.
    """
    placed: dict[str, tuple[Place, float]] = {}
    places = ((Place.TITLE, title), (Place.HEADING, "\n".join(heading_path)), (Place.BODY, text))
    for place, part in places:
        for found in find_identifiers(part, patterns):
            for form, strength in index_forms(found):
                if form not in placed or strength > placed[form][1]:
                    placed[form] = (place, strength)
    return placed
