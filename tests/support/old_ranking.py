"""The object-based ranking that preceded the columns: the oracle of this release.

Objects in place of arrays, exact sums in place of rounded ones, one candidate at a time. The tests
compare the kernel (`search.ranking`, `search.engine.rank`) with it; nothing else uses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from statistics import fmean, pstdev
from typing import Self

import numpy as np
import numpy.typing as npt

from ingestion.lexical import signatures
from search.domain import (
    GENERATORS,
    HOLDERS,
    MAX_HOLDERS,
    PINNED,
    WIDE_HALF_LIFE,
    Boost,
    Candidate,
    Candidates,
    Combination,
    Contribution,
    Explanation,
    Fusion,
    IdentifierMatch,
    KeywordScorer,
    Leaf,
    Node,
    Normaliser,
    Operation,
    Profile,
    Query,
    Signal,
    TermStatistic,
    Tier,
    Weights,
)
from search.engine.configuration import Configuration
from search.engine.settle import Settled, leaning_on_meaning
from search.query.language import is_adaptive, leaning_on_keywords, unfamiliar
from search.ranking import applicable, identifiers_lead
from search.ranking.boosts import sought
from search.ranking.confidence import CalibrationModels, Ran
from search.ranking.evidence import KeywordEvidence

Places = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked candidate."""

    candidate: Candidate
    explanation: Explanation
    rank: int

    @property
    def score(self) -> float:
        return self.explanation.score


@dataclass(frozen=True, slots=True)
class Found:
    """A wide candidate set as objects."""

    query: Query
    candidates: tuple[Candidate, ...]
    places: tuple[Places, ...]
    columns: Candidates

    @classmethod
    def of(cls, columns: Candidates) -> Self:
        vectors = iter(columns.embeddings if columns.embeddings is not None else ())
        candidates = tuple(
            replace(
                columns.candidate(row),
                embedding=next(vectors).astype(">f2").tobytes() if embedded else None,
            )
            for row, embedded in enumerate(columns.rows["embedded"].tolist())
        )
        places = tuple(
            {name: int(place) for name, place in zip(GENERATORS, row, strict=True) if place}
            for row in columns.rows["places"]
        )
        return cls(columns.query, candidates, places, columns)


def weigh(
    columns: Candidates,
    settled: Settled,
    configured: Configuration,
    *,
    now: datetime | None = None,
    group: bool = True,
) -> Ranking:
    """The ranking of a wide candidate set that `search.engine.rank.ranking_of` must reproduce."""
    profile, found = settled.profile, Found.of(columns)
    candidates = as_found_by(found, profile, settled.signals, now)
    by_meaning = columns.by_meaning and Signal.VECTOR in settled.signals
    weights = settled.weights
    fixed = "weights" in settled.forced or not is_adaptive(profile)
    unknown = ""
    if by_meaning and not fixed and configured.space is not None:
        unknown = unfamiliar(settled.query.text, columns.readings, configured.space.languages)
    if unknown:
        weights = leaning_on_keywords(weights)
    elif by_meaning:
        weights = leaning_on_meaning(settled, evidence(columns, candidates)).weights
    return confident(
        settled.query,
        candidates,
        columns.terms,
        weights,
        profile,
        options_for(settled, columns.terms),
        configured.calibration,
        group=group,
        by_meaning=by_meaning and not unknown,
    )


def evidence(columns: Candidates, candidates: Sequence[Candidate]) -> KeywordEvidence:
    """The evidence for the weights, from the candidates as objects."""
    scores = [each.raw.get(Signal.KEYWORD, 0.0) for each in candidates]
    matched = sorted((score for score in scores if score > 0), reverse=True)
    fall = 1 - matched[9] / matched[0] if len(matched) > 9 else 1.0
    return KeywordEvidence(len(columns.terms), fall)


def options_for(settled: Settled, terms: Sequence[TermStatistic]) -> RankingOptions:
    profile = settled.profile
    return RankingOptions(
        fusion=profile.fusion,
        normalisers=profile.normalisers,
        rrf_k=profile.rrf_k,
        both_factor=profile.both_factor,
        both_first=profile.both_first,
        own_depth=profile.depth if profile.own_candidates_only else None,
        boosts=applicable(profile.boosts, settled.classification.query_class),
        feedback=profile.feedback,
        identifiers_lead=identifiers_lead(settled.query),
    )


