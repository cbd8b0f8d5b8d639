"""Candidates of many queries -> their weight-independent values, batched in arrays.

A live search is a batch of one; the workbench and the optimiser rank hundreds of queries
at once. The columns of a query are in tie-breaking order: a stable sort by score is the
ranking.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np

from search.domain import (
    ABSENT,
    SIGNALS,
    Booleans,
    Candidates,
    Floats,
    Fusion,
    Integers,
    Profile,
    Signal,
    brings,
    recency,
)
from search.ranking.cosine_scale import MINILM, CosineScale
from search.ranking.fusion import KEYWORD, NORMALISERS, VECTOR, reciprocal_ranks
from search.ranking.tiers import BEYOND, PLAIN, TITLED, identifiers_lead, tiers_of

TITLE = SIGNALS.index(Signal.TITLE)
ROUNDING = 1e-9  # of a sum of shares
_SCORES_ALL = np.array([signal.traits.scores_all for signal in SIGNALS])


@dataclass(frozen=True, eq=False)
class Prepared:
    """One query's candidates under a profile, independent of its weights.

    `rows` index the candidates. `raw`, `normalised` and `matches` have a column for each signal:
    `raw` is NaN, `normalised` 0 where the signal has no score; `matches` is true if it matched the
    candidate. `cosine_scale` is that of the space, by which its cosines are normalised.
    """

    candidates: Candidates
    rows: Integers
    raw: Floats
    normalised: Floats
    matches: Booleans
    tiers: Integers
    by_meaning: bool
    cosine_scale: CosineScale

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def documents(self) -> Integers:
        """Each candidate's document, as an index into `candidates.documents`."""
        return self.candidates.documents[1][self.rows]

    def written_in(self, codes: Collection[str]) -> Booleans:
        """Whether each candidate's document is in one of these languages, and has a vector."""
        candidates = self.candidates
        places = [place for place, code in enumerate(candidates.languages) if code in codes]
        written = np.isin(candidates.rows["language"][self.rows], places)
        return np.asarray(written & ~np.isnan(self.raw[:, VECTOR]))

    @cached_property
    def has_run(self) -> Booleans:
        """Whether each signal scored any candidate."""
        return np.asarray(~np.isnan(self.raw).all(axis=0))

    @cached_property
    def titled(self) -> Booleans:
        """Whether each candidate's title, or heading, has all words of the query."""
        return np.asarray(self.raw[:, TITLE] > 1 - ROUNDING)

    @cached_property
    def pins(self) -> Integers:
        """Each candidate's place among the pinned ones; ABSENT if not pinned."""
        return self.candidates.rows["pin"][self.rows].astype(np.int64)

    def has_match(self, signal: Signal) -> bool:
        """Whether the signal scored any candidate above 0."""
        return bool((self.raw[:, SIGNALS.index(signal)] > 0).any())

    @cached_property
    def is_pinned(self) -> bool:
        """Whether any candidate is pinned to the query."""
        return bool((self.pins != ABSENT).any())

    @cached_property
    def reranked(self) -> Floats:
        """The reranker's strength of each candidate; NaN for those that it has not read."""
        normalised = self.candidates.reranked
        chunks = self.candidates.rows["chunk"][self.rows].tolist()
        return np.array([normalised.get(chunk, np.nan) for chunk in chunks], np.float64)

    @cached_property
    def embedded(self) -> Booleans:
        """Whether each candidate has an embedding and the vector signal runs."""
        embedded: Booleans = self.candidates.rows["embedded"][self.rows] & self.by_meaning
        return embedded


def prepare(
    candidates: Candidates,
    profile: Profile,
    signals: frozenset[Signal],
    now: datetime | None = None,
    cosine_scale: CosineScale = MINILM,
) -> Prepared:
    """The candidates of a search under the profile with these signals, and their normalised.

    A wide candidate set is reduced to them, with recency as of `now`; any other is used whole.
    """
    rows = candidates.rows
    raw = rows["raw"]
    places = np.arange(len(rows))
    if candidates.is_wide:
        vector_only = (
            profile.vector_candidates_only and candidates.by_meaning and Signal.VECTOR in signals
        )
        places = np.flatnonzero(brings(rows, profile.depth, signals, vector_only=vector_only))
        raw = raw[places]
        raw[:, [i for i, signal in enumerate(SIGNALS) if signal not in signals]] = np.nan
        since = now - candidates.at if now and candidates.at else timedelta(0)
        for i, signal in enumerate(SIGNALS):
            if signal in signals and signal.traits.decays:
                raw[:, i] = recency(raw[:, i], profile.recency_half_life, since)
    normalised = np.zeros(raw.shape)
    for i, signal in enumerate(SIGNALS):
        if signal in signals:
            read = cosine_scale(raw[:, i]) if signal is Signal.VECTOR else raw[:, i]
            normalised[:, i] = normalised_scores(read, signal, profile)
    scores = np.where(np.isnan(raw), 0.0, raw)
    matches = (normalised > 0) & ((scores > 0) | _SCORES_ALL)
    order = np.lexsort((places, -scores[:, KEYWORD]))
    return Prepared(
        candidates,
        places[order],
        raw[order],
        normalised[order],
        matches[order],
        tiers_of(rows[places[order]], leads=identifiers_lead(candidates.query)),
        candidates.by_meaning and Signal.VECTOR in signals,
        cosine_scale,
    )


