"""Q5: strengths and weights -> a ranking with its explanations.

Linear fusion scores every candidate on every signal over the union of all candidates
(decision D6). RRF (Cormack, Clarke & Buettcher, SIGIR 2009) sums weight / (k + rank).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from search.domain import (
    Candidate,
    Contribution,
    Explanation,
    Fusion,
    Hit,
    Normaliser,
    Signal,
    Weights,
)
from search.ranking.normalise import NORMALISERS
from search.ranking.tiers import tier_of

RRF_K = 60  # Cormack 2009; ranks from 1

_LINEAR = {
    Signal.VECTOR: Normaliser.NONE,
    Signal.KEYWORD: Normaliser.MAX,
    Signal.TITLE: Normaliser.NONE,
}


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """How strengths are made and combined. Raises ValueError for a constant below 1."""

    fusion: Fusion = Fusion.LINEAR
    normalisers: Mapping[Signal, Normaliser] = field(default_factory=lambda: dict(_LINEAR))
    rrf_k: int = RRF_K

    def __post_init__(self) -> None:
        if self.rrf_k < 1:
            raise ValueError(f"RRF's constant must be 1 or more, not {self.rrf_k}.")


def rank(
    candidates: Sequence[Candidate], weights: Weights, options: RankingOptions
) -> tuple[Hit, ...]:
    """All candidates, best first: by tier, then score, then keyword score, then chunk id.

    The order depends on the candidates as a set, never on the order in which they came.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.chunk_id)
    strengths = {signal: _strengths(ordered, signal, options) for signal in Signal}
    explained = [
        (
            candidate,
            Explanation(
                tuple(
                    Contribution(
                        signal,
                        candidate.raw.get(signal),
                        strengths[signal][position],
                        weights.of(signal),
                    )
                    for signal in Signal
                ),
                tier_of(candidate.identifier),
            ),
        )
        for position, candidate in enumerate(ordered)
    ]
    explained.sort(key=lambda pair: _order(*pair))
    return tuple(
        Hit(candidate, explanation, rank=position)
        for position, (candidate, explanation) in enumerate(explained, start=1)
    )


def _order(candidate: Candidate, explanation: Explanation) -> tuple[object, ...]:
    keyword = candidate.raw.get(Signal.KEYWORD, 0.0)
    return (explanation.tier.order, -explanation.score, -keyword, candidate.chunk_id)


def _strengths(
    candidates: Sequence[Candidate], signal: Signal, options: RankingOptions
) -> list[float]:
    """One signal's strengths, in the candidates' order; 0 where it has no score for one."""
    scored = [i for i, candidate in enumerate(candidates) if signal in candidate.raw]
    scores = [candidates[i].raw[signal] for i in scored]
    if options.fusion is Fusion.RRF:
        values = _reciprocal_ranks(scores, signal, options.rrf_k)
    else:
        values = NORMALISERS[options.normalisers[signal]](scores)
    strengths = [0.0] * len(candidates)
    for position, value in zip(scored, values, strict=True):
        strengths[position] = value
    return strengths


def _reciprocal_ranks(scores: Sequence[float], signal: Signal, k: int) -> list[float]:
    """1 / (k + rank) by each score's place; 0 for a keyword or title score that found nothing."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    values = [0.0] * len(scores)
    for place, i in enumerate(order, start=1):
        if signal is Signal.VECTOR or scores[i] > 0:
            values[i] = 1 / (k + place)
    return values