# --- normalise ----------------------------------------------------------------------

Strengths = list[float]
RECIPROCAL_RANK_K = 60  # Cormack, Clarke & Buettcher 2009, as for RRF; ranks from 1


def none(scores: Sequence[float]) -> Strengths:
    """The raw scores themselves, whatever their range: some presets add them unscaled."""
    return list(scores)


def maximum(scores: Sequence[float]) -> Strengths:
    """score / largest score; 0 for scores of 0 or less. The best candidate always gets 1."""
    largest = max(scores, default=0.0)
    if largest <= 0:
        return [0.0] * len(scores)
    return [max(score, 0.0) / largest for score in scores]


def minmax(scores: Sequence[float]) -> Strengths:
    """(score - smallest) / (largest - smallest); all 1 where all are equal and positive."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if high == low:
        return [1.0 if high > 0 else 0.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


def zscore(scores: Sequence[float]) -> Strengths:
    """The normal distribution's share below each score's z: .5 at the mean, .84 one deviation up.

    z alone leaves [0, 1]; its distribution function keeps the order and the distances near
    the mean.
    """
    deviation = pstdev(scores) if scores else 0.0
    if not deviation:
        return [0.5] * len(scores)
    mean = fmean(scores)
    return [0.5 * (1 + math.erf((score - mean) / deviation / math.sqrt(2))) for score in scores]


def reciprocal_rank(scores: Sequence[float]) -> Strengths:
    """(k + 1) / (k + rank), so that rank 1 gets 1; equal scores share a rank; 0 if not found."""
    ranks: dict[float, int] = {}
    for position, score in enumerate(sorted(scores, reverse=True), start=1):
        ranks.setdefault(score, position)
    k = RECIPROCAL_RANK_K
    return [(k + 1) / (k + ranks[score]) if score > 0 else 0.0 for score in scores]


def cosine(scores: Sequence[float]) -> Strengths:
    """(cosine + 1) / 2: a fixed scale, the same for every query."""
    return [min(max((score + 1) / 2, 0.0), 1.0) for score in scores]


NORMALISERS: dict[Normaliser, Callable[[Sequence[float]], Strengths]] = {
    Normaliser.NONE: none,
    Normaliser.MAX: maximum,
    Normaliser.MINMAX: minmax,
    Normaliser.ZSCORE: zscore,
    Normaliser.RECIPROCAL_RANK: reciprocal_rank,
    Normaliser.COSINE: cosine,
}


# --- boosts -------------------------------------------------------------------------


def boosted(score: Node, candidate: Candidate, boosts: Sequence[Boost]) -> Node:
    """The score after all boosts, in their order; the score itself where none applies."""
    for boost in boosts:
        found = candidate.boosts.get(boost.name, 0)
        if not found:
            continue
        leaves = (Leaf(f"boost: {boost.name}", boost.amount),) * found
        operation = Operation.PRODUCT if boost.multiply else Operation.SUM
        score = Combination("boosted", operation, (score, *leaves))
    return score


# --- feedback -----------------------------------------------------------------------

# Three documents were better than two, four, five or ten on six judged collections, and are few
# enough to be relevant (docs/relevance.md).
EXAMPLES = 3
# The precision of half-precision embeddings.
COSINE_DIGITS = 9


def likeness(first: Sequence[Hit]) -> dict[int, float]:
    """Each candidate's mean cosine to the best chunks of the first EXAMPLES documents.

    By chunk id; only for candidates that have an embedding. Empty where no first chunk has one.
    """
    examples: dict[int, Candidate] = {}
    for hit in first:
        if len(examples) == EXAMPLES:
            break
        if hit.candidate.embedding is not None:
            examples.setdefault(hit.candidate.document_id, hit.candidate)
    embedded = [hit.candidate for hit in first if hit.candidate.embedding is not None]
    if not examples:
        return {}
    centre = _vectors(list(examples.values())).mean(axis=0)
    # The number of rows multiplied at a time decides the last bits: rounding keeps equals equal.
    cosines = np.round(_vectors(embedded) @ centre, COSINE_DIGITS)
    return {
        candidate.chunk_id: float(cosine)
        for candidate, cosine in zip(embedded, cosines, strict=True)
    }


def with_feedback(score: Node, cosine: float | None, weight: float) -> Node:
    """The score plus `weight` times the candidate's likeness to the best of the first ranking."""
    if cosine is None:
        return score
    parts = (Leaf("weight of feedback", weight), Leaf("mean cosine", cosine))
    extra = Combination("similarity to the first results", Operation.PRODUCT, parts)
    return Combination("score and feedback", Operation.SUM, (score, extra))


