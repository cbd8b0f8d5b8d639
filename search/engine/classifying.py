"""Q2: the model that classifies questions without a matching rule (ADR 43, S5-32).

The class that QUERY_CLASSIFIER names, with a time limit. A failing model never fails a search: the
question is general, and a note says so.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from search.domain import Classification, Query, QueryClass, Weights
from search.query.classifiers import QueryModel
from search.query.rule_classifier import FALLBACK_CONFIDENCE, FALLBACK_RULE

logger = logging.getLogger(__name__)

# After a failure the model is not asked for so long, so that searches do not all wait; a guess.
PAUSE_SECONDS = 30.0
# The what-if classifies the golden queries at every move of a slider: answers are kept; a guess.
KEPT_ANSWERS = 5_000

# Bounds the threads that a hanging model can occupy.
_pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="query-model")


class ModelFailed(Exception):
    """The model of QUERY_CLASSIFIER failed, was too slow, or is paused. Says which."""


class PluggedIn:
    """The model of QUERY_CLASSIFIER, with the time limit, the pause and the kept answers.

    It is made at the first question, in a thread: while it loads, searches go on without it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._model: QueryModel | None = None
        self._making = threading.Lock()
        self._paused_until = float("-inf")
        self._kept = lru_cache(maxsize=KEPT_ANSWERS)(self._asked)

    def classify(self, query: Query) -> Classification | None:
        """The model's class; None: undecided. Raises ModelFailed."""
        return self._kept(query)

    def _asked(self, query: Query) -> Classification | None:
        if time.monotonic() < self._paused_until:
            raise ModelFailed(gettext("it failed just before"))
        try:
            # With the context: the ids of the request stand in what the model logs.
            future = _pool.submit(copy_context().run, self._answer, query)
            found: Any = future.result(timeout=settings.QUERY_CLASSIFIER_TIMEOUT)
        except FutureTimeout:
            text = gettext("it took over %(seconds)s s")
            told = text % {"seconds": settings.QUERY_CLASSIFIER_TIMEOUT}
            raise self._failed(told) from None
        except Exception as error:  # other people's code: anything
            name = type(error).__name__
            raise self._failed(f"{name}: {error}", logged=name) from error
        if found is None or _is_classification(found):
            answer: Classification | None = found
            return answer
        raise self._failed(gettext("its answer is no classification"))

    def _answer(self, query: Query) -> Any:
        with self._making:
            if self._model is None:
                self._model = import_string(self.path)()
        return self._model.classify(query)

    def _failed(self, reason: str, logged: str = "") -> ModelFailed:
        self._paused_until = time.monotonic() + PAUSE_SECONDS
        # A classifier's own error may quote the question.
        logger.warning("The query classifier %s was not used: %s", self.path, logged or reason)
        return ModelFailed(reason)


def _is_classification(found: Any) -> bool:
    if not isinstance(found, Classification):
        return False
    given: Any = found  # its types are those that somebody else's code has put into it
    if not isinstance(given.query_class, QueryClass) or not isinstance(given.rule, str):
        return False
    if not isinstance(given.note, str) or not isinstance(given.weights, Weights | None):
        return False
    return isinstance(given.confidence, int | float) and 0 <= given.confidence <= 1


@dataclass(frozen=True, slots=True)
class WithFallback:
    """A plugged-in model; a question is general, with a note, if it fails."""

    first: PluggedIn

    def classify(self, query: Query) -> Classification | None:
        try:
            return self.first.classify(query)
        except ModelFailed:
            general = Classification(QueryClass.GENERAL, FALLBACK_RULE, FALLBACK_CONFIDENCE)
        # Without the reason, which is in the log: it may name the model's address.
        text = gettext("The query classifier did not answer; the question was classified without.")
        return replace(general, note=text)


def query_model() -> QueryModel | None:
    """The model for questions that no rule matches; None without any."""
    path = settings.QUERY_CLASSIFIER
    return WithFallback(plugged_in(path)) if path else None


@lru_cache(maxsize=4)
def plugged_in(path: str) -> PluggedIn:
    """The model at the dotted path, one in each process."""
    return PluggedIn(path)
