"""What is stored of an identifier, and which stored forms a query's identifier matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from ingestion.identifiers.finding import MAX_IDENTIFIER_CHARS, Found, find_identifiers
from ingestion.identifiers.normalisers import NORMALISERS
from ingestion.identifiers.patterns import DEFAULT_PATTERNS, Pattern

FULL = 1.0


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