def _vectors(candidates: Sequence[Candidate]) -> np.ndarray:
    """Their embeddings as rows of length 1."""
    rows = [np.frombuffer(candidate.embedding or b"", dtype=">f2") for candidate in candidates]
    vectors = np.stack(rows).astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.maximum(lengths, np.finfo(np.float64).tiny)
    return vectors


# --- tiers --------------------------------------------------------------------------

PLACES = ("title", "heading", "text")
PLAIN = Tier()
# After the others of the same tier: found by only one of meaning and keywords, if that matters.
SECOND = Tier(order=(1.0, 1.0))

HOLDER_FACTOR = 1.1

Explained = tuple[Candidate, Explanation]


def holding(score: Node, match: IdentifierMatch) -> Node:
    """The score of a chunk with an identifier, if identifiers do not lead."""
    leaf = Leaf(f"names {match.form}", HOLDER_FACTOR)
    return Combination("names an identifier", Operation.PRODUCT, (score, leaf))


def tier_of(match: IdentifierMatch | None, *, second: bool = False) -> Tier:
    """The tier of a candidate: full forms before partial ones, then title, heading, text.

    `second`: after the others that have no identifier either.
    """
    if match is None:
        return SECOND if second else PLAIN
    whole = "names" if match.strength >= 1 else "names a part of"
    place = PLACES[min(match.place, len(PLACES) - 1)]
    return Tier(
        order=(0.0, -match.strength, float(match.place)),
        reason=f"its {place} {whole} {match.form}",
    )


def pinned(ranking: Sequence[Explained]) -> list[Explained]:
    """The ranking with the best chunk of each pinned document first, in the order of the pins."""
    best: dict[int, Explained] = {}
    for candidate, explanation in ranking:
        if candidate.pin is not None:
            best.setdefault(candidate.document_id, (candidate, explanation))
    chosen = {candidate.chunk_id for candidate, _ in best.values()}
    first = [
        (candidate, replace(explanation, tier=_pin_tier(candidate)))
        for candidate, explanation in best.values()
    ]
    first.sort(key=lambda pair: (pair[1].tier.order, pair[0].chunk_id))
    return first + [pair for pair in ranking if pair[0].chunk_id not in chosen]


def _pin_tier(candidate: Candidate) -> Tier:
    return Tier(order=(-1.0, float(candidate.pin or 0)), reason="it is pinned to this question")


# --- fusion -------------------------------------------------------------------------

RRF_K = 60  # Cormack 2009; ranks from 1

