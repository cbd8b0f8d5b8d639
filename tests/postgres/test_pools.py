"""Pools of golden queries: what they rank is what a search ranks, and they say when it is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from pytest import approx

from common.jobs import claim
from ingestion.models import Document, DocumentVersion
from ingestion.models.versions import State
from search.domain import Boost, Fusion, KeywordScorer, Profile, QueryClass, Signal, Weights
from search.engine import configuration
from search.engine.embed import QueryVector
from search.errors import PoolError
from search.models import Pin, Synonym
from search.pipeline import Choices, search
from search.retrieval import Filters
from search.tuning import candidate_pools as pools
from search.tuning.candidate_pool_building import build, goldens_to_build, refresh
from search.tuning.candidate_pools import Width
from search.tuning.evaluation import measures, whatif
from search.tuning.evaluation.golden_set import ask, golden_set
from search.tuning.evaluation.profile_runs import evaluator
from search.tuning.models import CandidatePool, GoldenQuery, Judgement, PoolBuild
from tests.support.factories import make_document
from tests.support.library import lasting_library
from tests.support.ranking import wide_candidates

pytestmark = pytest.mark.django_db

QUESTIONS = {
    "how does the connection pool stay bounded": "connections", "D40": "regions",
    "what to do when the draught stops": "regions", "timeout of five seconds": "connections",
    "escaping tags": "hostile", "barometer": "logbook", "day 17": "logbook",
    "Urlaub beantragen": "urlaub", "zanzibar": "secret", "gondola": "hostile",
}  # fmt: skip


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_library(django_db_blocker) as filled:
        old = timezone.now() - timedelta(days=400)
        Document.objects.filter(pk=filled.regions.pk).update(created=old)
        Synonym.objects.create(terms=["barometer", "pump"])
        Pin.objects.create(query="barometer", document=filled.urlaub)
        for text, name in QUESTIONS.items():
            query = GoldenQuery.objects.create(text=text)
            judged(query, getattr(filled, name), 3)
            judged(query, filled.logbook, 1)
        yield filled


@pytest.fixture(autouse=True)
def no_progress(clean_cache: None) -> None:
    pools._pools.clear()
    pools._whatifs.clear()


def judged(query: GoldenQuery, document: Document, grade: int) -> None:
    Judgement.objects.update_or_create(
        query=query,
        reference=document.public_id,
        judge_name="judge",
        defaults={"document": document, "grade": grade},
    )


def active() -> Profile:
    return configuration.current().profile()


BOOSTED = (
    Boost("seconds", 1.6, pattern="seconds"),
    Boost("named", 0.2, multiply=False, anchor=r"\b\w{6,}\b"),
    Boost("tables", 1.3, kinds=("table",), query_class=QueryClass.GENERAL),
)
SIGNALS = Weights(0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05)


def variants() -> dict[str, Profile]:
    """The shipped profiles, and what none of them uses."""
    default = active()
    # One of each kind: the others of a kind differ in their weights.
    published = configuration.current().published.values()
    shipped = {profile.name.partition(":")[0]: profile for profile in published}
    return shipped | {
        "boosts": replace(default, boosts=BOOSTED),
        "all signals": replace(default, weights=dict.fromkeys(QueryClass, SIGNALS), feedback=1.0),
        "shallow": replace(default, depth=5, own_candidates_only=True),
        "unsure": replace(default, confidence_threshold=0.95),
        "strict": replace(default, depth=5, vector_candidates_only=True),
        "widened": replace(default, weights=dict.fromkeys(QueryClass, SIGNALS), wordnet_cap=0.1),
        "keywords": replace(default, weights=dict.fromkeys(QueryClass, Weights(0, 1, 0))),
    }


class TestWhatIf:
    def test_ranks_every_golden_query_as_a_search_does(self, library: SimpleNamespace) -> None:
        for name, profile in variants().items():
            build(Width.of(profile))
            held = pools.pooled(profile)
            assert held.coverage.is_complete, name
            outcome = held.whatif.under(profile)
            for place, golden in enumerate(held.goldens):
                live = search(
                    golden.text,
                    viewer=evaluator(),
                    filters=Filters(collections=golden.collections),
                    choices=Choices(snapshot=profile),
                )
                hits = [(hit.candidate.chunk_id, hit.score) for hit in live.hits]
                ranked = outcome.ranking(place)
                assert [chunk for chunk, _ in ranked] == [chunk for chunk, _ in hits], name
                # The recency fades between the two.
                assert [score for _, score in ranked] == approx(
                    [score for _, score in hits], rel=1e-6, abs=1e-7
                ), (name, golden.text)

    def test_measures_what_a_live_evaluation_measures(self, library: SimpleNamespace) -> None:
        profile = active()
        build(Width.of(profile))
        held = pools.pooled(profile)
        outcome = held.whatif.under(profile)
        rankings = {golden.key: ask(golden, profile).ranking for golden in golden_set()}
        live = measures.measure({g.key: g.qrels for g in held.goldens}, rankings)
        for place, golden in enumerate(held.goldens):
            for name in whatif.NAMES:
                assert outcome.values[name][place] == approx(live[golden.key][name], abs=1e-6)
        assert 0.3 < outcome.means()["nDCG@10"] < 1

    def test_measures_a_new_judgement_without_a_new_pool(self, library: SimpleNamespace) -> None:
        profile = active()
        build(Width.of(profile))
        before = pools.pooled(profile).whatif.under(profile).means()
        for query in GoldenQuery.objects.all():
            judged(query, library.urlaub, 3)
        assert pools.pooled(profile).whatif.under(profile).means() != before
        assert goldens_to_build(Width.of(profile), configuration.current()) == []


class TestCoverage:
    @pytest.fixture(autouse=True)
    def built(self, library: SimpleNamespace) -> None:
        build(Width.of(active()))

    @pytest.mark.parametrize(
        "change",
        [
            {"fusion": Fusion.RRF},
            {"depth": 150},
            {"feedback": 0.0},
            {"recency_half_life": 9},
            {"weights": dict.fromkeys(QueryClass, SIGNALS)},
        ],
        ids=str,
    )
    def test_weights_and_sliders_are_covered_by_the_pools(self, change: dict[str, Any]) -> None:
        assert pools.pooled(replace(active(), **change)).coverage.is_complete

    @pytest.mark.parametrize(
        "change",
        [{"depth": 151}, {"boosts": BOOSTED}, {"keyword_scorer": KeywordScorer.OVERLAP}],
        ids=str,
    )
    def test_deeper_retrieval_is_not_covered_by_the_pools(self, change: dict[str, Any]) -> None:
        coverage = pools.pooled(replace(active(), **change)).coverage
        assert (coverage.pooled, coverage.queries) == (0, len(QUESTIONS))
        assert not coverage.is_complete

    def test_a_new_document_makes_the_pools_stale(self, library: SimpleNamespace) -> None:
        make_document(library.regions.collection, "Region F1 is wet.", file_name="f1.md")
        coverage = pools.pooled(active()).coverage
        assert (coverage.pooled, coverage.stale) == (len(QUESTIONS), len(QUESTIONS))
        assert not coverage.is_complete
        assert build(Width.of(active())) == len(QUESTIONS)
        assert pools.pooled(active()).coverage.is_complete

    def test_only_missing_pools_are_built(self) -> None:
        CandidatePool.objects.filter(query__text="gondola").delete()
        seen: list[tuple[int, int]] = []
        width = Width.of(active())
        assert build(width, lambda done, total: seen.append((done, total))) == 1
        assert seen == [(0, 1)]
        assert Width.from_json(width.as_json()) == width

    def test_a_new_pin_asks_for_new_pools(self, library: SimpleNamespace) -> None:
        Pin.objects.create(query="gondola", document=library.urlaub)
        assert pools.pooled(active()).coverage.pooled == 0

    def test_second_builder_leaves_the_work_to_the_first(self) -> None:
        width = Width.of(replace(active(), depth=200))
        key = width.key(configuration.current())
        first, _ = PoolBuild.objects.update_or_create(
            key=key, defaults={"width": width.as_json(), "state": "queued"}
        )
        assert claim(PoolBuild, first.pk) is not None
        assert build(width) == 0

    def test_unreachable_model_fails_the_build_with_a_reason(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        silent = QueryVector(None, (Signal.VECTOR,))
        monkeypatch.setattr("search.engine.find.embed_query", lambda *_: silent)
        profile = replace(active(), depth=200)
        with pytest.raises(PoolError, match="did not answer"):
            build(Width.of(profile))
        assert "did not answer" in pools.pooled(profile).coverage.problem


def test_a_question_that_nothing_can_answer_has_an_empty_candidate_set(
    library: SimpleNamespace,
) -> None:
    found = wide_candidates(
        "title:zanzibarquux barometer", configuration.current(), active(), viewer=None
    )
    assert len(found) == 0
    assert found.is_wide


def test_a_worker_builds_stale_pools_once_all_uploads_are_processed(
    library: SimpleNamespace,
) -> None:
    assert refresh()
    row = PoolBuild.objects.get()
    assert (row.state, Width.from_json(row.width)) == (PoolBuild.State.QUEUED, Width.of(active()))
    build(Width.of(active()))
    assert not refresh()

    added = make_document(library.logbook.collection, "# Sails\n\nReefed twice.", file_name="s.md")
    versions = DocumentVersion.objects.filter(document=added)
    versions.update(state=State.EMBEDDING)
    assert not refresh()
    versions.update(state=State.READY)
    assert refresh()
