"""A draft before it is saved: its effect on one query.

Both rankings are of one candidate set, which is cached for the viewer, with the texts shown and
the active ranking: a slider's move runs no search and ranks the draft alone. Viewers get what they
may read; a search of theirs would rank the same.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.core.cache import cache

from ingestion.models import Collection
from ingestion.models.visibility import Viewer
from search.domain import Candidates, Group, Hit, Profile, Query, Stage
from search.engine import Purpose, Request, configuration
from search.engine.configuration import Configuration
from search.engine.find import CandidateBudget, candidates_of
from search.engine.ranking import Ranking, ranking_of
from search.engine.read import Question, read_query
from search.engine.reranker import fingerprint_for, with_strengths
from search.engine.settle import settle
from search.errors import RerankerUnavailable
from search.presentation.records import RecordLookup
from search.presentation.result_rows import Rows
from search.presentation.results import Result, results_for
from search.retrieval import Filters
from search.tuning.candidate_pools import Width
from search.tuning.evaluation.library_stamp import corpus_stamp

TOP_RESULTS = 10
CACHE_SECONDS = 15 * 60
CACHED_HERE = 32
STAMP_SECONDS = 1  # the library's stamp reads every document, and sliders move often
RETRY_SECONDS = 30  # until a reranker that failed is asked again

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PreviewedResult:
    """A result with its rank from 1, and the rank of its document in the other ranking, if any."""

    rank: int
    other: int | None
    result: Result
    counterpart: Hit | None

    @property
    def moved(self) -> int | None:
        """The number of ranks gained against the other ranking; None if it is not there."""
        return None if self.other is None else self.other - self.rank


@dataclass(frozen=True, slots=True)
class PreviewedRanking:
    """One profile's ranking: the displayed results, and the number of all results."""

    profile: Profile
    ranking: Ranking
    places: tuple[PreviewedResult, ...]

    @property
    def total(self) -> int:
        return len(self.ranking.groups)


@dataclass(frozen=True, slots=True)
class Preview:
    """Two rankings of one query, side by side.

    `degraded`: the vector signal could not run; `unread`: the reranker gave no strengths.
    """

    query: Query
    active: PreviewedRanking
    draft: PreviewedRanking
    degraded: bool = False
    unread: bool = False

    @property
    def sides(self) -> tuple[PreviewedRanking, PreviewedRanking]:
        return self.active, self.draft

    @property
    def changed(self) -> int:
        """The number of results shown that the draft moves, adds or removes."""
        removals = sum(place.moved is None for place in self.active.places)
        return removals + sum(place.moved != 0 for place in self.draft.places)


def preview(
    text: str,
    active: Profile,
    draft: Profile,
    *,
    viewer: Viewer,
    collections: Sequence[str] = (),
    configured: Configuration | None = None,
) -> Preview:
    """The active and the draft ranking of `text` for `viewer`.

    Raises QueryTooLong, InvalidFilter, EmptyQuestion.
    """
    configured = configured or configuration.current()
    widths = Width.of(active), Width.of(draft)
    sets = [
        candidates_for(
            text, width, configured, (active, draft), viewer=viewer, collections=collections
        )
        for width in dict.fromkeys(widths)
    ]
    rankings = [
        each.under(profile, configured)
        for each, profile in zip((sets[0], sets[-1]), (active, draft), strict=True)
    ]
    sides = _sides(rankings, (active, draft), sets[0], configured, viewer)
    lacking = {stage for each in sets for stage in each.candidates.degraded}
    if any(each.rerank for each in (active, draft)) and fingerprint_for(active, draft) == "":
        lacking.add(Stage.RERANKER)
    return Preview(
        sets[0].candidates.query,
        *sides,
        degraded=bool(lacking - {Stage.RERANKER}),
        unread=Stage.RERANKER in lacking,
    )


def _sides(
    rankings: Sequence[Ranking],
    profiles: Sequence[Profile],
    cached: CachedCandidates,
    configured: Configuration,
    viewer: Viewer,
) -> tuple[PreviewedRanking, PreviewedRanking]:
    groups = [each.groups for each in rankings]
    heads = [each[:TOP_RESULTS] for each in groups]
    both = [*heads[0], *heads[1]]
    # The rows stay: a passage folded now may be the best of its document after the next move.
    results = results_for(
        both,
        viewer=viewer,
        terms=cached.candidates.terms,
        lookup=RecordLookup.of(cached.candidates.query, configured.patterns),
        cached=cached.rows,
        mark_folded=True,
    )
    by_group = {id(result.group): result for result in results}
    where = [_where(each) for each in groups]
    first, second = (
        PreviewedRanking(
            profiles[i],
            rankings[i],
            tuple(
                _place(rank, group, result, where[1 - i])
                for rank, group in enumerate(heads[i], start=1)
                if (result := by_group.get(id(group))) is not None
            ),
        )
        for i in (0, 1)
    )
    return first, second