_LINEAR = {
    Signal.VECTOR: Normaliser.NONE,
    Signal.KEYWORD: Normaliser.MAX,
    Signal.TITLE: Normaliser.NONE,
    Signal.RECENCY: Normaliser.NONE,
    Signal.SYNONYM: Normaliser.MAX,
    Signal.CONCEPT: Normaliser.NONE,
    Signal.WORDNET: Normaliser.MAX,
}
# These run, and appear in a score, only if they have a weight.
OPTIONAL = (Signal.RECENCY, Signal.SYNONYM, Signal.CONCEPT, Signal.WORDNET)
# These score every chunk; with the others a score of 0 means not found.
ALWAYS_FIND = (Signal.VECTOR, Signal.RECENCY)


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """How strengths are made and combined.

    `normalisers` may leave signals out, which then have the default's. RRF multiplies the score
    of candidates found by both meaning and keywords by `both_factor`; `both_first` puts them before
    the rest under any fusion. `own_depth`: a signal counts only for its best so many candidates;
    None for all of the union. `feedback` is the share of the best score that likeness to the first
    results adds. `identifiers_lead`: holding an identifier is a tier; if not, a boost. Raises
    ValueError for an invalid constant.
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

    The order depends on the set of candidates, never on their input order. With relevance feedback
    it is a second ranking, which adds each candidate's likeness to the best of the first.
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
    """The signals that a score lists: the optional ones only if they count or ran."""
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
        return Combination("sum times the factor for both", Operation.PRODUCT, (total, factor))
    return total


def _order(candidate: Candidate, explanation: Explanation) -> tuple[object, ...]:
    keyword = candidate.raw.get(Signal.KEYWORD, 0.0)
    return (explanation.tier.order, -explanation.score, -keyword, candidate.chunk_id)


def strengths_of(
    raw: Sequence[float | None], signal: Signal, options: RankingOptions
) -> list[float]:
    """One signal's strengths in the order of its raw scores; 0 without a score.

    The scores come by chunk id, which breaks ties.
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
    """1 / (k + rank) by each score's rank; 0 for a score that means not found."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    values = [0.0] * len(scores)
    for place, i in enumerate(order, start=1):
        if signal in ALWAYS_FIND or scores[i] > 0:
            values[i] = 1 / (k + place)
    return values


# --- grouping -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """A document's place in a ranking: its best hit, and the hits folded under it, best first.

    `folded` are the other hits of the same document; `copies` hits of other documents whose text is
    a near-duplicate of one in this group.
    """

    best: Hit
    folded: tuple[Hit, ...] = ()
    copies: tuple[Hit, ...] = ()


@dataclass(slots=True)
class _Gathering:
    best: Hit
    folded: list[Hit] = field(default_factory=list)
    copies: list[Hit] = field(default_factory=list)


def grouped(hits: Sequence[Hit], *, max_distance: int) -> tuple[Group, ...]:
    """The groups of a ranking, in the order of their best hits.

    A hit joins its document's group; else that of the best hit before it whose signature differs
    from its own in at most `max_distance` bits; else it starts a group. A pinned hit is never
    folded under another document, nor a hit for one identifier of the query under one for another.
    """
    gatherings: list[_Gathering] = []
    by_document: dict[int, _Gathering] = {}
    signed = np.array([hit.candidate.signature or 0 for hit in hits], dtype=np.int64)
    signatures = signed.view(np.uint64)  # bitwise_count takes a negative's magnitude
    places: list[_Gathering] = []
    for position, hit in enumerate(hits):
        gathering = by_document.get(hit.candidate.document_id)
        if gathering is not None:
            gathering.folded.append(hit)
        else:
            likes = _likes(hits, signatures, position, max_distance)
            original = next((earlier for earlier in likes if _may_fold(hit, hits[earlier])), None)
            if original is not None:
                gathering = places[original]
                gathering.copies.append(hit)
            else:
                gathering = by_document[hit.candidate.document_id] = _Gathering(hit)
                gatherings.append(gathering)
        places.append(gathering)
    return tuple(Group(g.best, tuple(g.folded), tuple(g.copies)) for g in gatherings)


def _likes(
    hits: Sequence[Hit], signatures: npt.NDArray[np.uint64], position: int, max_distance: int
) -> Iterable[int]:
    """The positions before `position` with a signature near its own, in ascending order."""
    if hits[position].candidate.signature is None:
        return ()
    # All at once: a few microseconds for hundreds of hits; bands of bits in dictionaries, as in
    # Manku 2007, take as long in Python.
    distances = np.bitwise_count(signatures[:position] ^ signatures[position])
    near = np.flatnonzero(distances <= max_distance).tolist()
    return (earlier for earlier in near if hits[earlier].candidate.signature is not None)


def _may_fold(hit: Hit, under: Hit) -> bool:
    """Whether a near-duplicate may be folded under the better hit."""
    if hit.candidate.pin is not None:
        return False
    own, other = hit.candidate.identifier, under.candidate.identifier
    return own is None or (other is not None and own.form == other.form)


# --- confidence ---------------------------------------------------------------------

FIRST_PAGE = 10
BM25_BOUND = 2.2
DOUBT = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """A ranking's evidence: the raw scores of its first ten hits.

    `cosine` is the first hit's; `keyword` is its BM25 as a share of the maximum for the query's
    terms, (k1 + 1) * sum of idf. A lead is the difference between the best document of the ten and
    the next, on the same scales. `agreement` is 1 if the best chunks by meaning and by keywords are
    of one document, else 0; `terms` is ln(1 + the number of the query's terms that the library
    knows), as long questions are never covered completely.
    """

    ran: Ran
    cosine: float = 0.0
    cosine_lead: float = 0.0
    keyword: float = 0.0
    keyword_lead: float = 0.0
    agreement: float = 0.0
    terms: float = 0.0

    @classmethod
    def of(
        cls,
        hits: Sequence[Hit],
        terms: Sequence[TermStatistic],
        scorer: KeywordScorer = KeywordScorer.BM25,
        *,
        by_meaning: bool = True,
    ) -> Self | None:
        """The evidence of a whole ranking, one hit per place; None if no signal can be read.

        `by_meaning` False leaves the vectors out: the model does not know the query's language.
        """
        shown = hits[:FIRST_PAGE]
        vector = by_meaning and bool(shown) and Signal.VECTOR in shown[0].candidate.raw
        # The other scorers have other scales, or none.
        keyword = bool(shown) and scorer is KeywordScorer.BM25
        if not (vector or keyword):
            return None
        ran = Ran.BOTH if vector and keyword else Ran.VECTOR if vector else Ran.KEYWORD
        most = BM25_BOUND * math.fsum(term.idf for term in terms) or 1.0
        best = {_best(hits, signal) for signal in (Signal.VECTOR, Signal.KEYWORD)}
        return cls(
            ran=ran,
            cosine=_raw(shown[0], Signal.VECTOR),
            cosine_lead=_lead(shown, Signal.VECTOR),
            keyword=_raw(shown[0], Signal.KEYWORD) / most,
            keyword_lead=_lead(shown, Signal.KEYWORD) / most,
            agreement=float(len(best) == 1 and None not in best),
            terms=math.log1p(len(terms)),
        )


def confidence(
    hits: Sequence[Hit],
    query: Query,
    terms: Sequence[TermStatistic],
    calibration: CalibrationModels | None,
    *,
    scorer: KeywordScorer = KeywordScorer.BM25,
    by_meaning: bool = True,
) -> float | None:
    """The probability, in [0, 1], that one of the first ten of `hits` answers the query.

    `hits` is the whole ranking as shown, one hit per place. None if the space has no calibration,
    or no signal that one reads has run; 0 without hits. A query that is one identifier is answered
    only by hits that hold it, one with a pinned document by that document.
    """
    if calibration is None:
        return None
    if not hits:
        return 0.0
    first = hits[0].candidate
    if first.pin is not None:
        return 1 - DOUBT
    # A name that prose could contain too (VectorStore) may be a topic of text without it.
    if query.is_identifier and (first.identifier or query.needs_no_embedding):
        held = first.identifier.strength if first.identifier else 0.0
        return DOUBT + (1 - 2 * DOUBT) * held
    evidence = Evidence.of(hits, terms, scorer, by_meaning=by_meaning)
    if evidence is None:
        return None
    return calibration.models[evidence.ran].probability(evidence)


def _raw(hit: Hit, signal: Signal) -> float:
    return hit.candidate.raw.get(signal, 0.0)


def _best(hits: Sequence[Hit], signal: Signal) -> int | None:
    """The document of the chunk with the highest score, whatever the order of the hits."""
    best = max(hits, key=lambda hit: (_raw(hit, signal), -hit.candidate.chunk_id))
    return best.candidate.document_id if _raw(best, signal) > 0 else None


def _lead(shown: Sequence[Hit], signal: Signal) -> float:
    """The best document's score minus the next one's; its own if there is no other."""
    best: dict[int, float] = {}
    for hit in shown:
        document = hit.candidate.document_id
        best[document] = max(best.get(document, 0.0), _raw(hit, signal))
    first, second = sorted([*best.values(), 0.0, 0.0], reverse=True)[:2]
    return first - second


# --- the whole ranking ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranking:
    """All hits, their groups (the source of pages), the weights used and the confidence."""

    weights: Weights
    hits: tuple[Hit, ...]
    groups: tuple[Group, ...]
    confidence: float | None = None


def ranked(
    candidates: Sequence[Candidate],
    weights: Weights,
    options: RankingOptions,
    *,
    group: bool = True,
) -> Ranking:
    """The whole ranking; with `group` a document and its near-duplicates share one place."""
    hits = rank(candidates, weights, options)
    if group:
        groups = grouped(hits, max_distance=signatures.MAX_DISTANCE)
    else:
        groups = tuple(map(Group, hits))
    return Ranking(weights, hits, groups)


def confident(
    query: Query,
    candidates: Sequence[Candidate],
    terms: Sequence[TermStatistic],
    weights: Weights,
    profile: Profile,
    options: RankingOptions,
    calibration: CalibrationModels | None,
    *,
    group: bool,
    by_meaning: bool = True,
) -> Ranking:
    """The ranking under `weights`, with its confidence.

    Without `by_meaning` the confidence ignores the vectors.
    """
    ranking = ranked(candidates, weights, options, group=group)
    leading = [each.best for each in ranking.groups]
    sure = confidence(
        leading,
        query,
        terms,
        calibration,
        scorer=profile.keyword_scorer,
        by_meaning=by_meaning,
    )
    return replace(ranking, confidence=sure)


def is_low(sure: float | None, profile: Profile) -> bool:
    """Whether a confidence is below the profile's threshold; an unknown one is not."""
    return sure is not None and sure < profile.confidence_threshold


