"""A search's part in an experiment that compares two profiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from search.domain.profiles import Profile

Mix = Callable[[Sequence[int], Sequence[int]], Sequence[tuple[int, str]]]
"""Two rankings of keys as one, each key once, with the team whose pick it is ("" for both's)."""

# The arm of a search that shows both rankings.
MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class RunningExperiment:
    """The experiment that runs: its two profiles, and how visitors are dealt to them."""

    pk: int
    interleaves: bool
    salt: str
    share: float
    a: Profile
    b: Profile


@dataclass(frozen=True, slots=True)
class Trial:
    """What a search shows in an experiment: one arm's ranking, or with `mix` both as one.

    `profiles` are the arm's alone, or A's and B's. `named` is the one that the response names.
    """

    experiment: int
    arm: str
    profiles: tuple[Profile, ...]
    named: Profile
    mix: Mix | None = None


TakesPart = Callable[[RunningExperiment, str, Profile | None], Trial | None]
"""The part of whoever asks in an experiment, by the question and the active profile."""
