"""The golden queries' candidate sets, stored: retrieved once, ranked at every move of a slider.

The pools of a profile have a key of all that decides what is retrieved: its scorers, its depth to
the next of LEVELS, the patterns of its boosts, its reranker, and the configuration. Sliders rarely
leave it; when a setting does, other pools are built in the background, and until then `Coverage`
says what is missing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self
from uuid import UUID

from ingestion.models import Document
from search.domain import (
    GENERATORS,
    OPTIONAL,
    Boost,
    Candidates,
    KeywordScorer,
    Profile,
    TitleScorer,
    row_type,
)
from search.domain.candidates import from_facts
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.read import read_query
from search.engine.reranker import fingerprint_for
from search.ranking.text_boosts import as_json, boost_key, by_criteria, parse_boosts
from search.signals import registry
from search.tuning.evaluation.golden_set import Golden, golden_set
from search.tuning.evaluation.library_stamp import corpus_stamp, digest
from search.tuning.evaluation.whatif import Case, WhatIf
from search.tuning.models import CandidatePool, PoolBuild

# The depths of pools: the first of these that is not below the profile's, so that its depth may
# be raised a little without a rebuild.
LEVELS = (150, 300, 500)


@dataclass(frozen=True, slots=True)
class Width:
    """The specification of a pool: everything in a profile that decides what the database returns.

    `reranker` is the fingerprint of the reranker whose strengths the pool has; empty without one.
    """

    depth: int
    keyword_scorer: KeywordScorer
    keyword_budget: int
    title_scorer: TitleScorer
    boosts: tuple[Boost, ...] = ()
    reranker: str = ""

    @classmethod
    def of(cls, profile: Profile) -> Self:
        return cls(
            next(level for level in LEVELS if level >= profile.depth),
            profile.keyword_scorer,
            profile.keyword_budget,
            profile.title_scorer,
            by_criteria(profile.boosts),
            fingerprint_for(profile),
        )

    def profile(self) -> Profile:
        """A profile for a wide retrieval, with room for greater depths."""
        return Profile(
            "pool",
            1,
            {},
            depth=self.depth,
            keyword_scorer=self.keyword_scorer,
            keyword_budget=self.keyword_budget,
            title_scorer=self.title_scorer,
            boosts=self.boosts,
        )

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "boosts": as_json(self.boosts)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `as_json`."""
        return cls(
            int(value["depth"]),
            KeywordScorer(value["keyword_scorer"]),
            int(value["keyword_budget"]),
            TitleScorer(value["title_scorer"]),
            parse_boosts(value["boosts"]),
            str(value.get("reranker", "")),
        )

    def key(self, configured: Configuration) -> str:
        """A key of everything that affects the candidates and their raw scores.

        With the layout of a stored row: pools of another version of this program are built again.
        """
        space = configured.space
        return digest(
            row_type(0).descr,
            {**asdict(self), "boosts": sorted(map(boost_key, self.boosts))},
            GENERATORS,  # each has a column in a pool
            [signal for signal in OPTIONAL if registry.is_available(signal)],
            (space.pk, space.fingerprint) if space else None,
            configured.patterns,
            configured.synonyms,
            sorted(configured.pins.items()),
            sorted((query, sorted(hidden)) for query, hidden in configured.hides.items()),
        )


@dataclass(frozen=True, slots=True)
class Coverage:
    """The part of the golden set that the pools cover for one profile.

    `stale` of the `pooled` are older than the library's last change. `building` is the progress of
    a running build, in [0, 1]; None without one. `problem` is the error of the last build.
    """

    queries: int
    pooled: int
    stale: int
    building: float | None = None
    problem: str = ""

    @property
    def is_complete(self) -> bool:
        """True if the figures equal those of a live evaluation."""
        return self.pooled == self.queries and not self.stale


@dataclass(frozen=True, slots=True)
class Pooled:
    """The golden queries that have a pool for a profile."""

    whatif: WhatIf
    goldens: tuple[Golden, ...]
    coverage: Coverage


