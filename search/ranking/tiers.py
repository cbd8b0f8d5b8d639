"""Tiers, which precede every score: pins first, then identifiers (ADR 2), then the rest."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from search.domain import ABSENT, Candidate, Integers, Query, QueryIdentifier, Tier

# As `ingestion.identifiers.Place`, in which the heading of the passage's own section is -1.
PLACES = ("title", "heading", "text")
# A candidate's tier as a number: pins are below 0, identifiers from 0, the rest from TITLED.
# TITLED: its title has all words of a short question; SECOND: matched by only one of meaning and
# keywords, if `both_first`; BEYOND: no candidate.
TITLED, PLAIN, SECOND, BEYOND = 999_999, 1_000_000, 1_000_001, 1_000_002

# What no ordinary word has: ORA-00942, §75.1725(a), rclcpp::Node, a@b.org, REQ-SYS-10.
_DISTINCTIVE = re.compile(r"\d(?:[-/ ]?\d){3}|[_@§.:()\\]|^--|-[A-Z]{2,}-\d")


def identifiers_lead(query: Query) -> bool:
    """Whether candidates with an identifier of the query come before every score.

    True if the query asks for it, or it is distinctive (four digits in a row, symbols, three
    parts). Otherwise it is one word of many (IL-10, D40).
    """
    is_lookup = query.is_identifier or query.asks_for_identifiers
    return is_lookup or any(_is_distinctive(identifier) for identifier in query.identifiers)


def _is_distinctive(identifier: QueryIdentifier) -> bool:
    return not identifier.loose and _DISTINCTIVE.search(identifier.text) is not None


def tiers_of(rows: npt.NDArray[Any], *, leads: bool) -> Integers:
    """The tier of each candidate without pins: full forms before partial ones, then by place."""
    tiers = np.full(len(rows), PLAIN, np.int64)
    identified = np.flatnonzero(rows["form"] != ABSENT)
    if leads and len(identified):
        strengths, places = rows["strength"][identified], rows["held_at"][identified]
        orders = list(zip((-strengths).tolist(), places.tolist(), strict=True))
        ranks = {order: place for place, order in enumerate(sorted(set(orders)))}
        tiers[identified] = [ranks[order] for order in orders]
    return tiers


def with_pins(tiers: Integers, pins: Integers, documents: Integers, order: Integers) -> Integers:
    """One query's tiers with the best chunk of each pinned document first, in the pins' order."""
    tiers = tiers.copy()
    seen: set[int] = set()
    for column in order[pins[order] != ABSENT].tolist():
        if documents[column] not in seen:
            seen.add(documents[column])
            tiers[column] = pins[column] - PLAIN
    return tiers


def tier(number: int, candidate: Candidate) -> Tier:
    """The candidate's tier with its reason, from the tier's number."""
    match = candidate.identifier
    if number < 0:
        place = float(candidate.pin or 0)
        return Tier(order=(-1.0, place), reason="it is pinned to this question")
    if number == TITLED:
        return Tier(order=(0.5,), reason="its title or heading has all words of the question")
    if number < PLAIN and match is not None:
        whole = "names" if match.strength >= 1 else "names a part of"
        order = (0.0, -match.strength, float(match.place))
        if match.place < 0 and match.strength >= 1:
            return Tier(order=order, reason=f"it defines {match.form}")
        where = "heading" if match.place < 0 else PLACES[min(match.place, len(PLACES) - 1)]
        return Tier(order=order, reason=f"its {where} {whole} {match.form}")
    return Tier(order=(1.0, 1.0)) if number == SECOND else Tier()
