"""The sentences of an answer's Markdown, complete or still growing. Pure.

A unit is a sentence of a paragraph or of a list item, or a heading, a table row or a block of code.
Citation markers belong to the unit before them, also after its full stop and on a line of their
own. Units cover all the text but white space, in order, and no growth of the text changes one that
`completed` has returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from ingestion.lexical.written_dates import MONTHS

Span = tuple[int, int]

REACH = 4_000  # characters within which a block's marker is searched; a guess: a long page
MARKER = re.compile(r"\[\s{0,3}(\d{1,4}(?:\s{0,3}[,;]\s{0,3}\d{1,4}){0,15})\s{0,3}\](?![(:])")
_MARKERS = re.compile(rf"(?:[ \t]*{MARKER.pattern})+(?:[ \t]*(?:\.(?!\w)|。))?")
_MARKERS_LINE = re.compile(rf"(?:\s*{MARKER.pattern})+[ \t]*[.。]?[ \t]*(?=\n|\Z)")
# A marker that may still become one, or a line of markers that may still have other words.
_OPEN_MARKERS = re.compile(rf"(?:\s*{MARKER.pattern})*\s*(?:\[[\d\s,;]*)?[ \t.。]*\Z")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^\n]*")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}(?=[ \t]|$)|[ \t]*(?:[-*_][ \t]*){3,}$", re.MULTILINE)
_UNFINISHED_RULE = re.compile(r"\s*(?:[-*_][ \t]*){3,}\Z")
_ROW = re.compile(r"[ \t]*\|")
_ITEM = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+•]|\d{1,3}[.)])(?=[ \t\n])|[ \t]*>")
_STOP = re.compile(
    r"""[.!?…]+["'”’»)\]*_]*(?=\s|\Z|\[)|[。！？｡]+[」』”’）)*_]*|:[*_]*(?=[ \t]*(?:\n|\Z))"""
    r"""|(?<=\S)[ ]{2,}(?=\n)|\\(?=\n)"""
)
_LONGEST_CODE = 400
_CODE = re.compile(
    rf"(?<!`)(?P<ticks>`{1, 3})(?!`)[^\n]{{1,{_LONGEST_CODE}}}?(?<!`)(?P=ticks)(?!`)"
)
_CODE_OR_STOP = re.compile(rf"(?P<code>{_CODE.pattern})|(?:{_STOP.pattern})")
_WORD_START = re.compile(r"\S")
_WORD_BEFORE = re.compile(r"([^\W_](?:[\w-]|\.(?=[^\W\d_]))*)\Z")
_INITIAL = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_UNIT = re.compile(r"\d[  ]?[a-zµ]\Z")  # "1.5 m", "5 s"
_NEXT = re.compile(r"\s*([\"'“‘„«(*_]*)([^\W_]*)")
_CERTAIN = re.compile(r"\s*(?:\S+\s|\S{24})")
# Shortened words after which a sentence usually goes on, in English, German, French and Spanish.
_SHORT = frozenset(
    """
    abb abs al approx art aufl av bd bzw ca cap cf chap col dept dipl dr ed eds eg e.g eq esp est
    etc evtl fig figs gen ggf hr i.e ie inc inkl jr lt ltd max mme mlle mr mrs ms min mio mrd nr
    no nos op p pp para phd prof rev s sec seq sog sr sra st str tel u.a usw v vgl vol vs z.b zz
    zzgl d.h bspw incl u.s u.k ud par ph.d z.t o.ä i.d.r m.e jan feb mar apr jun jul aug sep sept
    oct nov dec
    """.split()  # noqa: SIM905 - a list of a hundred quoted words reads worse
)
_AFTER_DAYS = frozenset({*MONTHS, "jahrhundert", "jahrhunderts"})
# Before a capital letter these may also end a sentence.
_MAY_END = frozenset({"etc", "usw", "inc", "ltd", "jr", "no", "p", "s", "u.s", "u.k", "v"})


def split(text: str) -> list[Span]:
    """The [start, end) of each sentence of an answer's Markdown, with its markers."""
    return list(_units(text, 0))


def completed(text: str, since: int) -> list[Span]:
    """The sentences of a growing text, from `since` on, that no further text can change.

    `since` is 0 or the end of the last sentence that an earlier call returned. A sentence without
    a marker is held back until its block ends or another sentence of it has one: `check` reads
    the block's next marker.
    """
    certain = [*takewhile(lambda span: _is_certain(text, *span), _units(text, since))]
    # What follows may still cite for those that have no marker.
    while certain and not _is_settled(text, certain[-1]):
        certain.pop()
    return certain


def cited_numbers(text: str) -> tuple[int, ...]:
    """The numbers of the markers in a text, each once, in order."""
    numbers = (int(n) for match in MARKER.finditer(text) for n in re.findall(r"\d+", match[1]))
    return tuple(dict.fromkeys(numbers))


