"""The identifiers in texts and queries, the forms to store, and the matching of forms."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from ingestion.domain import SectionPlace
from ingestion.identifiers.canonical_forms import NORMALISERS, Normaliser
from ingestion.identifiers.expressions import Bounded, BoundedMatch, UnsafeExpression
from ingestion.identifiers.patterns import DEFAULT_PATTERNS, Pattern, compiled

# Nobody types longer codes; also the width of the column that stores forms.
MAX_IDENTIFIER_CHARS = 200
FULL = 1.0  # the strength of a whole identifier
# Texts are searched in stretches of this many characters, so that a pattern of quadratic time
# still takes time linear in the length of the text.
_STRETCH = 2_048
# CO₂ is CO2, and full-width letters are letters; the length of the text stays.
_PLAIN = {
    code: unicodedata.normalize("NFKC", chr(code))
    for first, last in ((0x2080, 0x2089), (0xFF0D, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A))
    for code in range(first, last + 1)
}


@dataclass(frozen=True, slots=True)
class Mention:
    """An identifier at [start, end) of the text that was searched.

    `kind` is the pattern's name. `loose`: recognised only by the more lenient rules for
    queries, as lower case with a space (`ros 2`) or as a bare part (`0042`).
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
        """True if such a form does not occur in prose; see Normaliser."""
        return NORMALISERS[self.normaliser].distinctive


def find_identifiers(text: str, patterns: Sequence[Pattern] = DEFAULT_PATTERNS) -> list[Mention]:
    """The identifiers in `text`, in order and without overlaps: the earlier pattern wins.

    Takes time linear in the length of the text.
    """
    plain = text.translate(_PLAIN)
    spans = _Spans()
    identifiers: list[Mention] = []
    for pattern in patterns:
        normaliser = NORMALISERS[pattern.normaliser]
        accepted: list[Mention] = []
        for match in _matches(_usable(pattern), plain):
            if spans.overlaps(match.start(), match.end()):
                continue
            if one := _mention(pattern.name, match.group(), match.start(), normaliser):
                accepted.append(replace(one, text=text[one.start : one.end]))
        spans.add(accepted)
        identifiers += accepted
    return sorted(identifiers, key=lambda one: one.start)


def query_identifiers(query: str, patterns: Sequence[Pattern] = DEFAULT_PATTERNS) -> list[Mention]:
    """The identifiers in a query, in order: as in a text, and loose ones.

    Loose are `d 40`, `pii 2024 0042`, and bare parts: `0042`, `1024-0042`, or a query of
    `1312` alone. A bare part is worth looking up in the index, where an identifier may end
    with it, but does not prove that an identifier was meant.
    """
    identifiers = find_identifiers(query, patterns)
    spans = _Spans()
    spans.add(identifiers)
    # ASCII letters only: upper() would change offsets (ß).
    for one in find_identifiers(query.translate(_ASCII_UPPER), patterns):
        if not spans.overlaps(one.start, one.end):
            identifiers.append(_loosened(one, query))
            spans.add([identifiers[-1]])
    if len(identifiers) > 1 and _PARTED.fullmatch(query):
        # AB12 CD34 may be one code, AB12-CD34.
        joined = find_identifiers(query.replace(" ", "-").translate(_ASCII_UPPER), patterns)
        identifiers += [_loosened(one, query) for one in joined if len(one.text) == len(query)]
    for part in _bare_parts(query):
        if not spans.overlaps(part.start, part.end):
            identifiers.append(part)
            spans.add([part])
    return sorted(identifiers, key=lambda one: one.start)


def is_single_identifier(query: str, patterns: Sequence[Pattern] = DEFAULT_PATTERNS) -> bool:
    """True if the whole query is one identifier, so that it needs no embedding.

    Quotes and final punctuation are ignored. False for bare parts and common names
    (VectorStore): the corpus may lack them, and then only the vector signal finds anything.
    """
    bare = query.strip(string.whitespace + "\"'`“”‘’«»?!,;:")
    bare = bare.removesuffix(".")
    identifiers = query_identifiers(bare, patterns)
    if len(identifiers) != 1 or not bare:
        return False
    one = identifiers[0]
    whole = (one.start, one.end) == (0, len(bare))
    return whole and one.distinctive and (not one.loose or _SPACED_CODE.fullmatch(bare) is not None)


