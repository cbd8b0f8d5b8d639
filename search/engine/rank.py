"""Candidates -> the displayed ranking, with the reranker's share of its first results (ADR 41)."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from search.domain import Candidates, Stage
from search.engine.ranking import Ranking, ranking_of
from search.engine.read import Question
from search.engine.reranker import available, rerank_scores
from search.engine.settle import Settled
from search.errors import RerankerUnavailable
from search.ranking.rerank import FIRST

logger = logging.getLogger(__name__)


def rank(candidates: Sequence[Candidates], question: Question) -> Ranking:
    """The ranking of a question's candidate sets: one set for each profile of its plan, or for all.

    A profile with a reranker costs a query for the texts of passages. If the reranker fails, the
    ranking is the one without it, and its candidates name it in `degraded`.
    """
    settled, mix = question.settled, question.plan.mix
    sets = candidates if len(candidates) == len(settled) else [*candidates] * len(settled)
    rankings = [_rank(one, each, question) for one, each in zip(sets, settled, strict=True)]
    group = question.request.group
    ranking = rankings[0] if mix is None else mix(rankings, group)
    # Has the query as it was searched: relaxed, if it had no match.
    query = ranking.candidates.query
    return replace(ranking, settled=replace(ranking.settled, query=query))


def _rank(candidates: Candidates, settled: Settled, question: Question) -> Ranking:
    """The ranking under one profile, with the reranker's share if the profile has one."""
    request, configuration = question.request, question.configuration
    ranking = ranking_of(candidates, settled, configuration, group=request.group)
    if not settled.profile.rerank or not ranking.hits:
        return ranking
    started = time.perf_counter()
    first = {hit.chunk_id: hit.score for hit in ranking.hits[:FIRST]}
    try:
        strengths = rerank_scores(available(), candidates.query.text, first, request)
    except RerankerUnavailable as error:
        logger.warning("The results are not reranked: %s", error)
        degraded = (*candidates.degraded, Stage.RERANKER)
        return replace(ranking, candidates=_timed(replace(candidates, degraded=degraded), started))
    candidates = _timed(replace(candidates, reranked=strengths), started)
    return ranking_of(candidates, settled, configuration, group=request.group)


def _timed(candidates: Candidates, started: float) -> Candidates:
    """The candidates with the milliseconds since `started` as the time of `rerank`."""
    elapsed = (time.perf_counter() - started) * 1000
    before = candidates.milliseconds.get("rerank", 0.0)
    milliseconds = {**candidates.milliseconds, "rerank": before + elapsed}
    return replace(candidates, milliseconds=milliseconds)
