"""Query -> Settled: its class, the weights of that class, the signals that run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ingestion.identifiers import matches
from search.domain import (
    NORMALISED,
    OPTIONAL,
    Classification,
    Classifier,
    Profile,
    Query,
    Signal,
    Weights,
)
from search.engine import NOTHING_FORCED, Choices
from search.engine.configuration import Configuration
from search.engine.external_classifier import query_model
from search.query.classifiers import classify_by
from search.signals import registry

KEYWORDS_ALONE = Weights(vector=0, keyword=1, title=0)


@dataclass(frozen=True, slots=True)
class Settled:
    """A question with the parameters of its retrieval and the weights of its ranking.

    `forced` names the caller's overrides; `notes` are sentences on why the weights are not the
    class's.
    """

    query: Query
    profile: Profile
    classification: Classification
    weights: Weights
    signals: frozenset[Signal]
    forced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_fixed_weights(self) -> bool:
        """Whether the weights are the caller's or the classifier's, not those of a class."""
        return "weights" in self.forced or self.classification.weights is not None

    def weighed(self, weights: Weights, note: str) -> Settled:
        """A copy with other weights, and a note that gives the reason."""
        return replace(self, weights=weights, notes=(*self.notes, note))


def settle(
    query: Query, configuration: Configuration, profile: Profile, choices: Choices = NOTHING_FORCED
) -> Settled:
    """The question with its class and weights: the caller's choice, else the profile's."""
    classification = classified(query, configuration, profile, choices)
    return settled_as(classification, query, profile, choices)


def classified(
    query: Query, configuration: Configuration, profile: Profile, choices: Choices
) -> Classification:
    """The caller's class, else the classifier's; the bypass gives all weight to keywords."""
    if choices.query_class is not None:
        return Classification(choices.query_class, "asked for by the caller", 1.0)
    model = query_model()
    classification = classify_by(profile.classifier, query, configuration.rules, model)
    if profile.bypass and matches(profile.bypass, query.original):
        return replace(classification, rule="goes to the keywords alone", weights=KEYWORDS_ALONE)
    return classification


def settled_as(
    classification: Classification,
    query: Query,
    profile: Profile,
    choices: Choices = NOTHING_FORCED,
) -> Settled:
    """The question with the weights for a query of this class."""
    by_class = profile.weights[classification.query_class]
    weights = choices.weights or classification.weights or by_class
    return Settled(
        query,
        profile,
        classification,
        weights,
        _signals(query, profile, weights),
        choices.forced,
        (classification.note,) if classification.note else (),
    )


def _signals(query: Query, profile: Profile, weights: Weights) -> frozenset[Signal]:
    """The signals to run for a query under these weights.

    A bare identifier needs no vector (ADR 2) under our own rules. The seed systems embed every
    query that their bypass does not match, and so do their profiles.
    """
    optional = {signal for signal in OPTIONAL if weights.of(signal) > 0}
    for part in registry.installed():
        if part.signal in optional:
            optional |= part.companions(profile)
    ours = profile.classifier is Classifier.RULES and weights.keyword > 0
    by_meaning = weights.vector > 0 and not (ours and query.needs_no_embedding)
    meaning = {Signal.VECTOR} if by_meaning else set()
    return frozenset((set(NORMALISED) - {Signal.VECTOR}) | optional | meaning)