# --- narrowing a wide candidate set -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reach:
    """The bounds of a search: its depth per signal, and the signals that run."""

    depth: int
    signals: frozenset[Signal]
    vector_only: bool = False

    def brings(self, places: Places) -> bool:
        """Whether the search retrieves a candidate with these places in the wide candidate set."""
        return any(place <= self.limit(finder) for finder, place in places.items())

    def limit(self, finder: str) -> float:
        """The last place of a candidate generator that this search includes."""
        if finder == HOLDERS:
            return max(self.depth, MAX_HOLDERS)
        if finder == PINNED:
            return math.inf
        if self.vector_only and finder != Signal.VECTOR:
            return 0
        return self.depth if Signal(finder) in self.signals else 0


def as_found_by(
    found: Found, profile: Profile, signals: frozenset[Signal], now: datetime | None
) -> tuple[Candidate, ...]:
    """The candidates that a search under the profile retrieves if these signals run."""
    by_meaning = found.columns.by_meaning and Signal.VECTOR in signals
    bounds = Reach(profile.depth, signals, profile.vector_candidates_only and by_meaning)
    fade = recency_of(found, profile, now)
    return tuple(
        _narrowed(candidate, profile.boosts, bounds, by_meaning, fade)
        for candidate, places in zip(found.candidates, found.places, strict=True)
        if bounds.brings(places)
    )