def prepared_by(profile: Profile) -> object:
    """A key of the profile fields that `prepare` reads: equal if it gives the same result."""
    return (
        profile.depth,
        profile.fusion,
        tuple(sorted(profile.normalisers.items())),
        profile.rrf_k,
        profile.own_candidates_only,
        profile.vector_candidates_only,
        profile.recency_half_life,
    )


def normalised_scores(raw: Floats, signal: Signal, profile: Profile) -> Floats:
    """One signal's normalised in the order of its raw scores; 0 for NaN.

    The scores are in order of chunk id, which breaks ties.
    """
    scored = np.flatnonzero(~np.isnan(raw))
    if profile.own_candidates_only:
        best = np.argsort(-raw[scored], kind="stable")[: profile.depth]
        scored = scored[np.sort(best)]
    normalised = np.zeros(len(raw))
    if profile.fusion is Fusion.RRF:
        normalised[scored] = reciprocal_ranks(raw[scored], signal, profile.rrf_k)
    else:
        normalise = NORMALISERS[profile.normalisers.get(signal, signal.traits.normaliser)]
        normalised[scored] = normalise(raw[scored])
    return normalised


@dataclass(frozen=True, eq=False)
class Batch:
    """Prepared queries side by side: a row a query, a column a candidate.

    `valid` is false beyond a query's candidates. `normalised` and `matches` have an array for each
    signal. `documents` index a query's own documents, `counts` has the matches of each boost by its
    `boost_key`. `foreign` are in another language than the query, which the ranking's caller
    decides: see `with_foreign`.
    """

    prepared: tuple[Prepared, ...]
    valid: Booleans
    normalised: Floats
    matches: Booleans
    tiers: Integers
    documents: Integers
    counts: Mapping[str, Integers]
    foreign: Booleans

    def with_foreign(self, languages: Sequence[Collection[str]]) -> Batch:
        """The batch with the candidates in these languages, by query, marked as foreign."""
        if not any(languages):
            return self
        foreign = np.zeros_like(self.valid)
        for place, (each, codes) in enumerate(zip(self.prepared, languages, strict=True)):
            if codes:
                foreign[place, : len(each)] = each.written_in(codes)
        return replace(self, foreign=foreign)

    def with_titles_first(self, leads: Sequence[bool]) -> Batch:
        """The batch with the candidates whose title has all words of the query before all others of
        their tier, for the queries of which titles lead.
        """
        if not any(leads):
            return self
        tiers = self.tiers.copy()
        for place, each in enumerate(self.prepared):
            if leads[place]:
                row = tiers[place, : len(each)]
                row[(row == PLAIN) & each.titled] = TITLED
        return replace(self, tiers=tiers)

    @classmethod
    def of(cls, prepared: Sequence[Prepared]) -> Batch:
        size = (len(prepared), max(map(len, prepared), default=0) or 1)
        names = dict.fromkeys(name for each in prepared for name in each.candidates.boosts)
        batch = cls(
            tuple(prepared),
            np.zeros(size, np.bool_),
            np.zeros((len(SIGNALS), *size)),
            np.zeros((len(SIGNALS), *size), np.bool_),
            np.full(size, BEYOND, np.int64),
            np.zeros(size, np.int64),
            {name: np.zeros(size, np.int64) for name in names},
            np.zeros(size, np.bool_),
        )
        for place, each in enumerate(prepared):
            batch._write(place, each)
        return batch

    def _write(self, place: int, each: Prepared) -> None:
        count, rows = len(each), each.candidates.rows
        self.valid[place, :count] = True
        self.normalised[:, place, :count] = each.normalised.T
        self.matches[:, place, :count] = each.matches.T
        self.tiers[place, :count] = each.tiers
        self.documents[place, :count] = each.documents
        for i, name in enumerate(each.candidates.boosts):
            self.counts[name][place, :count] = rows["counts"][each.rows, i]
