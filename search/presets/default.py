"""`Preset`, a profile that ships as data: the default, and the baselines it is measured against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from search.domain import Fusion, Normaliser, Profile, QueryClass, Signal, Weights


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
) -> Mapping[Signal, Normaliser]:
    """Normalisers of the signals for which a profile can choose one."""
    return {Signal.VECTOR: vector, Signal.KEYWORD: keyword, Signal.TITLE: Normaliser.NONE}


DEFAULT = Preset(
    Profile(
        name="default",
        # Existing installations keep the version that is active there. Version 1 had other weights
        # and no feedback, version 3 boosts of short sections, version 4 weights of their own for
        # look-ups and code (docs/adr/0113).
        version=5,
        # Measured on six judged collections (docs/relevance.md): the results hardly differ between
        # .65 and .80 for meaning.
        weights=always(Weights(0.67, 0.28, 0.05)),
        normalisers=scales(),
        # Meaning counts .9 of both for the shortest questions (ADR 113).
        short_lean=0.8,
        language_lean=True,
        # .3 to .7 do equally well: .006 nDCG@10 more on the mean of the six, and no loss on any.
        feedback=0.4,
        # Flags 3% of the questions that have an answer, and 90% of those about other topics.
        confidence_threshold=0.2,
    ),
    "Cosine and BM25 on one scale, some weight for the title, and relevance feedback; the same "
    "weights for every question.",
)

BASELINES = (
    Preset(
        Profile("keyword-only", 1, always(Weights(0, 1, 0)), normalisers=scales()),
        "BM25 alone: a baseline to measure others against.",
    ),
    Preset(
        Profile("vector-only", 1, always(Weights(1, 0, 0)), normalisers=scales()),
        "Cosine alone: a baseline to measure others against.",
    ),
    Preset(
        Profile("rrf", 1, always(Weights(0.5, 0.5, 0)), fusion=Fusion.RRF, normalisers=scales()),
        "Ranks by cosine and by BM25, fused half and half: a baseline to measure others against.",
    ),
)
