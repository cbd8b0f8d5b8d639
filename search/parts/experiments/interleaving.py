"""Who takes part in an experiment, and team-draft interleaving of two rankings. Pure."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

A, B = "a", "b"


def part(visitor: str, salt: str) -> float:
    """A visitor's position in [0, 1): uniform over visitors, independent for each salt."""
    digest = hashlib.sha256(f"{salt}\0{visitor}".encode()).digest()
    return int.from_bytes(digest[:7]) / 2**56


def takes_part(visitor: str, salt: str, share: float) -> bool:
    """True if the visitor is in the participating share, 0 to 1.

    Whoever takes part at one share also does at every larger one.
    """
    return part(visitor, f"{salt}:part") < share


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Drafted(Generic[Item]):
    """An item of the interleaved ranking and the team that picked it.

    `team` is empty in the common prefix of both rankings: a click there prefers neither.
    """

    item: Item
    team: str


def team_draft(a: Sequence[Item], b: Sequence[Item], seed: str) -> list[Drafted[Item]]:
    """Both rankings interleaved without repeats: each round, both teams pick in random order.

    Items in the common prefix belong to no team (Chapelle et al. 2012 call clicks there noise).
    The same seed gives the same ranking, so that a reload or the next page is consistent.
    """
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    drafted = [Drafted(item, "") for item in a[:common]]
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
                drafted.append(Drafted(item, team))
    return drafted


def preference(clicked: Collection[str]) -> str:
    """The team with more of a search's clicks; empty for a tie or without counted clicks."""
    ours, theirs = list(clicked).count(A), list(clicked).count(B)
    if ours == theirs:
        return ""
    return A if ours > theirs else B


def _unused(ranking: Sequence[Item], used: set[Item]) -> Iterator[Item]:
    return (item for item in ranking if item not in used)
