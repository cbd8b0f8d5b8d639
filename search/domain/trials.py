"""A search's part in an experiment that compares two profiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from search.domain.profiles import Profile

Mix = Callable[[Sequence[int], Sequence[int]], Sequence[tuple[int, str]]]
"""Interleaves two rankings of keys, each key once, with the team that picked it ("" for both)."""

# The arm of a search that shows both rankings interleaved.
MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class RunningExperiment:
    """The running experiment: its two profiles, and how visitors are assigned to them."""

    pk: int
    interleaves: bool
    salt: str
    share: float
    a: Profile
    b: Profile


@dataclass(frozen=True, slots=True)
class Trial:
    """A search's part in an experiment: one arm's ranking, or with `mix` both interleaved.

    `profiles` are the arm's alone, or A's and B's. `named` is the one named in the response.
    """

    experiment: int
    arm: str
    profiles: tuple[Profile, ...]
    named: Profile
    mix: Mix | None = None


TakesPart = Callable[[RunningExperiment, str, Profile | None], Trial | None]
"""Assigns the trial of a search from the experiment, the question and the active profile."""
