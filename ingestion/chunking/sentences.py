"""Where sentences end, for most written languages, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]

# The lookbehind lets a run of dots be tried once, at its first dot, so that a megabyte of
# dots is read in linear time. Possessive quantifiers never give back.
_END = re.compile(
    r"""(?<![.!?…‽])[.!?…‽]++["'”’»›)\]}]*+\s++  # Latin, Greek, Cyrillic: needs a space
      | [。！？｡．；]++["'”’»」』】）〕]*+\s*+       # Chinese, Japanese: needs none
      | [।॥؟۔።၊။៕]++["'”’»)\]]*+\s*+               # Indic, Arabic, Ethiopic, Burmese, Khmer
      | (?<!\n)\n[^\S\n]*+\n\s*+                  # an empty line
    """,
    re.VERBOSE,
)

_LAST_WORD = re.compile(r"(?:^|[\s(\[\"'“‘«])([^\s(\[\"'“‘«]{1,12})\.$")
_LOOK_BACK = 16

# Words whose dot ends no sentence. Kept short on purpose: a missed split costs little, as the
# next sentence end is near; the words here are those followed by a capital or a digit.
_ABBREVIATION_LIST = """
e.g i.e eg ie cf vs viz ca approx dr mr mrs ms prof st sr jr gen col rev hon no nos nr fig figs
eq eqs sec sect ch chap vol pp p ed eds art abs inc ltd co corp dept est al u.s u.k a.m p.m
bzw z.b d.h u.a usw ggf vgl inkl bd s.o s.u m mme mlle p.ex sra sres dra ud uds pág núm
jan feb mar apr jun jul aug sep sept oct nov dec
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())


def sentence_spans(text: str) -> Iterator[Span]:
    """[start, end) of each sentence in order, without the whitespace around it."""
    start = 0
    for match in _END.finditer(text):
        if not _ends_sentence(text, match):
            continue
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, len(text))


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    mark = match.group()[0]
    if mark not in ".!?…‽":
        return True
    following = text[match.end() : match.end() + 1]
    if following.islower():  # also "e.g. this", "Yahoo! said"
        return False
    if mark != "." or match.group()[1:2] == ".":
        return True
    before = text[max(0, match.start() - _LOOK_BACK) : match.start() + 1]
    word = _LAST_WORD.search(before)
    if word is None:
        return True
    letters = word.group(1)
    initial = len(letters) == 1 and letters.isupper()
    # "1. First", "a. First": the dot after an item's number belongs to the item.
    numbered = letters.isdigit() and match.start() - len(letters) == 0
    return not (initial or numbered or letters.lower() in _ABBREVIATIONS)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        yield start, start + len(stripped)
