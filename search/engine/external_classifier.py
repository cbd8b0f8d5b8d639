"""A third party's query classifier: with a time limit, a circuit breaker, a cache and checks."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from common.circuit_breaker import CircuitBreaker, TimedOut, TimeLimited
from search.domain import Classification, Query, QueryClass, Weights
from search.query.classifiers import QueryModel
from search.query.rule_classifier import FALLBACK_CONFIDENCE, FALLBACK_RULE

logger = logging.getLogger(__name__)


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
