"""Settle a question's class, weights, signals and hidden documents, before retrieval.

The caller's choice comes first, then the profile's bypass, then its classifier. The class that
QUERY_CLASSIFIER names classifies questions that no rule matches (ADR 5, S5-32). What is found may
change the weights once more (`adjust_weights`).
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from common.circuit_breaker import CircuitBreaker, TimedOut, TimeLimited
from ingestion.identifiers import matches
from search.domain import (
    NORMALISED,
    OPTIONAL,
    Classification,
    Classifier,
    Profile,
    Query,
    QueryClass,
    Signal,
    Weights,
)
from search.engine import NOTHING_FORCED, Choices
from search.engine.configuration import Configuration
from search.query.classifiers import QueryModel, classify_by
from search.query.rule_classifier import FALLBACK_CONFIDENCE, FALLBACK_RULE
from search.query.synonyms_and_pins import hidden_from
from search.signals import registry

logger = logging.getLogger(__name__)

KEYWORDS_ALONE = Weights(vector=0, keyword=1, title=0)


@dataclass(frozen=True, slots=True)
class Settled:
    """A question with the parameters of its retrieval and the weights of its ranking.

    `hidden` are the documents that administrators hide from it. `forced` names the caller's
    overrides; `notes` are sentences on why the weights are not the class's.
    """

    query: Query
    profile: Profile
    classification: Classification
    weights: Weights
    signals: frozenset[Signal]
    hidden: frozenset[int] = frozenset()
    forced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def weighed(self, weights: Weights, note: str) -> Settled:
        """A copy with other weights, and a note that gives the reason."""
        return replace(self, weights=weights, notes=(*self.notes, note))


def settle(
    query: Query, configuration: Configuration, profile: Profile, choices: Choices = NOTHING_FORCED
) -> Settled:
    """The question with its class and weights: the caller's choice, else the profile's."""
    classification = classified(query, configuration, profile, choices)
    return settled_as(classification, query, configuration, profile, choices)


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
    configuration: Configuration,
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
        hidden_from(query.original, configuration.hides),
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


# Seconds of the pause after a failure of the model, so that searches do not all wait; a guess.
MODEL_PAUSE = 30.0
# The what-if classifies the golden queries at every move of a slider: answers are cached; a guess.
CACHED_ANSWERS = 5_000

# Seconds that a search waits for the model. A guess.
MODEL_SECONDS = 0.2
_calls = TimeLimited("query-model", workers=4)


class ModelFailed(Exception):
    """The model of QUERY_CLASSIFIER failed, was too slow, or is paused; the message says which."""


class PluggedIn:
    """The model of QUERY_CLASSIFIER, with the time limit, the pause and the cached answers.

    It is made at the first question, in a thread: while it loads, searches go on without it.
    A failing model never fails a search: the question is general, and a note says so.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._model: QueryModel | None = None
        self._making = threading.Lock()
        self._circuit = CircuitBreaker(MODEL_PAUSE)
        self._cached = lru_cache(maxsize=CACHED_ANSWERS)(self._ask)

    def classify(self, query: Query) -> Classification | None:
        """The model's class; None: undecided."""
        try:
            return self._cached(query)
        except ModelFailed:
            general = Classification(QueryClass.GENERAL, FALLBACK_RULE, FALLBACK_CONFIDENCE)
        # Without the reason, which is in the log: it may name the model's address.
        text = gettext("The query classifier did not answer: the question counts as general.")
        return replace(general, note=text)

    def _ask(self, query: Query) -> Classification | None:
        if self._circuit.is_open:
            raise ModelFailed(gettext("it failed just before"))
        try:
            answer = _calls.call(partial(self._classify, query), MODEL_SECONDS)
        except TimedOut:
            text = gettext("it took over %(seconds)s s")
            raise self._failed(text % {"seconds": MODEL_SECONDS}) from None
        except Exception as error:  # other people's code: anything
            name = type(error).__name__
            raise self._failed(f"{name}: {error}", logged=name) from error
        if answer is None or _is_classification(answer):
            classification: Classification | None = answer
            return classification
        raise self._failed(gettext("its answer is not a classification"))

    def _classify(self, query: Query, _seconds: float) -> Any:
        with self._making:
            if self._model is None:
                self._model = import_string(self.path)()
        return self._model.classify(query)

    def _failed(self, reason: str, logged: str = "") -> ModelFailed:
        self._circuit.trip()
        # A classifier's own error may quote the question.
        logger.warning("The query classifier %s was not used: %s", self.path, logged or reason)
        return ModelFailed(reason)


def _is_classification(answer: Any) -> bool:
    if not isinstance(answer, Classification):
        return False
    fields: Any = answer  # its types are those that somebody else's code has put into it
    if not isinstance(fields.query_class, QueryClass) or not isinstance(fields.rule, str):
        return False
    if not isinstance(fields.note, str) or not isinstance(fields.weights, Weights | None):
        return False
    return isinstance(fields.confidence, int | float) and 0 <= fields.confidence <= 1


def query_model() -> QueryModel | None:
    """The model for questions that no rule matches; None if there is no such model."""
    path = settings.QUERY_CLASSIFIER
    return plugged_in(path) if path else None


@lru_cache(maxsize=4)
def plugged_in(path: str) -> PluggedIn:
    """The model at the dotted path, one in each process."""
    return PluggedIn(path)