class _Spans:
    """The spans of a text already matched, indexed by the 64-character cells they touch."""

    _CELL = 64

    def __init__(self) -> None:
        self._cells: dict[int, list[tuple[int, int]]] = {}

    def overlaps(self, start: int, end: int) -> bool:
        return any(
            start < other_end and other_start < end
            for cell in range(start // self._CELL, (end - 1) // self._CELL + 1)
            for other_start, other_end in self._cells.get(cell, ())
        )

    def add(self, identifiers: Iterable[Mention]) -> None:
        for one in identifiers:
            for cell in range(one.start // self._CELL, (one.end - 1) // self._CELL + 1):
                self._cells.setdefault(cell, []).append((one.start, one.end))


def _usable(pattern: Pattern) -> re.Pattern[str] | Bounded | None:
    """The compiled pattern; None if RE2 does not support it (`check` names these)."""
    try:
        return compiled(pattern.regex)
    except UnsafeExpression:
        return None


def _matches(
    pattern: re.Pattern[str] | Bounded | None, text: str
) -> Iterator[re.Match[str] | BoundedMatch]:
    """Yield matches of at most MAX_IDENTIFIER_CHARS, in order."""
    if pattern is None:
        return
    resume = 0
    for begin in range(0, len(text), _STRETCH):
        stop = begin + _STRETCH + MAX_IDENTIFIER_CHARS
        for match in pattern.finditer(text, max(begin, resume), min(stop, len(text))):
            if match.start() >= begin + _STRETCH:
                break
            resume = match.end()
            if 0 < match.end() - match.start() <= MAX_IDENTIFIER_CHARS:
                yield match


def _mention(
    kind: str, text: str, start: int, normaliser: Normaliser, *, loose: bool = False
) -> Mention | None:
    canonical = normaliser.canonical(text)
    # Case folding can lengthen a text: ß becomes ss.
    if not canonical or len(canonical) > MAX_IDENTIFIER_CHARS:
        return None
    return Mention(kind, text, canonical, start, start + len(text), normaliser.name, loose)


_ASCII_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)


def _loosened(one: Mention, query: str) -> Mention:
    text = query[one.start : one.end]
    return Mention(one.kind, text, one.canonical, one.start, one.end, one.normaliser, loose=True)


# Spaces in place of hyphens, but still unmistakably a code.
_SPACED_CODE = re.compile(r"[A-Za-z] [0-9]{2,6}|[A-Za-z]{2,6} [0-9]{4}[ -][0-9]{3,6}")
_PARTED = re.compile(r"[A-Za-z][A-Za-z0-9]{0,5}(?: (?=[A-Za-z]*[0-9])[A-Za-z0-9]{1,6}){1,3}")
BARE_PART = "Part of an identifier"
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_DIGIT_GROUPS = re.compile(r"(?<![\w.,-])[0-9]{2,8}(?:-[0-9]{2,8}){1,3}(?![\w-]|[.,][0-9])")
_ZERO_LED = re.compile(r"(?<![\w.,:-])0[0-9]{3,11}(?![\w:-]|[.,][0-9])")
_WHOLE_NUMBER = re.compile(
    r"\s*([0-9]{3,12}(?:[-/ ]?[A-Za-z]{1,2})?|[0-9]{1,4}[./][0-9]{1,4}[A-Za-z]?)\s*"
)


def _bare_parts(query: str) -> Iterator[Mention]:
    number = NORMALISERS["number"]
    for match in _DIGIT_GROUPS.finditer(query):
        if part := _mention(BARE_PART, match.group(), match.start(), number, loose=True):
            yield part
    for match in _ZERO_LED.finditer(query):
        start, end = match.span()
        yield Mention(BARE_PART, match.group(), match.group(), start, end, "lower", loose=True)
    whole = _WHOLE_NUMBER.fullmatch(query)
    if whole and not _YEAR.fullmatch(whole[1]):
        canonical = re.sub(r"[-/ ](?=[a-z])", "", whole[1].casefold())
        start, end = whole.span(1)
        yield Mention(BARE_PART, whole[1], canonical, start, end, "lower", loose=True)


class Form(NamedTuple):
    """A string to look up; strength 1.0 for the whole identifier, less for a part of it."""

    form: str
    strength: float


class Place(IntEnum):
    """The place of an identifier in a chunk; within the tier, lower values rank first.

    DEFINITION: it is the name of a section that begins in the chunk.
    """

    DEFINITION = -1
    TITLE = 0
    HEADING = 1
    BODY = 2


_AROUND_NAMES = string.whitespace + "()§:.,\"'`“”"


def index_forms(identifier: Mention) -> tuple[Form, ...]:
    """The forms to store or look up for an identifier, strongest first."""
    forms = {identifier.canonical: FULL}
    plain = identifier.text.translate(_PLAIN)
    for form, strength in NORMALISERS[identifier.normaliser].lesser(plain):
        if form and len(form) <= MAX_IDENTIFIER_CHARS:
            forms.setdefault(form, strength)
    ranked = sorted(forms.items(), key=lambda item: -item[1])
    return tuple(Form(form, strength) for form, strength in ranked)


def placed_forms(
    title: str,
    heading_path: Sequence[str],
    text: str,
    patterns: Sequence[Pattern] = DEFAULT_PATTERNS,
    sections: Sequence[SectionPlace] = (),
) -> dict[str, tuple[Place, float]]:
    """Each form to store for a chunk, with its best place and its strength.

    Strength takes precedence: a whole identifier in the body over a part of one in the title.
    """
    placed: dict[str, tuple[Place, float]] = {}
    headings = [each.heading for each in sections if text.startswith(each.heading, each.start)]
    # `ForeignKey.on_delete` defines `on_delete` as well.
    headings += [
        last for each in headings if (last := each.rpartition(".")[2]) != each and " " not in each
    ]
    names = [*heading_path, *(each.heading for each in sections)]
    places = [
        *((Place.DEFINITION, heading) for heading in headings),
        (Place.TITLE, title),
        (Place.HEADING, "\n".join(dict.fromkeys(names))),
        (Place.BODY, text),
    ]
    for place, part in places:
        for identifier in find_identifiers(part, patterns):
            if place is Place.DEFINITION and not _is_named(part, identifier):
                continue
            for form, strength in index_forms(identifier):
                if form not in placed or strength > placed[form][1]:
                    placed[form] = (place, strength)
    return placed


def begins_with(text: str, start: int) -> bool:
    """Whether nothing but space and punctuation is before an identifier that begins at `start`."""
    return not text[:start].strip(_AROUND_NAMES)


def _is_named(heading: str, identifier: Mention) -> bool:
    """Whether the heading is this identifier, or begins with it if it is a number or a code."""
    if not begins_with(heading, identifier.start):
        return False
    rest = heading[identifier.end :].strip(_AROUND_NAMES)
    return not rest or any(map(str.isdigit, identifier.canonical))
