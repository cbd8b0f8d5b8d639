"""Q4-Q6: candidates -> the ranking shown, and the confidence that it answers (ADR 17).

`rankings` ranks a batch of questions, without the database: the workbench's what-if, the gate's
figures and the optimiser rank the golden queries with it, and `ranking_of` a live search as a batch
of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext

from ingestion.models.library import language_name
from search.domain import (
    Candidate,
    Candidates,
    Explanation,
    Floats,
    Hit,
    Integers,
    Profile,
    QueryClass,
    Signal,
)
from search.engine.configuration import Configuration
from search.engine.settle import Settled, leaning, leaning_on_meaning, widened
from search.query.language import is_adaptive, other_languages
from search.ranking import Batch, Prepared, Ranked, prepare, rank, reranked
from search.ranking.confidence import confidence
from search.ranking.evidence import KeywordEvidence
from search.ranking.grouping import Group, grouped, leaders
from search.ranking.reranking import FIRST


@dataclass(frozen=True, eq=False)
class Rankings:
    """The rankings of a batch of questions under one profile.

    `settled` are the questions with their final weights. `confidence` is NaN where unknown or not
    requested.
    """

    settled: tuple[Settled, ...]
    ranked: Ranked
    confidence: Floats


def rankings(
    batch: Batch,
    settled: Sequence[Settled],
    configured: Configuration,
    profile: Profile,
    *,
    group: bool = True,
    confident: bool = False,
) -> Rankings:
    """Each question's ranking under the profile, and with `confident` its confidence.

    The reranker's share comes last, where the candidates hold its strengths: the confidence is that
    of the ranking before it. Without `group` hits are not grouped by document.
    """
    leant = tuple(
        leaning(each, held.candidates, configured) if held.by_meaning else each
        for each, held in zip(settled, batch.prepared, strict=True)
    )
    # For a language that the model does not know, the vectors are no evidence of confidence.
    means = [
        held.by_meaning and before is after
        for held, before, after in zip(batch.prepared, settled, leant, strict=True)
    ]
    leant = tuple(
        leaning_on_meaning(each, KeywordEvidence.of(held)) if by_meaning else each
        for each, held, by_meaning in zip(leant, batch.prepared, means, strict=True)
    )
    leant = tuple(
        widened(each, held.candidates, concept=held.matches(Signal.CONCEPT))
        for each, held in zip(leant, batch.prepared, strict=True)
    )
    leant, batch = with_foreign(leant, batch, configured, means)
    ranked = _ranked(batch, leant, profile)
    unknown = np.full(len(settled), np.nan)
    sure = _sureness(ranked, configured, means, group) if confident else unknown
    return _reranked(Rankings(leant, ranked, sure), group)


def _reranked(found: Rankings, group: bool) -> Rankings:
    """The rankings with the reranker's share of the first results' scores."""
    ranked = found.ranked
    if not ranked.profile.rerank:
        return found
    heads = {
        place: shown_columns(held, ranked.columns(place), group=group)[:FIRST]
        for place, held in enumerate(ranked.batch.prepared)
        if held.candidates.reranked
    }
    return replace(found, ranked=reranked(ranked, heads))


def _ranked(batch: Batch, settled: Sequence[Settled], profile: Profile) -> Ranked:
    weights = [each.weights for each in settled]
    return rank(batch, weights, [each.classification.query_class for each in settled], profile)


def _sureness(
    ranked: Ranked, configured: Configuration, means: Sequence[bool], group: bool
) -> Floats:
    """The confidence of each ranking; NaN where unknown."""
    if configured.calibration is None:
        return np.full(len(means), np.nan)
    found = (
        confidence(
            held,
            shown_columns(held, ranked.columns(place), group=group),
            configured.calibration,
            scorer=ranked.profile.keyword_scorer,
            by_meaning=means[place],
            by_words=not led_by_foreign(ranked, place),
        )
        for place, held in enumerate(ranked.batch.prepared)
    )
    return np.array([np.nan if each is None else each for each in found])


def with_foreign(
    settled: Sequence[Settled], batch: Batch, configured: Configuration, means: Sequence[bool]
) -> tuple[tuple[Settled, ...], Batch]:
    """The batch with candidates in another language than their question marked, and notes on it.

    Only where the weights adapt to the question and are the profile's, and where the model knows
    both languages. A lookup's identifiers are the same in every language.
    """
    languages: list[frozenset[str]] = []
    noted = list(settled)
    for place, (each, held) in enumerate(zip(settled, batch.prepared, strict=True)):
        others: frozenset[str] = frozenset()
        adapts = is_adaptive(each.profile) and "weights" not in each.forced
        lookup = each.classification.query_class is QueryClass.LOOKUP
        if adapts and means[place] and not lookup and each.classification.weights is None:
            known = configured.space.languages if configured.space else ("",)
            text, found = each.query.text, held.candidates.languages
            own, others = other_languages(text, found, known)
            if others and held.written_in(others).any():
                note = gettext(
                    "The question is in another language (%(language)s) than some passages: "
                    "they are ranked by meaning alone."
                )
                noted[place] = each.weighed(each.weights, note % {"language": language_name(own)})
        languages.append(others)
    return tuple(noted), batch.with_foreign(languages)


def led_by_foreign(ranked: Ranked, place: int) -> bool:
    """Whether the first hit is in another language, so that words are no evidence about it."""
    columns = ranked.columns(place)
    return len(columns) > 0 and bool(ranked.batch.foreign[place, columns[0]])


def shown_columns(prepared: Prepared, order: Integers, *, group: bool) -> list[int]:
    """The columns shown as results, in ranking order: one per group, or every one."""
    if group:
        return leaders(prepared, order)
    every: list[int] = order.tolist()
    return every


@dataclass(frozen=True, eq=False)
class Ranking:
    """One question's whole ranking: all hits, the same hits grouped for paging, the confidence.

    `settled` has the weights of the ranking.
    """

    settled: Settled
    candidates: Candidates
    hits: tuple[Hit, ...] = field(default=(), repr=False)
    groups: tuple[Group[Hit], ...] = field(default=(), repr=False)
    confidence: float | None = None

    @property
    def documents(self) -> list[int]:
        """The distinct documents, in the order of their best hits."""
        return list(dict.fromkeys(hit.document_id for hit in self.hits))


def ranking_of(
    candidates: Candidates, settled: Settled, configured: Configuration, *, group: bool = True
) -> Ranking:
    """The ranking of a question's candidates, without the database.

    A wide candidate set is first reduced to that of a search under the profile. With `group` each
    document appears once, and near-duplicates are folded.
    """
    prepared = prepare(candidates, settled.profile, settled.signals, timezone.now())
    found = rankings(
        Batch.of([prepared]), [settled], configured, settled.profile, group=group, confident=True
    )
    hits = hits_of(found.ranked)
    order = found.ranked.columns(0)
    by_column = dict(zip(order.tolist(), hits, strict=True))
    if group:
        groups = tuple(_of_hits(each, by_column) for each in grouped(prepared, order))
    else:
        groups = tuple(map(Group, hits))
    sure = float(found.confidence[0])
    return Ranking(
        found.settled[0],
        candidates,
        hits,
        groups,
        None if math.isnan(sure) else sure,
    )


def hits_of(ranked: Ranked, place: int = 0) -> tuple[Hit, ...]:
    """One query's hits, best first, with lazy explanations."""
    prepared, order = ranked.batch.prepared[place], ranked.columns(place)
    source = _Source(ranked, place)
    rows = prepared.candidates.rows[prepared.rows[order]]
    columns = (rows["chunk"].tolist(), rows["document"].tolist(), order.tolist())
    return tuple(
        Hit(chunk, document, at, source, column)
        for at, (chunk, document, column) in enumerate(zip(*columns, strict=True), start=1)
    )


def _of_hits(group: Group[int], hits: dict[int, Hit]) -> Group[Hit]:
    folded, copies = map(hits.__getitem__, group.folded), map(hits.__getitem__, group.copies)
    return Group(hits[group.best], tuple(folded), tuple(copies))


@dataclass(slots=True, eq=False)
class _Source:
    """One query of a ranked batch, as the source of its hits; caches their explanations."""

    ranked: Ranked
    place: int
    _candidates: dict[int, Candidate] = field(default_factory=dict)
    _explanations: dict[int, Explanation] = field(default_factory=dict)

    def candidate(self, column: int) -> Candidate:
        if column not in self._candidates:
            self._candidates[column] = self.ranked.candidate(self.place, column)
        return self._candidates[column]

    def explanation(self, column: int) -> Explanation:
        if column not in self._explanations:
            self._explanations[column] = self.ranked.explanation(self.place, column)
        return self._explanations[column]

    def score(self, column: int) -> float:
        return float(self.ranked.scores[self.place, column])


def is_low(sure: float | None, profile: Profile) -> bool:
    """Whether a confidence is below the profile's threshold; False if unknown."""
    return sure is not None and sure < profile.confidence_threshold
