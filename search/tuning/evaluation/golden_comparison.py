"""The golden set under a profile and its baseline, measured in alternation."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ingestion.errors import EmbeddingError
from search.domain import Profile
from search.engine.embedding import warm_up
from search.errors import RunFailed
from search.tuning.evaluation import measures
from search.tuning.evaluation.asking import NO_MODEL, embedding_time
from search.tuning.evaluation.golden import Answer, Golden, ask, values_of

logger = logging.getLogger(__name__)

# The least number of searches for a profile's latency, and the most rounds to reach it: the p95
# of fewer is noise. A guess that keeps a small set's run within seconds.
LATENCY_SEARCHES, LATENCY_ROUNDS = 60, 5

Look = Callable[[int, int], None]


@dataclass(slots=True)
class Side:
    """One profile's results on the golden set, by query key."""

    profile: Profile
    answers: dict[str, Answer] = field(default_factory=dict)
    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def latency(self) -> dict[str, float]:
        """p50 and p95 over the queries, each by the median of its rounds."""
        return measures.latencies([float(np.median(each)) for each in self.milliseconds.values()])


@dataclass(frozen=True, slots=True)
class Comparison:
    """The golden set under a candidate and, if there is one, its baseline."""

    goldens: tuple[Golden, ...]
    candidate: Side
    baseline: Side | None = None

    @property
    def differences(self) -> dict[str, measures.Interval]:
        """Candidate minus baseline, by measure; empty without a baseline or a measured query."""
        if self.baseline is None or not self.candidate.values:
            return {}
        ours, theirs = self.candidate.values, self.baseline.values
        return {name: measures.difference(ours, theirs, name) for name in measures.NAMES}


def compare(
    goldens: Sequence[Golden],
    candidate: Profile,
    baseline: Profile | None,
    *,
    look: Look = lambda done, total: None,
) -> Comparison:
    """Measure the golden set under both profiles. `look` gets the searches done and their total.

    Raises RunFailed if the embedding model does not answer.
    """
    sides = [Side(candidate), *([Side(baseline)] if baseline else [])]
    rounds = min(LATENCY_ROUNDS, -(-LATENCY_SEARCHES // max(1, len(goldens))))
    total = rounds * len(goldens)
    warm_up()
    for done in range(total):
        look(done, total)
        golden = goldens[done % len(goldens)]
        embedding = _embedding_time(golden)
        # The first search pays for cold caches, so the profiles alternate.
        for turn in range(len(sides)):
            _ask(sides[(done + done // len(goldens) + turn) % len(sides)], golden, embedding)
    for side in sides:
        rankings = {key: answer.ranking for key, answer in side.answers.items()}
        side.values = values_of(goldens, rankings)
    return Comparison(tuple(goldens), sides[0], sides[1] if baseline else None)


def _embedding_time(golden: Golden) -> float | None:
    try:
        return embedding_time(golden.text)
    except EmbeddingError as error:
        # Harmless to a profile without the vector signal; the others' answers are degraded.
        logger.warning("The golden query could not be embedded: %s", error)
        return None


def _ask(side: Side, golden: Golden, embedding: float | None) -> None:
    answer = ask(golden, side.profile, embedding=embedding)
    if answer.degraded:
        raise RunFailed(NO_MODEL)
    side.answers.setdefault(golden.key, answer)
    if not answer.refused:
        side.milliseconds[golden.key].append(answer.milliseconds)
