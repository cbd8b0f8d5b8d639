"""The sentences of a passage, for quoting: prose, list items, table rows, lines of code. Pure.

Prose is split as chunking splits it (`sentence_spans`); here the lines of lists, tables and code
are kept apart as well, and abbreviations that only one language has are joined again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ingestion.chunking.text_splitting import sentence_spans
from ingestion.domain import CELL_SEPARATOR
from ingestion.lexical.languages import primary_code

# A longer line without a full stop is prose; headings are cut to 80 by `short_name`. A guess.
HEADING_CHARS = 100
# A longer run of words without a full stop is data or a list: it is cut between words. A guess.
LONGEST = 800


class Kind(StrEnum):
    PROSE = "prose"
    HEADING = "heading"
    ITEM = "item"
    ROW = "row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Span:
    """[start, end) of a stretch of text, without surrounding white space."""

    start: int
    end: int
    kind: Kind = Kind.PROSE


# Besides those that `sentence_spans` knows. A word that also ends sentences ("etc", German "an.")
# is left out: a missed split shows a longer quote, a wrong one half a sentence.
_ABBREVIATIONS = {
    "en": "capt cpl lt sgt maj cmdr adm gov sen rep pres supt mt ft messrs esq hon pvt dist assn "
    "bros univ e.g i.e ph.d b.a m.a d.c u.s.a min max avg resp ver ref para",
    "de": "abb abs art aufl bspw dipl.-ing evtl geb gest hrsg hr fr frl ing inkl jh jhd kap lt max "
    "mind min nr o.g o.ä s st str tab tel u.ä v.chr n.chr vgl zzgl ca mio mrd jan feb mär apr jun "
    "jul aug sept okt nov dez",
    "es": "admón art av avda cap cía d dña dr dra ee.uu etc.a fig gral ing lic máx mín n.º núm pág "
    "págs prof pról rev sr sra srta tel vol a.c d.c p.ej",
    "fr": "art av bd boul chap cf dr env etc.a ex fig m mm mlle mme mmes n no p pp par prof réf "
    "sq st ste tél vol av.j.-c apr.j.-c c.-à-d p.ex",
    "it": "art cap dott dott.ssa ecc.a fig ing n pag pp prof sig sig.ra s.p.a tel vol",
    "nl": "art blz bijv d.w.z dhr dr drs enz.a fig ir mevr mr nr o.a p prof t.o.v vgl",
    "pt": "art av cap dr dra eng exmo fig n p pág prof profa sr sra tel vol",
}
_KNOWN = {code: frozenset(words.split()) for code, words in _ABBREVIATIONS.items()}
_LAST = re.compile(r"(?:^|[\s(\[\"'“‘«„])([^\s(\[\"'“‘«„]{1,14})\.\Z")
# German writes ordinals with a dot: "am 3. Oktober", "im 19. Jahrhundert".
_ORDINAL = re.compile(r"(?:^|\s)\d{1,2}\.\Z")
_ORDINALS_IN = frozenset({"de", "da", "no", "nb", "nn", "fi", "cs", "hu"})
# Initials, also in a row ("J.R.R. Tolkien"), and abbreviations of single letters ("z. B.").
_INITIALS = re.compile(r"(?:^|[\s(])(?:[^\W\d_]\.-?){1,4}\Z")

_BLANK = re.compile(r"\n[^\S\n]*\n\s*")
_ITEM = re.compile(r"[^\S\n]*(?:[-*+•‣◦–—·▪]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])[^\S\n]+(?=\S)")
# Manuals rendered as text indent their prose: four words in a row are no code.
_CODE = re.compile(
    r"^(?: {4,}|\t+)(?!.{0,40}?(?:\b[^\W\d_]+[,;.]? ){4})\S"
    r"|^\s*(?:>>> |\.\.\. |\$ |# |//|/\*|<[/?!a-z][^>]*>\s*$|"
    r"(?:def|class|import|from|return|const|let|var|function|public|private|#include|SELECT|"
    r"INSERT|UPDATE|CREATE|async|await|export) )|[;{}]\s*$|^\s*[\w.\[\]\"']+\s*(?:=|:=|\+=)\s*\S|"
    r"\w\([^ )]{0,200}\)\s*:?\s*$"
)


def sentences(text: str, *, language: str = "") -> list[Span]:
    """The sentences of a text in order; they never overlap, and none is empty.

    `language` is an ISO 639 code; empty: only what most languages share.
    """
    return [
        part
        for start, end in _blocks(text)
        for span in _of_block(text, start, end, language)
        for part in _parts(text, span)
    ]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _BLANK.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _of_block(text: str, start: int, end: int, language: str) -> Iterator[Span]:
    """The sentences of a block: lines between two empty ones."""
    block = text[start:end]
    if not block.strip():
        return
    lines = list(_lines(text, start, end))
    if sum(CELL_SEPARATOR in text[low:high] for low, high in lines) * 2 > len(lines):
        yield from _trimmed_lines(text, lines, Kind.ROW)
    elif sum(bool(_CODE.search(text[low:high])) for low, high in lines) * 2 > len(lines):
        yield from _trimmed_lines(text, lines, Kind.CODE)
    elif any(_ITEM.match(text, low, high) for low, high in lines):
        yield from _of_list(text, lines, language)
    elif len(lines) == 1 and is_heading(block.strip()) and end < len(text.rstrip()):
        yield from _trimmed_lines(text, lines, Kind.HEADING)
    else:
        yield from _prose(text, start, end, language, Kind.PROSE)


def _of_list(text: str, lines: list[tuple[int, int]], language: str) -> Iterator[Span]:
    """The sentences of a list: an item's marker belongs to its first sentence."""
    starts = [place for place, (low, high) in enumerate(lines) if _ITEM.match(text, low, high)]
    if starts[0]:
        yield from _prose(text, lines[0][0], lines[starts[0] - 1][1], language, Kind.PROSE)
    for place, following in zip(starts, [*starts[1:], len(lines)], strict=True):
        low, high = lines[place][0], lines[following - 1][1]
        marker = _ITEM.match(text, low, high)
        body = marker.end() if marker else low
        for number, span in enumerate(_prose(text, body, high, language, Kind.ITEM)):
            first = low + len(text[low:body]) - len(text[low:body].lstrip())
            yield Span(first, span.end, Kind.ITEM) if number == 0 else span