@dataclass(frozen=True, slots=True)
class Fade:
    """The conversion of a wide candidate set's recency to a profile's, as of now."""

    days_since: float
    half_life: float

    def of(self, wide: float) -> float:
        """The recency by the profile's half-life, from that of a wide candidate set."""
        days = -math.log2(wide) * WIDE_HALF_LIFE + self.days_since
        return float(0.5 ** (days / self.half_life))


def recency_of(found: Found, profile: Profile, now: datetime | None) -> Fade:
    """The conversion of this candidate set's recency to the profile's."""
    at = found.columns.at
    since = now - at if now and at else timedelta(0)
    return Fade(since / timedelta(days=1), profile.recency_half_life)


def _narrowed(
    candidate: Candidate, boosts: Sequence[Boost], bounds: Reach, by_meaning: bool, fade: Fade
) -> Candidate:
    raw = {signal: score for signal, score in candidate.raw.items() if signal in bounds.signals}
    if Signal.RECENCY in raw:
        raw[Signal.RECENCY] = fade.of(raw[Signal.RECENCY])
    counts = {boost.name: candidate.boosts.get(sought(boost), 0) for boost in boosts}
    return replace(
        candidate,
        raw=raw,
        boosts={name: count for name, count in counts.items() if count},
        embedding=candidate.embedding if by_meaning else None,
    )
