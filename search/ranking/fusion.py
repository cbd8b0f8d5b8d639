"""Q5: strengths and weights -> scores: linear, reciprocal rank fusion, CombMNZ, maximum.

Linear fusion scores every candidate on every signal over the union of all candidates (ADR 0006).
RRF (Cormack, Clarke & Buettcher, SIGIR 2009) sums weight / (k + rank). CombMNZ and max (Fox &
Shaw, TREC-2 1994) multiply the sum by the number of signals that matched the candidate, and take
its largest part. `combined` returns scores, `combination` one candidate's score as a tree.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from search.domain import (
    SIGNALS,
    Booleans,
    Combination,
    Contribution,
    Floats,
    Fusion,
    Leaf,
    Node,
    Operation,
    Profile,
    Signal,
)

RRF_K = 60  # Cormack 2009; ranks from 1

# These run, and appear in a score, only if they have a weight.
OPTIONAL = (Signal.RECENCY, Signal.SYNONYM)
# These score every chunk; for the others a score of 0 means no match.
ALWAYS_FIND = (Signal.VECTOR, Signal.RECENCY)

VECTOR, KEYWORD = SIGNALS.index(Signal.VECTOR), SIGNALS.index(Signal.KEYWORD)


def combined(strengths: Floats, finds: Booleans, shares: Floats, profile: Profile) -> Floats:
    """The scores before boosts, a row a query.

    `strengths` and `finds` have an array for each signal, `shares` the weights, a row a query.
    """
    weights = shares.T[:, :, None]
    parts = weights * strengths
    if profile.fusion is Fusion.MAX:
        # An optional signal without a weight does not run, and is excluded.
        shown = [i for i, s in enumerate(SIGNALS) if s not in OPTIONAL or shares[:, i].any()]
        return np.asarray(parts[shown].max(axis=0))
    total: Floats = parts.sum(axis=0)
    if profile.fusion is Fusion.COMBMNZ:
        return np.asarray(total * ((weights > 0) & finds).sum(axis=0))
    if profile.fusion is Fusion.RRF and profile.both_factor != 1:
        return np.where(found_by_both(finds), total * profile.both_factor, total)
    return total


def combination(
    parts: tuple[Contribution, ...], found: Collection[Signal], profile: Profile
) -> Node:
    """One candidate's score before boosts, as a tree; `found`: the signals that matched it."""
    if profile.fusion is Fusion.MAX:
        return Combination("largest part", Operation.LARGEST, parts)
    total = Combination("sum of the parts", Operation.SUM, parts)
    if profile.fusion is Fusion.COMBMNZ:
        counting = sum(1 for part in parts if part.weight > 0 and part.signal in found)
        factor = Leaf("signals that found it", float(counting))
        return Combination("sum times signals", Operation.PRODUCT, (total, factor))
    both = Signal.VECTOR in found and Signal.KEYWORD in found
    if profile.fusion is Fusion.RRF and both and profile.both_factor != 1:
        factor = Leaf("found by meaning and by keywords", profile.both_factor)
        return Combination("sum of the parts, twice found", Operation.PRODUCT, (total, factor))
    return total


def found_by_both(finds: Booleans) -> Booleans:
    """Whether the vector and the keyword signal both matched each candidate."""
    both: Booleans = finds[VECTOR] & finds[KEYWORD]
    return both


def reciprocal_ranks(scores: Floats, signal: Signal, k: int) -> Floats:
    """1 / (k + rank) for each score; 0 for a score that means no match."""
    values = np.empty(len(scores))
    values[np.argsort(-scores, kind="stable")] = 1 / (k + 1 + np.arange(len(scores)))
    return values if signal in ALWAYS_FIND else np.where(scores > 0, values, 0.0)


def shown_signals(ran: Collection[Signal], weighted: Collection[Signal]) -> Sequence[Signal]:
    """The signals shown in a score: optional ones only if they ran or have a weight."""
    return [s for s in SIGNALS if s not in OPTIONAL or s in ran or s in weighted]
