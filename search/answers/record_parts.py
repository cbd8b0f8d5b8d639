"""The parts of a passage that belong to the records which a question names. Pure.

A record is a section, a row of a table or an item of a list. Its neighbours answer about others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from ingestion.domain import CELL_SEPARATOR
from ingestion.identifiers import FULL
from ingestion.lexical.sentences import Kind
from search.answers.domain import Passage
from search.answers.quote_pieces import TextPart, parts_of
from search.presentation.records import RecordLookup

_CODE = 6  # characters without a space of a cell that may name its row, as the first cell does
_CODED = re.compile(r"[^|]*\d")  # the first cell of a row that is no header
# The name of a row only with that of its column, as in “room 12”: 12 may as well be seats.
_SHORT_NUMBER = re.compile(r"[\W\d]{1,5}")
# An item of another record: its label has a number. “Price: 5” may be below “Level 3”.
_ITEM = re.compile(r"[^:\d]*\d[^:]*:(?:\s|\Z)")
_MARKER = re.compile(r"^[-*+•–—]\s+")


def record_parts(
    passage: Passage, lookup: RecordLookup
) -> tuple[Sequence[TextPart], Mapping[int, float]]:
    """The parts of a passage that may answer, and how well the headings of each section hold an
    identifier: with a whole one, only the parts of its record, which may be a row or an item.
    """
    parts = parts_of(passage)
    # No label has a digit in such a question: as most are, it names no record.
    if not (lookup.identifiers or lookup.numbered or any(map(str.isdigit, lookup.question))):
        return parts, {part.section: 0.0 for part in parts}
    firsts = {part.section: part.start for part in reversed(parts)}
    # What the title names, all sections are about.
    paths = [(passage.title, *passage.path_at(at)) for at in firsts.values()]
    held = dict(zip(firsts, lookup.holders(paths, [""] * len(paths)), strict=True))
    best = max(held.values(), default=0.0)
    own = [part for part in parts if held[part.section] == best]
    # What a whole section is about, or is compared with, tells none of its rows from the others.
    rows = lookup if lookup.question and best <= FULL else replace(lookup, identifiers=())
    return list(_own_records(passage, own if best > FULL else parts, rows)), held


def _own_records(
    passage: Passage, parts: Sequence[TextPart], lookup: RecordLookup
) -> Iterator[TextPart]:
    """The parts without other records: of a table with rows that the question names, these and the
    header; of a list with such items, these and what is below them.
    """
    for (kind, _), group in groupby(
        parts, key=lambda one: (one.kind, one.kind is Kind.ROW and one.block)
    ):
        run = list(group)
        texts = [passage.text[part.start : part.end] for part in run]
        held = [_held(text, kind, lookup, texts[0]) for text in texts]
        is_own = held[0] == max(held)
        for at, (part, text) in enumerate(zip(run, texts, strict=True)):
            begins = not text.startswith("|") if kind is Kind.ROW else _ITEM.match(text)
            if begins and (part.line != run[at - 1].line or _MARKER.match(text)):
                is_own = held[at] == max(held)
            if is_own or (at == 0 and kind is Kind.ROW and not _CODED.match(text)):
                yield part


def _held(text: str, kind: Kind, lookup: RecordLookup, header: str) -> float:
    """How well a row, or an item by its label, holds what the question names; 0 of other text."""
    if kind is Kind.ROW:
        first, *others = text.split(CELL_SEPARATOR)
        if _SHORT_NUMBER.fullmatch(first):
            first = f"{header.partition(CELL_SEPARATOR)[0]} {first}"
        codes = (cell for cell in others if len(cell) >= _CODE and " " not in cell)
        is_named = any(map(lookup.names, (first, *codes)))
        return 2.0 if is_named else lookup.strength(first)  # 4.2.1+build.118 is more than 4.2.1
    label, colon, _ = _MARKER.sub("", text).partition(":")
    is_label = kind is Kind.ITEM and colon and not _SHORT_NUMBER.fullmatch(label)
    return float(bool(is_label) and lookup.names(label))
