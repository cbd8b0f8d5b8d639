"""Q6: tiers. What is pinned comes first, then what holds an identifier of the query (D2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from search.domain import (
    Candidate,
    Combination,
    Explanation,
    IdentifierMatch,
    Leaf,
    Node,
    Operation,
    Query,
    QueryIdentifier,
    TermStatistic,
    Tier,
)

PLACES = ("title", "heading", "text")
PLAIN = Tier()
# After the same tier's others: what only one of meaning and keywords found, where that matters.
SECOND = Tier(order=(1.0, 1.0))

# Who says more than this besides a short code tells a story, and does not ask for the code: on
# SciFact the tier costs nothing up to 4 other words, and .11 nDCG@10 beyond (ADR 2).
MOST_OTHER_TERMS = 4
# What holding a short code is worth then. 1.03 to 1.3 do equally well there.
HOLDER_FACTOR = 1.1
# Signs and numbers that no word of a sentence has: ORA-00942, §75.1725(a), rclcpp::Node, a@b.org.
_DISTINCTIVE = re.compile(r"\d\D*\d\D*\d\D*\d|[_@§.:()\\]|^--")

Explained = tuple[Candidate, Explanation]


def identifiers_lead(query: Query, terms: Sequence[TermStatistic]) -> bool:
    """Whether what holds an identifier of the query comes before every score.

    So it is where an identifier is like no word (it has four digits, or signs), or where the query
    says little besides. Otherwise it is one word of many (IL-10, D40), and counts as a boost.
    """
    if query.is_identifier or any(_is_distinctive(named) for named in query.identifiers):
        return True
    said = " ".join(named.text for named in query.identifiers).casefold()
    # A word may stand under several languages' stems, which begin alike.
    others = {term.lexeme[:4] for term in terms if term.lexeme not in said}
    return len(others) <= MOST_OTHER_TERMS


def holding(score: Node, match: IdentifierMatch) -> Node:
    """The score of a chunk that holds an identifier which does not lead."""
    leaf = Leaf(f"names {match.form}", HOLDER_FACTOR)
    return Combination("names an identifier", Operation.PRODUCT, (score, leaf))


def _is_distinctive(named: QueryIdentifier) -> bool:
    return not named.loose and _DISTINCTIVE.search(named.text) is not None


def tier_of(match: IdentifierMatch | None, *, second: bool = False) -> Tier:
    """The tier of a candidate: full forms before partial ones, then title, heading, text.

    `second`: it comes after the others that hold no identifier either.
    """
    if match is None:
        return SECOND if second else PLAIN
    whole = "names" if match.strength >= 1 else "names a part of"
    place = PLACES[min(match.place, len(PLACES) - 1)]
    return Tier(
        order=(0.0, -match.strength, float(match.place)),
        reason=f"its {place} {whole} {match.form}",
    )


def pinned(ranking: Sequence[Explained]) -> list[Explained]:
    """The ranking with the best chunk of each pinned document first, in the order of the pins."""
    best: dict[int, Explained] = {}
    for candidate, explanation in ranking:
        if candidate.pin is not None:
            best.setdefault(candidate.document_id, (candidate, explanation))
    chosen = {candidate.chunk_id for candidate, _ in best.values()}
    first = [
        (candidate, replace(explanation, tier=_pin_tier(candidate)))
        for candidate, explanation in best.values()
    ]
    first.sort(key=lambda pair: (pair[1].tier.order, pair[0].chunk_id))
    return first + [pair for pair in ranking if pair[0].chunk_id not in chosen]


def _pin_tier(candidate: Candidate) -> Tier:
    return Tier(order=(-1.0, float(candidate.pin or 0)), reason="it is pinned to this question")