_lock = threading.Lock()
_pools: dict[tuple[int, object], Candidates] = {}
_whatifs: dict[object, WhatIf] = {}
MAX_POOLS = 1_500  # pools in memory: about 0.25 MB each at the usual depth
MAX_WHATIFS = 3


def pooled(
    profile: Profile, goldens: Sequence[Golden] | None = None, corpus: str | None = None
) -> Pooled:
    """The golden set in pools that cover the profile, with its coverage.

    `goldens` and `corpus`, the library's stamp, are read if they are not given.
    """
    configured = configuration.current()
    measured = tuple(golden_set() if goldens is None else goldens)
    key = Width.of(profile).key(configured)
    rows = {row.query_id: row for row in described(key, measured)}
    covered = [golden for golden in measured if covers(rows.get(golden.pk), golden)]
    corpus = corpus or corpus_stamp()
    stale = sum(rows[golden.pk].corpus != corpus for golden in covered)
    whatif = _whatif(covered, rows, configured)
    build = PoolBuild.objects.filter(key=key).first()
    building = build.progress if build and build.is_open else None
    coverage = Coverage(len(measured), len(covered), stale, building, build.error if build else "")
    return Pooled(whatif, tuple(covered), coverage)


def described(key: str, goldens: Sequence[Golden]) -> list[CandidatePool]:
    """The pools of these queries under the key, without their arrays."""
    rows = CandidatePool.objects.filter(key=key, query__in=[golden.pk for golden in goldens])
    return list(rows.defer("rows", "embeddings"))


def covers(row: CandidatePool | None, golden: Golden) -> bool:
    """Whether the pool is for the present form of the query."""
    return row is not None and row.asked == question_key(golden)


def _whatif(
    goldens: Sequence[Golden], rows: Mapping[int, CandidatePool], configured: Configuration
) -> WhatIf:
    """The what-if of these queries: the cached one while its inputs are unchanged."""
    chosen = [(rows[golden.pk], golden) for golden in goldens]
    name = digest(
        configured.stamp,
        [
            (row.pk, row.built, each.query_class, sorted(each.qrels.items()), each.must_be_first)
            for row, each in chosen
        ],
    )
    with _lock:
        if name not in _whatifs:
            pools = _load([row for row, _ in chosen], goldens, configured)
            documents = _documents(goldens)
            cases = [
                Case(
                    golden.key,
                    pools[golden.pk],
                    {documents[pk]: of for pk, of in golden.qrels.items() if pk in documents},
                    golden.query_class,
                    documents.get(golden.must_be_first),
                )
                for golden in goldens
            ]
            while len(_whatifs) >= MAX_WHATIFS:
                _whatifs.pop(next(iter(_whatifs)))
            _whatifs[name] = WhatIf(cases, configured)
        return _whatifs[name]


def _load(
    described: Sequence[CandidatePool], goldens: Sequence[Golden], configured: Configuration
) -> dict[int, Candidates]:
    """The pools by golden query; only those missing in memory are read."""
    texts = {golden.pk: golden.text for golden in goldens}
    missing = [row.pk for row in described if (row.pk, row.built) not in _pools]
    while _pools and len(_pools) + len(missing) > MAX_POOLS:
        _pools.pop(next(iter(_pools)))
    for row in CandidatePool.objects.filter(pk__in=missing).iterator(chunk_size=100):
        query = read_query(texts[row.query_id], configured)
        _pools[row.pk, row.built] = from_facts(
            query, row.facts, bytes(row.rows), bytes(row.embeddings), row.built
        )
    cached = {row.query_id: _pools.get((row.pk, row.built)) for row in described}
    return {query: pool for query, pool in cached.items() if pool is not None}


def _documents(goldens: Sequence[Golden]) -> dict[str, int]:
    """The documents that judgements name, by public id."""
    public_ids = {UUID(public) for golden in goldens for public in golden.qrels}
    public_ids |= {UUID(golden.must_be_first) for golden in goldens if golden.must_be_first}
    rows = Document.objects.filter(public_id__in=public_ids).values_list("public_id", "pk")
    return {str(public): pk for public, pk in rows}


def question_key(golden: Golden) -> str:
    """A key for the query and its collections."""
    return digest(golden.text, golden.collections)
