"""`Preset`, a profile that ships as data, and its shorthand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from search.domain import Normaliser, Profile, QueryClass, Signal, Weights


@dataclass(frozen=True, slots=True)
class Preset:
    """A shipped profile. `description` states its purpose or origin in a sentence."""

    profile: Profile
    description: str

    @property
    def name(self) -> str:
        return self.profile.name


def always(weights: Weights, **by_class: Weights) -> Mapping[QueryClass, Weights]:
    """Weights by class: those of `by_class` for the classes that it names, else `weights`."""
    chosen = {QueryClass(name): own for name, own in by_class.items()}
    return {query_class: chosen.get(query_class, weights) for query_class in QueryClass}


def scales(
    vector: Normaliser = Normaliser.NONE,
    keyword: Normaliser = Normaliser.MAX,
    title: Normaliser = Normaliser.NONE,
) -> Mapping[Signal, Normaliser]:
    """Normalisers of the signals for which a profile can choose one."""
    return {Signal.VECTOR: vector, Signal.KEYWORD: keyword, Signal.TITLE: title}