def _place(
    rank: int, group: Group[Hit], result: Result, elsewhere: Mapping[int, tuple[int, Hit]]
) -> PreviewedResult:
    other, hit = elsewhere.get(group.best.document_id, (None, None))
    return PreviewedResult(rank, other, result, hit)


def _where(groups: Sequence[Group[Hit]]) -> dict[int, tuple[int, Hit]]:
    """Each document's first place among the groups, with its hit there."""
    places: dict[int, tuple[int, Hit]] = {}
    for rank, group in enumerate(groups, start=1):
        for hit in (group.best, *group.copies):
            places.setdefault(hit.document_id, (rank, hit))
    return places


# --- the cached candidate set --------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class CachedCandidates:
    """A wide candidate set for one viewer, with the texts and the rankings cached since."""

    candidates: Candidates
    rows: Rows = field(default_factory=dict)
    at: float = field(default_factory=time.monotonic)
    _ranked: tuple[tuple[Profile, Ranking], ...] = ()

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.at > CACHE_SECONDS

    def under(self, profile: Profile, configured: Configuration) -> Ranking:
        """The ranking under the profile; the active profile's is cached, as each move of a slider
        needs it.
        """
        cached = next((each for each in self._ranked if each[0] == profile), None)
        ranked = cached or (profile, self._ranking(profile, configured))
        others = [each for each in self._ranked if each is not cached]
        self._ranked = (*others[-1:], ranked)
        return ranked[1]

    def _ranking(self, profile: Profile, configured: Configuration) -> Ranking:
        return ranking_of(
            self.candidates, settle(self.candidates.query, configured, profile), configured
        )


_lock = threading.Lock()
_cached: dict[str, CachedCandidates] = {}


def candidates_for(
    text: str,
    width: Width,
    configured: Configuration,
    profiles: Sequence[Profile] = (),
    *,
    viewer: Viewer,
    collections: Sequence[str] = (),
) -> CachedCandidates:
    """A wide candidate set for `text` among what `viewer` may read, cached briefly, per viewer.

    The reranker's strengths, if the width has them, are of passages likely under `profiles`.
    """
    name = _name(text, width, configured, viewer, collections)
    cached = _cached.get(name)
    if cached is not None and not cached.is_old:
        return cached
    candidates = cache.get(name)
    filters = Filters(collections=tuple(collections))
    request = Request(viewer, filters, purpose=Purpose.TUNER)
    if not isinstance(candidates, Candidates):
        query = read_query(text, configured)
        question = Question(query, request, configured)
        candidates = candidates_of(question, CandidateBudget.everything(width.profile()))
        if candidates.degraded:
            return CachedCandidates(candidates)  # not cached: the model may be back soon
        if width.reranker:
            candidates = _read(candidates, profiles, configured, request)
        if not candidates.degraded:
            cache.set(name, candidates, CACHE_SECONDS)
    cached = CachedCandidates(candidates)
    if candidates.degraded:
        cached.at -= CACHE_SECONDS - RETRY_SECONDS
    with _lock:
        while name not in _cached and len(_cached) >= CACHED_HERE:
            _cached.pop(next(iter(_cached)))
        _cached[name] = cached
    return cached


def _read(
    candidates: Candidates, profiles: Sequence[Profile], configured: Configuration, request: Request
) -> Candidates:
    """The candidates with the reranker's strengths, or named as degraded without them."""
    try:
        return with_strengths(candidates, profiles, configured, request)
    except RerankerUnavailable as error:
        logger.warning("The preview is not reranked: %s", error)
        return replace(candidates, degraded=(Stage.RERANKER,))


def _name(
    text: str, width: Width, configured: Configuration, viewer: Viewer, collections: Sequence[str]
) -> str:
    """A cache key of everything that affects the candidates and what the viewer may see of them."""
    rows = Collection.objects.visible_to(viewer).with_narrower(viewer)
    readable = rows.order_by("pk").values_list("pk", flat=True)
    who = (viewer.pk, viewer.is_staff) if viewer is not None and viewer.is_authenticated else ()
    stamp = cache.get_or_set("library:stamp", corpus_stamp, STAMP_SECONDS)
    key = width.key(configured)
    parts = (text, key, configured.stamp, stamp, who, list(readable), list(collections))
    return "found:" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()
