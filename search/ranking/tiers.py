"""Q6: tiers. A chunk that holds an identifier of the query comes before every score (D2)."""

from __future__ import annotations

from search.domain import IdentifierMatch, Tier

PLACES = ("title", "heading", "text")
PLAIN = Tier()


def tier_of(match: IdentifierMatch | None) -> Tier:
    """The tier of a candidate: full forms before partial ones, then title, heading, text."""
    if match is None:
        return PLAIN
    whole = "names" if match.strength >= 1 else "names a part of"
    place = PLACES[min(match.place, len(PLACES) - 1)]
    return Tier(
        order=(0.0, -match.strength, float(match.place)),
        reason=f"its {place} {whole} {match.form}",
    )
