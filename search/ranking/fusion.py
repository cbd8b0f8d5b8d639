"""Q4-Q6: raw scores -> strengths in [0, 1] -> one score, and the tier that precedes it (ADR 2)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from search.domain import (
    ABSENT,
    OPTIONAL,
    SIGNALS,
    Booleans,
    Candidate,
    Combination,
    Contribution,
    Floats,
    Fusion,
    IdentifierMatch,
    Integers,
    Leaf,
    Node,
    Normaliser,
    Operation,
    Profile,
    Query,
    QueryIdentifier,
    Signal,
    Tier,
)

RECIPROCAL_RANK_K = 60  # Cormack, Clarke & Buettcher 2009, as for RRF; ranks from 1


def none(scores: Floats) -> Floats:
    """The raw scores unchanged, whatever their range: some seed systems add them unscaled."""
    return scores


def maximum(scores: Floats) -> Floats:
    """score / largest score; 0 for scores of 0 or less. The best candidate always gets 1."""
    largest = scores.max(initial=0.0)
    return np.maximum(scores, 0.0) / largest if largest > 0 else np.zeros_like(scores)


def minmax(scores: Floats) -> Floats:
    """(score - smallest) / (largest - smallest); all 1 where all are equal and positive."""
    if not len(scores):
        return scores
    low, high = scores.min(), scores.max()
    if high == low:
        return np.full_like(scores, 1.0 if high > 0 else 0.0)
    return np.asarray((scores - low) / (high - low))


def zscore(scores: Floats) -> Floats:
    """The normal distribution function of each score's z: .5 at the mean, .84 one deviation up.

    z itself is not in [0, 1]; its distribution function preserves the order, and the distances
    near the mean.
    """
    deviation = scores.std() if len(scores) and scores.min() < scores.max() else 0.0
    if not deviation:
        return np.full_like(scores, 0.5)
    z = (scores - scores.mean()) / deviation / math.sqrt(2)
    return np.array([0.5 * (1 + math.erf(each)) for each in z.tolist()])


def reciprocal_rank(scores: Floats) -> Floats:
    """(k + 1) / (k + rank), so that rank 1 gets 1; equal scores share a rank; 0 for no match."""
    above = len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    k = RECIPROCAL_RANK_K
    return np.where(scores > 0, (k + 1) / (k + 1 + above), 0.0)


def cosine(scores: Floats) -> Floats:
    """(cosine + 1) / 2: a fixed scale, the same for every query."""
    return np.clip((scores + 1) / 2, 0.0, 1.0)


NORMALISERS: dict[Normaliser, Callable[[Floats], Floats]] = {
    Normaliser.NONE: none,
    Normaliser.MAX: maximum,
    Normaliser.MINMAX: minmax,
    Normaliser.ZSCORE: zscore,
    Normaliser.RECIPROCAL_RANK: reciprocal_rank,
    Normaliser.COSINE: cosine,
}


RRF_K = 60  # Cormack 2009; ranks from 1

VECTOR, KEYWORD = SIGNALS.index(Signal.VECTOR), SIGNALS.index(Signal.KEYWORD)


# Words that say little about a passage in another language: names and numbers match by chance.
WORDS = tuple(i for i, signal in enumerate(SIGNALS) if signal.traits.reads_words)
FOREIGN_NOTE = "In another language than the question: meaning counts alone."


def meaning_alone(shares: Floats) -> Floats:
    """The weights of candidates in another language: the vector's share takes those of words."""
    moved = shares.copy()
    moved[:, VECTOR] += moved[:, WORDS].sum(axis=1)
    moved[:, WORDS] = 0
    return moved


def combined(
    strengths: Floats, finds: Booleans, shares: Floats, profile: Profile, foreign: Booleans
) -> Floats:
    """The scores before boosts, a row a query.

    `strengths` and `finds` have an array for each signal, `shares` the weights, a row a query.
    `foreign` is true for candidates in another language than the query.
    """
    weights = shares.T[:, :, None]
    if foreign.any():
        weights = np.where(foreign, meaning_alone(shares).T[:, :, None], weights)
    parts = weights * strengths
    if profile.fusion is Fusion.MAX:
        # An optional signal without a weight does not run, and is excluded.
        columns = [i for i, s in enumerate(SIGNALS) if s not in OPTIONAL or shares[:, i].any()]
        return np.asarray(parts[columns].max(axis=0))
    total: Floats = parts.sum(axis=0)
    if profile.fusion is Fusion.COMBMNZ:
        return np.asarray(total * ((weights > 0) & finds).sum(axis=0))
    if profile.fusion is Fusion.RRF and profile.both_factor != 1:
        return np.where(found_by_both(finds), total * profile.both_factor, total)
    return total