def block_of(text: str, span: Span) -> Span:
    """The [start, end) of the lines around a sentence up to the next blank ones, at most REACH
    characters away.
    """
    first, last = max(0, span[0] - REACH), min(len(text), span[1] + REACH)
    before = [match.end() for match in _BLANK.finditer(text, first, span[0])]
    after = _BLANK.search(text, span[1], last)
    return (before[-1] if before else first), (after.start() if after else last)


_BLANK = re.compile(r"\n[ \t]*\n")


def _is_settled(text: str, span: Span) -> bool:
    is_cited = MARKER.search(text, *span) is not None
    return is_cited or len(text) >= span[1] + REACH or _BLANK.search(text, span[1]) is not None


def _units(text: str, since: int) -> Iterator[Span]:
    position = since
    while (position := _skip(text, position)) < len(text):
        line_start = text.rfind("\n", 0, position) + 1
        end = _block_end(text, line_start) or _sentence_end(text, position)
        end = _with_markers(text, end)
        yield position, end
        position = end


def _trimmed(text: str, end: int) -> int:
    """`end` moved before the white space there."""
    while end > 0 and text[end - 1].isspace():
        end -= 1
    return end


def _skip(text: str, position: int) -> int:
    after = _WORD_START.search(text, position)
    return after.start() if after else len(text)


def _block_end(text: str, line_start: int) -> int:
    """The end of a block of code, heading or row of a table on this line; 0 if it is none."""
    newline = text.find("\n", line_start)
    line_end = len(text) if newline < 0 else newline
    if fence := _FENCE.match(text, line_start):
        closing = re.compile(rf"^[ \t]*{re.escape(fence[1])}[`~]*[ \t]*$", re.MULTILINE)
        closed = closing.search(text, min(line_end + 1, len(text)))
        return _trimmed(text, closed.end() if closed and newline >= 0 else len(text))
    line = text[line_start:line_end]
    if _HEADING.match(line) or _ROW.match(line):
        return line_start + len(line.rstrip())
    return 0


def _sentence_end(text: str, start: int) -> int:
    """The end of the sentence that starts here, within its paragraph or list item."""
    limit = _paragraph_end(text, start)
    first = _ITEM.match(text, start, limit)
    for match in _CODE_OR_STOP.finditer(text, first.end() if first else start, limit):
        is_code = match["code"] is not None
        if not is_code and _ends_sentence(text, match, limit):
            return _trimmed(text, match.end())
    return _trimmed(text, limit)


def _paragraph_end(text: str, start: int) -> int:
    """The end of the lines that continue the one at `start`."""
    newline = text.find("\n", start)
    while newline >= 0:
        following = newline + 1
        line_end = text.find("\n", following)
        line = text[following : line_end if line_end >= 0 else len(text)]
        starts_block = _FENCE.match(line) or _HEADING.match(line) or _ROW.match(line)
        if not line.strip() or starts_block or _ITEM.match(line + "\n"):
            return newline
        newline = line_end
    return len(text)


def _ends_sentence(text: str, stop: re.Match[str], limit: int) -> bool:
    if stop.end() >= limit or text[stop.start()] not in ".…":
        return True
    if MARKER.match(text, _skip(text, stop.end())):
        return True
    following = _NEXT.match(text, stop.end(), limit)
    opening, word = (following[1], following[2]) if following else ("", "")
    if word[:1].islower() and not opening:
        return False
    before = _WORD_BEFORE.search(text, max(0, stop.start() - 40), stop.start())
    if before is None or not stop.group().startswith(".") or stop.group().startswith(".."):
        return True
    shortened = before[1].casefold()
    if before[1].isdigit() and len(before[1]) <= 2:
        return word.casefold() not in _AFTER_DAYS
    if shortened in _SHORT:
        # "Inc. The" may end one, "Dr. Smith" does not; a number after it never begins one.
        return shortened in _MAY_END and len(word) > 1 and word[0].isupper()
    if before[1] == "I" or _UNIT.search(text, max(0, stop.start() - 12), stop.start()):
        return True
    return not _INITIAL.fullmatch(before[1])


def _with_markers(text: str, end: int) -> int:
    """`end` moved behind the markers that follow, on the same line or on lines of their own."""
    while True:
        markers = _MARKERS.match(text, end) or _MARKERS_LINE.match(text, end)
        if markers is None or markers.end() == end:
            return end
        end = _trimmed(text, markers.end())


def _is_certain(text: str, start: int, end: int) -> bool:
    """True if no further text can move the end of the unit."""
    if _OPEN_MARKERS.match(text, end) or _CERTAIN.match(text, end) is None:
        return False
    # "--- " ends the paragraph before it, unless words follow on its line.
    if _UNFINISHED_RULE.match(text, end):
        return False
    # An open ` may make code of what looks like the end of a sentence.
    is_open = len(text) - end < _LONGEST_CODE and text.find("\n", end) < 0
    line_start = text.rfind("\n", start, end) + 1
    return not (is_open and "`" in _CODE.sub("", text[max(start, line_start) : end]))
