"""Candidates -> the displayed ranking, with the reranker's share of its first results (ADR
41).

A live search requests the strengths of its own first results. Candidate sets that several profiles
rank have the strengths of all passages that are likely to come first under any of them, requested
once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from ingestion.embedding.protocol import encodable
from ingestion.models import Chunk
from ingestion.models.collection_access import Viewer
from search.domain import Candidates, Profile, Stage, Weights
from search.engine import Choices, Request
from search.engine.batch_ranking import Ranking, ranking_of
from search.engine.configuration import Configuration
from search.engine.read import Question
from search.engine.settle_class_and_weights import Settled, settle
from search.errors import RerankerUnavailable
from search.ranking.reranking import FIRST, RerankerInput

logger = logging.getLogger(__name__)

# Most cross-encoders read 512 tokens of question and passage together: about 2,000 characters of
# English. Further ones cost time alone.
PASSAGE_CHARS, QUERY_CHARS = 2_000, 1_000
NOT_SET_UP = (
    "No reranker is set up. Set RERANKER_URL or RERANKER=sentences, or the profile's reranker to 0."
)
# The weights whose first results a wide candidate set covers, besides those of the profiles.
USUAL = (Weights(1, 0, 0), Weights(0, 1, 0), Weights(0.5, 0.5, 0))


class StrengthSource(Protocol):
    """Computes strengths of passages for a question. `fingerprint` differs where strengths may."""

    @property
    def fingerprint(self) -> str: ...

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], patience: float | None = None
    ) -> dict[int, float]:
        """The strength in [0, 1] of each passage, by chunk. Raises RerankerUnavailable.

        `patience`: the seconds to wait in place of a reader's time limit.
        """
        ...


_source: Callable[[], StrengthSource | None] = lambda: None  # noqa: E731  # until a part registers one


def register_reranker(source: Callable[[], StrengthSource | None]) -> None:
    """Register the reranker that searches use; `source` returns None if there is none."""
    global _source
    _source = source


def fingerprint_for(*profiles: Profile) -> str:
    """The fingerprint of the reranker for searches under these profiles; empty without one."""
    reranker = _source() if any(each.rerank for each in profiles) else None
    return reranker.fingerprint if reranker else ""


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
        strengths = _strengths(_available(), candidates.query.text, first, request)
    except RerankerUnavailable as error:
        logger.warning("The results are not reranked: %s", error)
        degraded = (*candidates.degraded, Stage.RERANKER)
        return replace(ranking, candidates=_timed(replace(candidates, degraded=degraded), started))
    candidates = _timed(replace(candidates, reranked=strengths), started)
    return ranking_of(candidates, settled, configuration, group=request.group)


def with_strengths(
    candidates: Candidates,
    profiles: Iterable[Profile],
    configuration: Configuration,
    request: Request,
) -> Candidates:
    """The candidates with the strengths of the passages that may come first under the profiles.

    Covers the first results under each profile's own weights and under USUAL, FIRST passages a
    request. Raises RerankerUnavailable.
    """
    reranker = _available()
    likely: dict[int, float] = {}
    for profile in profiles:
        for weights in (None, *USUAL):
            settled = settle(candidates.query, configuration, profile, Choices(weights=weights))
            hits = ranking_of(candidates, settled, configuration).hits[:FIRST]
            likely |= {hit.chunk_id: hit.score for hit in hits}
    chunks = list(likely)
    strengths: dict[int, float] = {}
    for start in range(0, len(chunks), FIRST):
        part = {chunk: likely[chunk] for chunk in chunks[start : start + FIRST]}
        strengths |= _strengths(reranker, candidates.query.text, part, request)
    return replace(candidates, reranked=strengths)


def _available() -> StrengthSource:
    reranker = _source()
    if reranker is None:
        raise RerankerUnavailable(NOT_SET_UP, is_final=True)
    return reranker


def _strengths(
    reranker: StrengthSource, query: str, scores: Mapping[int, float], request: Request
) -> dict[int, float]:
    passages = _passages(scores, request.viewer)
    if not passages:
        return {}
    text = encodable(query)[:QUERY_CHARS]
    return reranker.strengths(text, passages, request.purpose.patience)


def _passages(scores: Mapping[int, float], viewer: Viewer) -> Sequence[RerankerInput]:
    """The chunks that the viewer may read, in the order of `scores`: title, headings and text."""
    rows = (
        Chunk.objects.visible_to(viewer)
        .filter(pk__in=list(scores))
        .values_list("pk", "document__title", "heading_path", "text")
    )
    texts = {}
    for pk, title, headings, text in rows:
        above = " › ".join(dict.fromkeys([title, *headings]))
        texts[pk] = f"{above}\n{text}"[:PASSAGE_CHARS]
    return [RerankerInput(pk, texts[pk]) for pk in scores if pk in texts]


def _timed(candidates: Candidates, started: float) -> Candidates:
    """The candidates with the milliseconds since `started` as the time of `rerank`."""
    elapsed = (time.perf_counter() - started) * 1000
    before = candidates.milliseconds.get("rerank", 0.0)
    milliseconds = {**candidates.milliseconds, "rerank": before + elapsed}
    return replace(candidates, milliseconds=milliseconds)