def combination(
    parts: tuple[Contribution, ...], matches: Collection[Signal], profile: Profile
) -> Node:
    """One candidate's score before boosts, as a tree; `found`: the signals that matched it."""
    if profile.fusion is Fusion.MAX:
        return Combination("largest part", Operation.LARGEST, parts)
    total = Combination("sum of the parts", Operation.SUM, parts)
    if profile.fusion is Fusion.COMBMNZ:
        counting = sum(1 for part in parts if part.weight > 0 and part.signal in matches)
        factor = Leaf("signals that found it", float(counting))
        return Combination("sum times signals", Operation.PRODUCT, (total, factor))
    both = Signal.VECTOR in matches and Signal.KEYWORD in matches
    if profile.fusion is Fusion.RRF and both and profile.both_factor != 1:
        factor = Leaf("found by meaning and by keywords", profile.both_factor)
        return Combination("sum times the factor for both", Operation.PRODUCT, (total, factor))
    return total


def found_by_both(finds: Booleans) -> Booleans:
    """Whether the vector and the keyword signal both matched each candidate."""
    both: Booleans = finds[VECTOR] & finds[KEYWORD]
    return both


def reciprocal_ranks(scores: Floats, signal: Signal, k: int) -> Floats:
    """1 / (k + rank) for each score; 0 for a score that means no match."""
    values = np.empty(len(scores))
    values[np.argsort(-scores, kind="stable")] = 1 / (k + 1 + np.arange(len(scores)))
    return values if signal.traits.scores_all else np.where(scores > 0, values, 0.0)


def shown_signals(ran: Collection[Signal], weighted: Collection[Signal]) -> Sequence[Signal]:
    """The signals shown in a score: optional ones only if they ran or have a weight."""
    return [s for s in SIGNALS if s not in OPTIONAL or s in ran or s in weighted]


# As `ingestion.identifiers.Place`, in which the heading of the passage's own section is -1.
PLACES = ("title", "heading", "text")
# A candidate's tier as a number: pins are below 0, identifiers from 0, the rest from PLAIN.
# SECOND: matched by only one of meaning and keywords, if `both_first`; BEYOND: no candidate.
PLAIN, SECOND, BEYOND = 1_000_000, 1_000_001, 1_000_002

# The boost for containing a code that the query only mentions. 1.03 to 1.3 perform equally well on
# SciFact (ADR 2).
HOLDER_FACTOR = 1.1
# Symbols and numbers that no ordinary word has: ORA-00942, §75.1725(a), rclcpp::Node, a@b.org.
_DISTINCTIVE = re.compile(r"\d(?:[-/ ]?\d){3}|[_@§.:()\\]|^--")


def identifiers_lead(query: Query) -> bool:
    """Whether candidates with an identifier of the query come before every score.

    True if the query asks for it, or it is distinctive (four digits in a row, or symbols).
    Otherwise it is one word of many (IL-10, D40), and counts as a boost.
    """
    is_lookup = query.is_identifier or query.asks_for_identifiers
    return is_lookup or any(_is_distinctive(identifier) for identifier in query.identifiers)


def _is_distinctive(identifier: QueryIdentifier) -> bool:
    return not identifier.loose and _DISTINCTIVE.search(identifier.text) is not None


def holding(score: Node, match: IdentifierMatch) -> Node:
    """The score of a chunk that contains an identifier which does not lead."""
    leaf = Leaf(f"names {match.form}", HOLDER_FACTOR)
    return Combination("names an identifier", Operation.PRODUCT, (score, leaf))


def tiers_of(rows: npt.NDArray[Any], *, leads: bool) -> Integers:
    """The tier of each candidate without pins: full forms before partial ones, then by place."""
    tiers = np.full(len(rows), PLAIN, np.int64)
    holders = np.flatnonzero(rows["form"] != ABSENT)
    if leads and len(holders):
        strengths, places = rows["strength"][holders], rows["held_at"][holders]
        orders = list(zip((-strengths).tolist(), places.tolist(), strict=True))
        ranks = {order: place for place, order in enumerate(sorted(set(orders)))}
        tiers[holders] = [ranks[order] for order in orders]
    return tiers


def with_pins(tiers: Integers, pins: Integers, documents: Integers, order: Integers) -> Integers:
    """One query's tiers with the best chunk of each pinned document first, in the pins' order."""
    tiers = tiers.copy()
    seen: set[int] = set()
    for column in order[pins[order] != ABSENT].tolist():
        if documents[column] not in seen:
            seen.add(documents[column])
            tiers[column] = pins[column] - PLAIN
    return tiers


def tier(number: int, candidate: Candidate) -> Tier:
    """The candidate's tier with its reason, from the tier's number."""
    match = candidate.identifier
    if number < 0:
        place = float(candidate.pin or 0)
        return Tier(order=(-1.0, place), reason="it is pinned to this question")
    if number < PLAIN and match is not None:
        whole = "names" if match.strength >= 1 else "names a part of"
        order = (0.0, -match.strength, float(match.place))
        if match.place < 0 and match.strength >= 1:
            return Tier(order=order, reason=f"it defines {match.form}")
        where = "heading" if match.place < 0 else PLACES[min(match.place, len(PLACES) - 1)]
        return Tier(order=order, reason=f"its {where} {whole} {match.form}")
    return Tier(order=(1.0, 1.0)) if number == SECOND else Tier()
