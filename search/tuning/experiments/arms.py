"""Which arm of an experiment a visitor has, and team-draft interleaving of both rankings."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from search.domain import Profile, RunningExperiment
from search.tuning.models import Experiment


def running(profiles: Mapping[int, Profile]) -> RunningExperiment | None:
    """The experiment that runs; its profiles are published, and `profiles` has them by row."""
    row = Experiment.objects.filter(state=Experiment.State.RUNNING).first()
    if row is None:
        return None
    return RunningExperiment(
        pk=row.pk,
        interleaves=row.kind == Experiment.Kind.INTERLEAVED,
        salt=row.salt,
        share=row.share,
        a=profiles[row.a_id],
        b=profiles[row.b_id],
    )


A, B = "a", "b"


def part(visitor: str, salt: str) -> float:
    """A visitor's place in [0, 1), even over visitors and another one for each salt."""
    digest = hashlib.sha256(f"{salt}\0{visitor}".encode()).digest()
    return int.from_bytes(digest[:7]) / 2**56


def takes_part(visitor: str, salt: str, share: float) -> bool:
    """Whether the visitor is among the share, 0 to 1, of all who take part.

    Whoever takes part at a share does so at every larger one.
    """
    return part(visitor, f"{salt}:part") < share


def arm(visitor: str, salt: str) -> str:
    """The visitor's arm, A or B, each of half of them; it says nothing of who takes part."""
    return A if part(visitor, f"{salt}:arm") < 0.5 else B


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Drafted(Generic[Item]):
    """An item of the interleaved ranking and whose pick it was.

    `team` is empty where both rankings agree so far: a click there prefers neither.
    """

    item: Item
    team: str


def team_draft(a: Sequence[Item], b: Sequence[Item], seed: str) -> list[Drafted[Item]]:
    """Both rankings as one without repeats: in each round both teams pick, in an order by chance.

    Items both rankings share at their top are no one's (Chapelle et al. 2012 call their clicks
    noise). The same seed gives the same ranking, so that a reload or the next page agrees with it.
    """
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    drafted = [Drafted(item, "") for item in a[:common]]
    held = set(a[:common])
    # By an own generator: the seed decides the draft, and no other chance in the process.
    chance = random.Random(seed)  # noqa: S311
    picks = {A: _unheld(a, held), B: _unheld(b, held)}
    while picks:
        order = [team for team in (A, B) if team in picks]
        chance.shuffle(order)
        for team in order:
            item = next(picks[team], None)
            if item is None:
                del picks[team]
            else:
                held.add(item)
                drafted.append(Drafted(item, team))
    return drafted


def preference(clicked: Collection[str]) -> str:
    """The team that more of a search's clicks went to; empty for a tie or no click that counts."""
    ours, theirs = list(clicked).count(A), list(clicked).count(B)
    if ours == theirs:
        return ""
    return A if ours > theirs else B


def _unheld(ranking: Sequence[Item], held: set[Item]) -> Iterator[Item]:
    return (item for item in ranking if item not in held)
