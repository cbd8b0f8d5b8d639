"""The golden queries' candidate sets, stored: retrieved once, ranked at every move of a slider.

A pool covers a profile that retrieves no more than it holds: the same scorers and configuration,
no greater depth, no other boost patterns, the strengths of its reranker. Sliders rarely leave it;
when a setting does, the pools are rebuilt in the background, and until then `Coverage` says what is
missing. `verified` checks a live run against the what-if of its profile.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext, ngettext

from ingestion.models import Document
from search.domain import Candidates, Profile
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.read import read_query
from search.ranking.boosts import sought
from search.tuning.evaluation.golden import Golden, fingerprint, golden_set, set_hash
from search.tuning.evaluation.sheet import from_facts
from search.tuning.evaluation.whatif import Case, WhatIf
from search.tuning.models import CandidatePool, EvaluationRun, PoolBuild
from search.tuning.workbench.pool_spec import Width, corpus_stamp, digest


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the golden set the pools cover for one profile.

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
    """The part of the golden set that is pooled for a profile."""

    whatif: WhatIf
    goldens: tuple[Golden, ...]
    coverage: Coverage


_lock = threading.Lock()
_pools: dict[tuple[int, object], Candidates] = {}
_whatifs: dict[object, WhatIf] = {}
MAX_HELD = 1_500  # pools in memory: about 0.25 MB each at the usual depth
MAX_WHATIFS = 3


def pooled(
    profile: Profile, goldens: Sequence[Golden] | None = None, corpus: str | None = None
) -> Pooled:
    """The golden set in pools that cover the profile, with its coverage.

    `goldens` and `corpus`, the library's stamp, are read if they are not given.
    """
    configured = configuration.current()
    measured = tuple(golden_set() if goldens is None else goldens)
    width = Width.of(profile)
    key = width.key(configured)
    rows = {row.query_id: row for row in described(key, measured)}
    covered = [golden for golden in measured if covers(rows.get(golden.pk), golden, width)]
    corpus = corpus or corpus_stamp()
    stale = sum(rows[golden.pk].corpus != corpus for golden in covered)
    whatif = _whatif(covered, rows, configured)
    building, problem = _under_way(key)
    coverage = Coverage(len(measured), len(covered), stale, building, problem)
    return Pooled(whatif, tuple(covered), coverage)


def described(key: str, goldens: Sequence[Golden]) -> list[CandidatePool]:
    """The pools of these queries under the key, without their arrays."""
    rows = CandidatePool.objects.filter(key=key, query__in=[golden.pk for golden in goldens])
    return list(rows.defer("rows", "embeddings"))


def covers(row: CandidatePool | None, golden: Golden, width: Width) -> bool:
    """Whether the pool is of the query in its present form, and covers `width`."""
    return (
        row is not None
        and row.asked == asked_by(golden)
        and row.facts["depth"] >= width.depth
        and {sought(boost) for boost in width.boosts} <= set(row.facts["boosts"])
        and width.reranker in ("", row.facts.get("reranker"))
    )


def _whatif(
    goldens: Sequence[Golden], rows: Mapping[int, CandidatePool], configured: Configuration
) -> WhatIf:
    """The what-if of these queries: the cached one while its inputs are unchanged."""
    chosen = [(rows[golden.pk], golden) for golden in goldens]
    name = digest(
        configured.stamp, [(row.pk, row.built, _signature(golden)) for row, golden in chosen]
    )
    with _lock:
        if name not in _whatifs:
            pools = _load([row for row, _ in chosen], goldens, configured)
            documents = _documents(goldens)
            cases = [_case(golden, pools[golden.pk], documents) for golden in goldens]
            while len(_whatifs) >= MAX_WHATIFS:
                _whatifs.pop(next(iter(_whatifs)))
            _whatifs[name] = WhatIf(cases, configured)
        return _whatifs[name]


def _signature(golden: Golden) -> object:
    return golden.pk, golden.query_class, sorted(golden.qrels.items()), golden.must_be_first


def _load(
    described: Sequence[CandidatePool], goldens: Sequence[Golden], configured: Configuration
) -> dict[int, Candidates]:
    """The pools by golden query; only those not in memory are read."""
    texts = {golden.pk: golden.text for golden in goldens}
    missing = [row.pk for row in described if (row.pk, row.built) not in _pools]
    while _pools and len(_pools) + len(missing) > MAX_HELD:
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
    named = {UUID(public) for golden in goldens for public in golden.qrels}
    named |= {UUID(golden.must_be_first) for golden in goldens if golden.must_be_first}
    rows = Document.objects.filter(public_id__in=named).values_list("public_id", "pk")
    return {str(public): pk for public, pk in rows}


def _case(golden: Golden, pool: Candidates, documents: Mapping[str, int]) -> Case:
    return Case(
        golden.key,
        pool,
        {documents[public]: grade for public, grade in golden.qrels.items() if public in documents},
        golden.query_class,
        documents.get(golden.must_be_first),
    )


def asked_by(golden: Golden) -> str:
    """A key for the query and its collections."""
    return digest(golden.text, golden.collections)


def _under_way(key: str) -> tuple[float | None, str]:
    """The progress of a build under the key, None without one, and the error of the last."""
    build = PoolBuild.objects.filter(key=key).first()
    if build is None:
        return None, ""
    return (build.progress if build.is_open else None), build.error


AGREES = 1e-6  # what docs/adr/0025-pools-and-what-if.md promises


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether both measure the same, in words. `largest` is a measure's greatest difference.

    Without `largest` they could not be compared, and `said` is the reason.
    """

    said: str
    largest: float | None = None

    @property
    def agrees(self) -> bool:
        return self.largest is not None and self.largest <= AGREES


