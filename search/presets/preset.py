"""What a preset is, and the words that presets are written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from search.domain import Normaliser, Profile, QueryClass, Signal, Weights


@dataclass(frozen=True, slots=True)
class Preset:
    """A profile that ships. `description` says in a sentence what it is good for or restates."""

    profile: Profile
    description: str

    @property
    def name(self) -> str:
        return self.profile.name


def always(weights: Weights, **by_class: Weights) -> Mapping[QueryClass, Weights]:
    """The same weights for every class, but for those given by the class's name."""
    chosen = {QueryClass(name): given for name, given in by_class.items()}
    return {query_class: chosen.get(query_class, weights) for query_class in QueryClass}


def scales(
    vector: Normaliser = Normaliser.NONE,
    keyword: Normaliser = Normaliser.MAX,
    title: Normaliser = Normaliser.NONE,
) -> Mapping[Signal, Normaliser]:
    """A normaliser for each signal that a profile may choose one for."""
    return {Signal.VECTOR: vector, Signal.KEYWORD: keyword, Signal.TITLE: title}
