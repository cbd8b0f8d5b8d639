"""The reranker that a part registered: its scores of passages for one search or a candidate set.

A live search requests the scores of its own first results. Candidate sets that several profiles
rank have the scores of all passages that are likely to come first under any of them, requested
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from ingestion.embedding.protocol import encodable
from ingestion.models import Chunk
from ingestion.models.visibility import Viewer
from search.domain import Candidates, Profile, Weights
from search.engine import Choices, Request
from search.engine.configuration import Configuration
from search.engine.ranking import ranking_of
from search.engine.settle import settle
from search.errors import RerankerUnavailable
from search.ranking.rerank import FIRST, RerankerInput

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
        self, query: str, passages: Sequence[RerankerInput], timeout: float | None = None
    ) -> dict[int, float]:
        """The strength in [0, 1] of each passage, by chunk. Raises RerankerUnavailable.

        `timeout`: the seconds to wait in place of a reader's time limit.
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
    reranker = available()
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
        strengths |= rerank_scores(reranker, candidates.query.text, part, request)
    return replace(candidates, reranked=strengths)


def available() -> StrengthSource:
    reranker = _source()
    if reranker is None:
        raise RerankerUnavailable(NOT_SET_UP, is_final=True)
    return reranker


def rerank_scores(
    reranker: StrengthSource, query: str, scores: Mapping[int, float], request: Request
) -> dict[int, float]:
    passages = _passages(scores, request.viewer)
    if not passages:
        return {}
    text = encodable(query)[:QUERY_CHARS]
    return reranker.strengths(text, passages, request.purpose.timeout)


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