def verified(run: EvaluationRun) -> Verified:
    """Compare a finished run of the golden set with the what-if of its profile, both as of now."""
    profile, goldens = run.profile.as_profile(), golden_set()
    if fingerprint(profile) != run.fingerprint:
        return Verified(
            gettext("%(profile)s has been saved since: verify it again to compare.")
            % {"profile": run.profile}
        )
    if set_hash(goldens) != run.corpus_hash:
        return Verified(gettext("The judgements have changed since: verify again to compare."))
    pool = pooled(profile, goldens)
    if not pool.coverage.is_complete:
        return Verified(_left_out(pool.coverage))
    measured = [place for place, golden in enumerate(pool.goldens) if golden.is_measured]
    means = pool.whatif.under(profile).means(measured)
    if not means:
        return Verified("")
    largest = max(abs(mean - run.measures[name]) for name, mean in means.items())
    if largest <= AGREES:
        return Verified(gettext("The what-if figures agree with the live run."), largest)
    if profile.rerank:
        return Verified(
            gettext(
                "The what-if figures differ from the live run by up to %(largest)s. The stored "
                "candidates hold the reranker's strengths for the usual first results only; "
                "others keep their scores there. Rebuild the candidates to store those of the "
                "saved weights."
            )
            % {"largest": f"{largest:.2g}"},
            largest,
        )
    return Verified(
        gettext(
            "The what-if figures differ from the live run by up to %(largest)s. The "
            "library has changed during the run, or recency has changed since the "
            "candidates were stored: rebuild the candidates."
        )
        % {"largest": f"{largest:.2g}"},
        largest,
    )


def _left_out(coverage: Coverage) -> str:
    if coverage.pooled < coverage.queries:
        count = coverage.queries - coverage.pooled
        return ngettext(
            "The stored candidates do not cover %(count)d golden query: rebuild them to compare.",
            "The stored candidates do not cover %(count)d golden queries: rebuild them to compare.",
            count,
        ) % {"count": count}
    return gettext(
        "The library has changed since the candidates were stored: rebuild them to compare."
    )