def _prose(text: str, start: int, end: int, language: str, kind: Kind) -> Iterator[Span]:
    pending: tuple[int, int] | None = None
    for low, high in sentence_spans(text[start:end]):
        span = (pending[0] if pending else start + low, start + high)
        if _goes_on(text[span[0] : span[1]], primary_code(language)):
            pending = span
            continue
        yield Span(*span, kind)
        pending = None
    if pending:
        yield Span(*pending, kind)


def _goes_on(sentence: str, language: str) -> bool:
    """Whether the dot at its end belongs to an abbreviation, an initial or an ordinal."""
    if not sentence.endswith("."):
        return False
    if _INITIALS.search(sentence[-16:]):
        return True
    if language in _ORDINALS_IN and _ORDINAL.search(sentence[-8:]):
        return True
    last = _LAST.search(sentence[-20:])
    return last is not None and last.group(1).lower() in _KNOWN.get(language, ())


def _parts(text: str, span: Span) -> Iterator[Span]:
    """The span, or parts of at most LONGEST characters, cut at a line's end or between words."""
    start = span.start
    while span.end - start > LONGEST:
        low, high = start + LONGEST // 2, start + LONGEST
        cut = text.rfind("\n", low, high)
        cut = cut if cut > 0 else text.rfind(" ", low, high)
        cut = cut if cut > 0 else high
        yield from _stripped(text, start, cut, span.kind)
        start = cut
    yield from _stripped(text, start, span.end, span.kind)


def _stripped(text: str, start: int, end: int, kind: Kind) -> Iterator[Span]:
    words = text[start:end].strip()
    if words:
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        yield Span(first, first + len(words), kind)


def is_heading(line: str) -> bool:
    """Whether a line between empty ones looks like a heading, if text follows it."""
    return len(line) <= HEADING_CHARS and line[-1].isalnum()


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    place = start
    for line in text[start:end].splitlines(keepends=True):
        if line.strip():
            yield place, place + len(line)
        place += len(line)


def _trimmed_lines(text: str, lines: list[tuple[int, int]], kind: Kind) -> Iterator[Span]:
    for low, high in lines:
        yield from _stripped(text, low, high, kind)
