"""The reranker of the settings: its scores are cached, and it rests for a while if it fails."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from django.conf import settings
from django.core.cache import cache

from common import metrics, probes
from common.circuit_breaker import CircuitBreaker, TimedOut, TimeLimited
from common.probes import Finding, Occasion, ok, wrong
from search.errors import RerankerUnavailable
from search.parts.reranker.http import HttpReranker
from search.parts.reranker.local import FastembedReranker, SentenceReranker, model_of_settings
from search.parts.reranker.protocol import Kind, Reranker, RerankerConfig
from search.ranking.rerank import RerankerInput

logger = logging.getLogger(__name__)

# Requests of one process at once; further ones wait for a thread, and time out there. A guess.
WORKERS = 4
# Consecutive failures before the server is paused. A guess.
MAX_FAILURES = 3
# Seconds that a search waits (the sentences of 20 new passages take two on two busy cores), that a
# failing server is left alone, and that strengths are cached. Guesses.
TIMEOUT, PAUSE, TTL = 5.0, 30.0, 24 * 3600
# The longest pause that a server's Retry-After can ask for, in seconds. A guess.
LONGEST_PAUSE = 300.0


class GuardedReranker:
    """A reranker that never takes longer than its time limit, and is not asked twice.

    Strengths are cached by question, chunk and text. `fingerprint` names the model.
    """

    def __init__(self, config: RerankerConfig, reranker: Reranker) -> None:
        self.fingerprint = config.fingerprint
        self._reranker = reranker
        self._circuit = CircuitBreaker(PAUSE, MAX_FAILURES)
        self._calls = TimeLimited("reranker", WORKERS)

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], timeout: float | None = None
    ) -> dict[int, float]:
        """The strength in [0, 1] of each passage, by chunk. Raises RerankerUnavailable.

        `timeout`: the seconds to wait in place of the time limit, for a measurement.
        """
        keys = self._keys(query, passages)
        # A measurement uses no cached strengths: its questions count as new ones.
        cached = _cached(list(keys.values())) if timeout is None else {}
        strengths = {chunk: cached[key] for chunk, key in keys.items() if key in cached}
        missing = [passage for passage in passages if passage.chunk not in strengths]
        for result, number in (("hit", len(strengths)), ("miss", len(missing))):
            metrics.count(metrics.CACHE, number, cache="reranker", result=result)
        if not missing:
            return strengths
        with metrics.timed(metrics.RERANKER_SECONDS, outcome="failed") as labels:
            values = self._read(query, missing, timeout or TIMEOUT)
            labels["outcome"] = "ok"
        read = {passage.chunk: each for passage, each in zip(missing, values, strict=True)}
        _cache({keys[chunk]: strength for chunk, strength in read.items()})
        return strengths | read

    def _read(
        self, query: str, passages: Sequence[RerankerInput], seconds: float
    ) -> Sequence[float]:
        """The strengths by the reranker, unless it is paused after failures."""
        if wait := self._circuit.enter():
            raise RerankerUnavailable(f"The reranker failed and is asked again in {wait:.0f} s.")

        def send(remaining: float) -> Sequence[float]:
            return self._reranker.strengths(query, passages, seconds=remaining)

        try:
            strengths = self._calls.call(send, seconds)
        except TimedOut as late:
            if not late.was_sent:  # the server has not failed
                raise RerankerUnavailable("The reranker has too many questions before.") from late
            error = RerankerUnavailable(f"The reranker did not answer within {seconds:g} s.")
            self._failed(error)
            raise error from late
        except RerankerUnavailable as error:
            self._failed(error)
            raise
        except Exception as error:  # a client's own, as for a key that no header may hold
            logger.warning("The reranker's client failed", exc_info=True)
            failure = RerankerUnavailable(f"The reranker could not be asked: {error!r}.")
            self._failed(failure)
            raise failure from error
        self._circuit.reset()
        return strengths

    def _failed(self, error: RerankerUnavailable) -> None:
        self._circuit.trip(min(error.retry_after or 0.0, LONGEST_PAUSE), is_final=error.is_final)

    def _keys(self, query: str, passages: Sequence[RerankerInput]) -> dict[int, str]:
        """The cache key of each passage, by chunk."""
        common = hashlib.sha256(repr([self.fingerprint, query]).encode())
        keys = {}
        for each in passages:
            key = common.copy()
            key.update(f"{each.chunk}:{each.text}".encode(errors="surrogatepass"))
            keys[each.chunk] = f"rerank:{key.hexdigest()}"
        return keys


def _cached(keys: Sequence[str]) -> Mapping[str, float]:
    """The cached strengths; none if the cache fails."""
    try:
        values = cache.get_many(keys)
    except Exception:  # each cache raises its own errors; none may fail a search
        logger.warning("Cannot read the cache of the reranker", exc_info=True)
        return {}
    return {key: each for key, each in values.items() if isinstance(each, float) and 0 <= each <= 1}


def _cache(strengths: Mapping[str, float]) -> None:
    try:
        cache.set_many(dict(strengths), timeout=TTL)
    except Exception:  # as above
        logger.warning("Cannot write the cache of the reranker", exc_info=True)


def configured() -> RerankerConfig | None:
    """The reranker that the settings describe; None without one. Raises ValueError."""
    kind, _, model = settings.RERANKER.partition(":")
    if kind and kind not in list(Kind):
        raise ValueError(f"RERANKER is “{settings.RERANKER}”: choose one of {', '.join(Kind)}.")
    if kind == Kind.SENTENCES:
        return RerankerConfig(Kind.SENTENCES, model=model_of_settings())
    if kind == Kind.FASTEMBED:
        return RerankerConfig(Kind.FASTEMBED, model=model or settings.RERANKER_MODEL)
    if not settings.RERANKER_URL:
        if kind:
            raise ValueError(f"RERANKER is “{settings.RERANKER}”, but RERANKER_URL is not set.")
        return None
    return RerankerConfig(
        Kind(kind or Kind.COHERE),
        settings.RERANKER_URL,
        settings.RERANKER_MODEL,
        settings.RERANKER_API_KEY,
    )


def current() -> GuardedReranker | None:
    """The reranker of the settings, one for each process; None if none is set up or valid."""
    try:
        config = configured()
    except ValueError as error:
        logger.warning("The reranker's settings are wrong: %s", error)
        return None
    return None if config is None else _made(config)


CLASSES: Mapping[Kind, Callable[[RerankerConfig], Reranker]] = {
    Kind.SENTENCES: SentenceReranker,
    Kind.FASTEMBED: FastembedReranker,
}


@lru_cache(maxsize=4)
def _made(config: RerankerConfig) -> GuardedReranker:
    return GuardedReranker(config, CLASSES.get(config.kind, HttpReranker)(config))


SENTENCE = "Does this model read?"


@probes.register("reranker settings", Occasion.SETTINGS)
def settings_probe() -> Iterator[Finding]:
    """The settings must describe a reranker, or none."""
    try:
        configured()
    except ValueError as error:
        yield wrong(str(error), "docs/operations.md lists the variables of the reranker.", "E012")


@probes.register("reranker", needs="migrations")
def reranker_probe() -> Iterator[Finding]:
    """Findings on whether the reranker answers; none without one."""
    reranker = current()
    if reranker is None:
        return
    try:
        reranker.strengths(SENTENCE, [RerankerInput(0, "It is.")])
        yield ok("it answers")
    except RerankerUnavailable as error:
        yield wrong(str(error), "Check RERANKER and RERANKER_URL.")
