"""Who takes part in an experiment, and team-draft interleaving of two rankings. Pure."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterator, Sequence

A, B = "a", "b"


def takes_part(visitor: str, salt: str, share: float) -> bool:
    """True if the visitor is in the participating share, 0 to 1.

    Whoever takes part at one share also does at every larger one.
    """
    # A position in [0, 1): uniform over visitors, independent for each salt.
    digest = hashlib.sha256(f"{salt}:part\0{visitor}".encode()).digest()
    return int.from_bytes(digest[:7]) / 2**56 < share


def team_draft(a: Sequence[int], b: Sequence[int], seed: str) -> list[tuple[int, str]]:
    """Both rankings interleaved without repeats, each item with the team that picked it.

    Each round, both teams pick in random order. Items in the common prefix of both rankings belong
    to no team, "": a click there prefers neither (Chapelle et al. 2012 call it noise).
    The same seed gives the same ranking, so that a reload or the next page is consistent.
    """
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    drafted = [(item, "") for item in a[:common]]
    used = set(a[:common])
    # A generator of its own: the draft must depend on the seed alone.
    generator = random.Random(seed)  # noqa: S311
    picks = {A: _unused(a, used), B: _unused(b, used)}
    while picks:
        order = [team for team in (A, B) if team in picks]
        generator.shuffle(order)
        for team in order:
            item = next(picks[team], None)
            if item is None:
                del picks[team]
            else:
                used.add(item)
                drafted.append((item, team))
    return drafted


def preference(clicked: Collection[str]) -> str:
    """The team with more of a search's clicks; empty for a tie or without counted clicks."""
    ours, theirs = list(clicked).count(A), list(clicked).count(B)
    if ours == theirs:
        return ""
    return A if ours > theirs else B


def _unused(ranking: Sequence[int], used: set[int]) -> Iterator[int]:
    return (item for item in ranking if item not in used)
