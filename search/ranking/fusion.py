"""Q5: strengths and weights -> a ranking with its explanations.

Linear fusion scores every candidate on every signal over the union of all candidates
(decision D6). RRF (Cormack, Clarke & Buettcher, SIGIR 2009) sums weight / (k + rank). CombMNZ
and max (Fox & Shaw, TREC-2 1994) multiply the sum by the number of signals that found the
candidate, and take its largest part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from search.domain import (
    Boost,
    Candidate,
    Combination,
    Contribution,
    Explanation,
    Fusion,
    Hit,
    Leaf,
    Node,
    Normaliser,
    Operation,
    Signal,
    Weights,
)
from search.ranking.boosts import boosted
from search.ranking.feedback import likeness, with_feedback
from search.ranking.normalise import NORMALISERS
from search.ranking.tiers import holding, pinned, tier_of

RRF_K = 60  # Cormack 2009; ranks from 1

_LINEAR = {
    Signal.VECTOR: Normaliser.NONE,
    Signal.KEYWORD: Normaliser.MAX,
    Signal.TITLE: Normaliser.NONE,
    Signal.RECENCY: Normaliser.NONE,
    Signal.SYNONYM: Normaliser.MAX,
}
# These run, and show in a score, only where they have a weight.
OPTIONAL = (Signal.RECENCY, Signal.SYNONYM)
# These measure something of every chunk; under the others a score of 0 means not found.
ALWAYS_FIND = (Signal.VECTOR, Signal.RECENCY)


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """How strengths are made and combined.

    `normalisers` may leave signals out, which then have the default's. RRF multiplies the score
    of what both meaning and keywords found by `both_factor`; `both_first` puts it before the rest
    under any fusion. `own_depth`: a signal counts only for its best so many candidates; None for
    all of the union. `feedback` is the share of the best score that likeness to the first results
    is worth. `identifiers_lead`: holding an identifier is a tier; if not, a boost. Raises
    ValueError for a constant that makes no sense.
    """

    fusion: Fusion = Fusion.LINEAR
    normalisers: Mapping[Signal, Normaliser] = field(default_factory=lambda: dict(_LINEAR))
    rrf_k: int = RRF_K
    both_factor: float = 1.0
    both_first: bool = False
    own_depth: int | None = None
    boosts: tuple[Boost, ...] = ()
    feedback: float = 0.0
    identifiers_lead: bool = True

    def __post_init__(self) -> None:
        if self.rrf_k < 1:
            raise ValueError(f"RRF's constant must be 1 or more, not {self.rrf_k}.")
        if self.both_factor < 1:
            raise ValueError(
                f"What both signals found cannot count for less: {self.both_factor} is below 1."
            )
        if not 0 <= self.feedback < math.inf:
            raise ValueError(f"Feedback must weigh 0 or more, not {self.feedback}.")
        if self.own_depth is not None and self.own_depth < 1:
            raise ValueError(f"A signal must count for 1 candidate or more, not {self.own_depth}.")


def rank(
    candidates: Sequence[Candidate], weights: Weights, options: RankingOptions
) -> tuple[Hit, ...]:
    """All candidates, best first: by tier, then score, then keyword score, then chunk id.

    The order depends on the candidates as a set, never on the order in which they came. With
    feedback it is a second ranking, which adds each candidate's likeness to the best of the first.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.chunk_id)
    parts = _contributions(ordered, weights, options)
    hits = _sorted(
        (candidate, _explain(candidate, contributions, options))
        for candidate, contributions in zip(ordered, parts, strict=True)
    )
    cosines = likeness(hits) if options.feedback and weights.vector else {}
    if not cosines:
        return hits
    weight = options.feedback * max(hit.score for hit in hits)
    return _sorted(
        (hit.candidate, _fed_back(hit, cosines.get(hit.candidate.chunk_id), weight)) for hit in hits
    )


def _contributions(
    candidates: Sequence[Candidate], weights: Weights, options: RankingOptions
) -> list[tuple[Contribution, ...]]:
    """Every signal's part of each candidate's score."""
    signals = _signals(candidates, weights)
    raw = {signal: [each.raw.get(signal) for each in candidates] for signal in signals}
    strengths = {signal: strengths_of(raw[signal], signal, options) for signal in signals}
    return [
        tuple(
            Contribution(
                signal, candidate.raw.get(signal), strengths[signal][i], weights.of(signal)
            )
            for signal in signals
        )
        for i, candidate in enumerate(candidates)
    ]


