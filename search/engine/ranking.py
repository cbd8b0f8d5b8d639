"""Candidates -> rankings, and the confidence that they answer (ADR 17). No I/O.

`rank_batch` ranks a batch of questions, without the database: the workbench's what-if, the gate's
figures and the optimiser rank the golden queries with it, and `ranking_of` a live search as a batch
of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from django.conf import settings
from django.utils import timezone

from search.domain import Candidate, Candidates, Explanation, Floats, Group, Hit, Integers, Profile
from search.engine.adjust_weights import adjust
from search.engine.configuration import Configuration
from search.engine.settle import Settled
from search.ranking import (
    Batch,
    Prepared,
    ScoredBatch,
    prepare,
    put_behind,
    score_batch,
    with_rerank,
)
from search.ranking.confidence import confidence
from search.ranking.grouping import grouped, leaders
from search.ranking.rerank import FIRST


@dataclass(frozen=True, eq=False)
class BatchRanking:
    """The rankings of a batch of questions under one profile.

    `settled` are the questions with their final weights. `confidence` is NaN where unknown or not
    requested.
    """

    settled: tuple[Settled, ...]
    ranked: ScoredBatch
    confidence: Floats


def rank_batch(
    batch: Batch,
    settled: Sequence[Settled],
    configuration: Configuration,
    profile: Profile,
    *,
    group: bool = True,
    confident: bool = False,
) -> BatchRanking:
    """Each question's ranking under the profile, with its confidence if `confident`.

    The reranker's share is added last, for candidates with its strengths; the confidence is that of
    the ranking before it. Without `group` hits are not grouped by document.
    """
    weighings = adjust(batch, settled, configuration)
    batch = batch.with_foreign([each.foreign for each in weighings])
    batch = batch.with_titles_first([each.titles_lead for each in weighings])
    # For a language that the model does not know, the vectors are no evidence of confidence.
    means = [each.by_meaning for each in weighings]
    final = tuple(each.settled for each in weighings)
    weights = [each.weights for each in final]
    classes = [each.classification.query_class for each in final]
    ranked = score_batch(batch, weights, classes, profile)
    unknown = np.full(len(settled), np.nan)
    sure = _confidences(ranked, configuration, means, group) if confident else unknown
    # Last: a reranker knows nothing of it.
    return BatchRanking(
        final, put_behind(_with_rerank(ranked), [each.behind for each in weighings]), sure
    )


def _with_rerank(ranked: ScoredBatch) -> ScoredBatch:
    """The ranking with the reranker's share of the first passages' scores."""
    if not ranked.profile.rerank:
        return ranked
    heads = {
        index: ranked.columns(index)[:FIRST].tolist()
        for index, prepared in enumerate(ranked.batch.prepared)
        if prepared.candidates.reranked
    }
    return with_rerank(ranked, heads)


def _confidences(
    ranked: ScoredBatch, configuration: Configuration, means: Sequence[bool], group: bool
) -> Floats:
    """The confidence of each ranking; NaN where unknown."""
    confidences = (
        confidence(
            prepared,
            result_columns(prepared, ranked.columns(index), group=group),
            configuration.background if means[index] else None,
            scorer=ranked.profile.keyword_scorer,
            by_words=not led_by_foreign(ranked, index),
            base_rate=settings.CONFIDENCE_BASE_RATE,
        )
        for index, prepared in enumerate(ranked.batch.prepared)
    )
    return np.array([np.nan if each is None else each for each in confidences])


def led_by_foreign(ranked: ScoredBatch, index: int) -> bool:
    """Whether the first hit is in another language, so that words are no evidence about it."""
    columns = ranked.columns(index)
    return len(columns) > 0 and bool(ranked.batch.foreign[index, columns[0]])


def result_columns(prepared: Prepared, order: Integers, *, group: bool) -> list[int]:
    """The columns shown as results, in ranking order: one per group, or every one."""
    return leaders(prepared, order) if group else [*order.tolist()]


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
    candidates: Candidates, settled: Settled, configuration: Configuration, *, group: bool = True
) -> Ranking:
    """The ranking of a question's candidates, without the database.

    A wide candidate set is first reduced to that of a search under the profile. With `group` each
    document appears once, and near-duplicates are folded.
    """
    prepared = prepare(
        candidates, settled.profile, settled.signals, timezone.now(), configuration.cosine_scale
    )
    ranked = rank_batch(
        Batch.of([prepared]), [settled], configuration, settled.profile, group=group, confident=True
    )
    hits = hits_of(ranked.ranked)
    groups = grouped(prepared, ranked.ranked.columns(0), hits) if group else map(Group, hits)
    sure = float(ranked.confidence[0])
    return Ranking(
        ranked.settled[0], candidates, hits, tuple(groups), None if math.isnan(sure) else sure
    )


def hits_of(ranked: ScoredBatch, index: int = 0) -> tuple[Hit, ...]:
    """One query's hits, best first, with lazy explanations."""
    prepared, order = ranked.batch.prepared[index], ranked.columns(index)
    source = _Source(ranked, index)
    rows = prepared.candidates.rows[prepared.rows[order]]
    columns = (rows["chunk"].tolist(), rows["document"].tolist(), order.tolist())
    return tuple(
        Hit(chunk, document, at, source, column)
        for at, (chunk, document, column) in enumerate(zip(*columns, strict=True), start=1)
    )


@dataclass(slots=True, eq=False)
class _Source:
    """One query of a ranked batch, as the source of its hits; caches their explanations."""

    ranked: ScoredBatch
    index: int
    _candidates: dict[int, Candidate] = field(default_factory=dict)
    _explanations: dict[int, Explanation] = field(default_factory=dict)

    def candidate(self, column: int) -> Candidate:
        if column not in self._candidates:
            self._candidates[column] = self.ranked.candidate(self.index, column)
        return self._candidates[column]

    def explanation(self, column: int) -> Explanation:
        if column not in self._explanations:
            candidate = self.candidate(column)
            self._explanations[column] = self.ranked.explanation(self.index, column, candidate)
        return self._explanations[column]

    def score(self, column: int) -> float:
        return float(self.ranked.scores[self.index, column])