def _sorted(explained: Iterable[tuple[Candidate, Explanation]]) -> tuple[Hit, ...]:
    """The candidates with their ranks."""
    ranking = sorted(explained, key=lambda pair: _order(*pair))
    if any(candidate.pin is not None for candidate, _ in ranking):
        ranking = pinned(ranking)
    return tuple(
        Hit(candidate, explanation, rank=position)
        for position, (candidate, explanation) in enumerate(ranking, start=1)
    )


def _fed_back(hit: Hit, cosine: float | None, weight: float) -> Explanation:
    explanation = hit.explanation
    return replace(explanation, root=with_feedback(explanation.root, cosine, weight))


def _signals(candidates: Sequence[Candidate], weights: Weights) -> tuple[Signal, ...]:
    """The signals that a score speaks of: the optional ones only where they count or ran."""
    ran = {signal for candidate in candidates for signal in candidate.raw}
    return tuple(
        signal
        for signal in Signal
        if signal not in OPTIONAL or signal in ran or weights.of(signal) > 0
    )


def _explain(
    candidate: Candidate, contributions: tuple[Contribution, ...], options: RankingOptions
) -> Explanation:
    found = {
        part.signal
        for part in contributions
        if part.strength > 0 and (part.signal in ALWAYS_FIND or (part.raw or 0) > 0)
    }
    both = {Signal.VECTOR, Signal.KEYWORD} <= found
    root = boosted(_combined(contributions, found, both, options), candidate, options.boosts)
    leading = candidate.identifier if options.identifiers_lead else None
    if candidate.identifier is not None and leading is None:
        root = holding(root, candidate.identifier)
    tier = tier_of(leading, second=options.both_first and not both)
    return Explanation(contributions, tier, root)


def _combined(
    contributions: tuple[Contribution, ...], found: set[Signal], both: bool, options: RankingOptions
) -> Node:
    if options.fusion is Fusion.MAX:
        return Combination("largest part", Operation.LARGEST, contributions)
    total = Combination("sum of the parts", Operation.SUM, contributions)
    if options.fusion is Fusion.COMBMNZ:
        counting = sum(1 for part in contributions if part.weight > 0 and part.signal in found)
        factor = Leaf("signals that found it", float(counting))
        return Combination("sum times signals", Operation.PRODUCT, (total, factor))
    if options.fusion is Fusion.RRF and both and options.both_factor != 1:
        factor = Leaf("found by meaning and by keywords", options.both_factor)
        return Combination("sum of the parts, twice found", Operation.PRODUCT, (total, factor))
    return total


def _order(candidate: Candidate, explanation: Explanation) -> tuple[object, ...]:
    keyword = candidate.raw.get(Signal.KEYWORD, 0.0)
    return (explanation.tier.order, -explanation.score, -keyword, candidate.chunk_id)


def strengths_of(
    raw: Sequence[float | None], signal: Signal, options: RankingOptions
) -> list[float]:
    """One signal's strengths in the order of its raw scores; 0 where it has none.

    The scores come by chunk id, which decides between equals.
    """
    scored = [i for i, score in enumerate(raw) if score is not None]
    held = [score for score in raw if score is not None]
    if options.own_depth is not None:
        best = sorted(range(len(held)), key=lambda i: (-held[i], i))
        kept = sorted(best[: options.own_depth])
        scored, held = [scored[i] for i in kept], [held[i] for i in kept]
    if options.fusion is Fusion.RRF:
        values = _reciprocal_ranks(held, signal, options.rrf_k)
    else:
        normaliser = options.normalisers.get(signal, _LINEAR[signal])
        values = NORMALISERS[normaliser](held)
    strengths = [0.0] * len(raw)
    for position, value in zip(scored, values, strict=True):
        strengths[position] = value
    return strengths


def _reciprocal_ranks(scores: Sequence[float], signal: Signal, k: int) -> list[float]:
    """1 / (k + rank) by each score's place; 0 for a score that means not found (F4-04)."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    values = [0.0] * len(scores)
    for place, i in enumerate(order, start=1):
        if signal in ALWAYS_FIND or scores[i] > 0:
            values[i] = 1 / (k + place)
    return values
