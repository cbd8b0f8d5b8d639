"""Searches, pools and measurements with a reranker, against a real server (S5-38, D21; ADR 41).

No cross-encoder exists in a wheel: the server scores by shared words, or misbehaves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from pytest import approx

from common.accounts.models import User
from common.probes import State
from ingestion.embedding import CachedQueryEmbedder
from ingestion.errors import EmbeddingUnavailable
from ingestion.models import Chunk
from ingestion.spaces.metered_embedder import MeteredEmbedder
from search.domain import Profile, QueryClass, RunningExperiment, Stage, Weights
from search.engine import configuration
from search.engine.reranker import PASSAGE_CHARS, USUAL
from search.errors import PoolError, RunFailed
from search.models import SearchProfile
from search.parts.reranker import guarded as part
from search.parts.reranker.guarded import current
from search.pipeline import Choices, SearchResponse, search
from search.ranking.rerank import FIRST
from search.retrieval.filters import Filters
from search.tuning import candidate_pools as pools
from search.tuning import drafts
from search.tuning import workbench_comparison as comparing
from search.tuning import workbench_preview as preview
from search.tuning.candidate_pool_building import build, goldens_to_build
from search.tuning.candidate_pools import Width
from search.tuning.evaluation.golden_set import ask, compare, golden_set
from search.tuning.evaluation.profile_runs import evaluator
from search.tuning.models import CandidatePool, GoldenQuery, Judgement
from tests.support.explanations import recomputed
from tests.support.factories import make_collection, make_document
from tests.support.fake_reranker import Behaviour, FakeReranker, Reply, said, status
from tests.support.fastembed_models import CROSS_ENCODER, random_model
from tests.support.library import lasting_library

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

QUESTION = "what to do when the draught stops"
QUESTIONS = {QUESTION: "regions", "barometer": "logbook", "timeout of five seconds": "connections"}


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_library(django_db_blocker) as filled:
        for text, name in QUESTIONS.items():
            document = getattr(filled, name)
            query = GoldenQuery.objects.create(text=text)
            Judgement.objects.create(
                query=query,
                reference=document.public_id,
                judge_name="j",
                document=document,
                grade=3,
            )
        yield filled


@pytest.fixture(autouse=True)
def nothing_kept(clean_cache: None) -> None:
    pools._pools.clear()
    pools._whatifs.clear()
    preview._cached.clear()


@pytest.fixture
def server(library: SimpleNamespace, settings: Any) -> Iterator[FakeReranker]:
    with FakeReranker() as running:
        settings.RERANKER_URL = running.url
        yield running


def profile(share: float = 0.5, **knobs: Any) -> Profile:
    return replace(configuration.current().profile(), rerank=share, **knobs)


def asked(text: str = QUESTION, share: float = 0.5, **options: Any) -> SearchResponse:
    options = {"viewer": evaluator(), "choices": Choices(snapshot=profile(share))} | options
    return search(text, **options)


def order(response: SearchResponse) -> list[int]:
    return [hit.chunk_id for hit in response.hits]


@pytest.fixture
def reversing(server: FakeReranker) -> FakeReranker:
    """The server that prefers what the search ranks last among its first results."""
    texts = [each.text for each in asked(share=0, page_size=50, group=False).results[:FIRST]]

    def place(query: str, passage: str) -> float:
        found = [i for i, text in enumerate(texts) if text[:200] in passage]
        return (found[0] + 1) / (len(texts) + 1) if found else 0.0

    server.score = place
    return server


class TestSearch:
    def test_share_of_the_reranker_reorders_the_first_results(
        self, reversing: FakeReranker
    ) -> None:
        before, after = asked(share=0), asked(share=1)
        first = order(before)[:FIRST]
        assert len(first) > before.total > 3
        assert order(after)[:FIRST] == first[::-1]
        assert after.degraded == ()
        for hit in asked(share=0.3).hits:
            assert hit.score == approx(recomputed(hit), abs=1e-9)

    def test_one_request_has_the_question_and_the_first_passages(
        self, server: FakeReranker
    ) -> None:
        response = asked()
        (request,) = server.requests
        assert request["query"] == QUESTION
        assert len(request["documents"]) == min(FIRST, len(response.hits)) > response.total
        best = next(r for r in response.results)
        assert any(
            text.startswith(best.title) and best.text[:80] in text for text in request["documents"]
        )
        assert max(map(len, request["documents"])) <= PASSAGE_CHARS
        assert response.milliseconds["rerank"] > 0

    def test_reranker_without_a_share_is_not_asked(self, server: FakeReranker) -> None:
        response = asked(share=0)
        assert server.requests == []
        assert "rerank" not in response.milliseconds

    @pytest.mark.parametrize(("share", "queries"), [(0.0, 4), (0.5, 5)], ids=["off", "on"])
    def test_reranking_costs_one_query_for_the_texts(
        self, server: FakeReranker, django_assert_num_queries: Any, share: float, queries: int
    ) -> None:
        asked(share=share)  # the caches of the configuration and of the embedding
        choices = Choices(snapshot=profile(share))
        with django_assert_num_queries(queries):
            search(QUESTION, viewer=evaluator(), choices=choices)

    def test_a_repeated_question_is_answered_from_the_cache(self, server: FakeReranker) -> None:
        first, second = asked(), asked()
        assert len(server.requests) == 1
        assert order(first) == order(second)

    def test_an_edited_text_is_read_again(self, server: FakeReranker) -> None:
        shelf = make_collection("Edited")
        make_document(shelf, "# Wells\n\nThe draught of a well stops.\n", file_name="wells.md")
        asked()
        (chunk,) = [r.hit.chunk_id for r in asked().results if r.title == "Wells"]
        Chunk.objects.filter(pk=chunk).update(text="The draught of a well never stops.")
        asked()
        assert len(server.requests) == 2
        (text,) = server.requests[-1]["documents"]
        assert "never stops" in text

    def test_a_cache_that_is_down_costs_only_time(
        self, server: FakeReranker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = order(asked())

        def fail(*args: object, **options: object) -> None:
            raise ConnectionError("no cache")

        monkeypatch.setattr(type(cache._connections[cache._alias]), "get_many", fail)  # type: ignore[attr-defined]
        monkeypatch.setattr(type(cache._connections[cache._alias]), "set_many", fail)  # type: ignore[attr-defined]
        response = asked()
        assert (order(response), response.degraded) == (expected, ())

    def test_reranker_gets_only_passages_that_the_reader_may_read(
        self, server: FakeReranker, reader: User
    ) -> None:
        everything = asked("zanzibar")
        assert any("zanzibar" in text.lower() for text in server.requests[-1]["documents"])
        assert everything.total
        server.requests.clear()
        asked("zanzibar", viewer=reader)
        sent = [text for request in server.requests for text in request["documents"]]
        assert not any("zanzibar" in text.lower() for text in sent)

    def test_the_order_depends_on_no_page(self, reversing: FakeReranker) -> None:
        pages = [asked(page=page, page_size=2).results for page in (1, 2, 3)]
        paged = [result.hit.chunk_id for results in pages for result in results]
        whole = asked(page_size=50)
        assert paged == [result.hit.chunk_id for result in whole.results[: len(paged)]]

    def test_the_confidence_is_that_of_the_ranking_before(self, reversing: FakeReranker) -> None:
        assert asked(share=1).confidence == asked(share=0).confidence


FAILURES = {
    "error": status(500),
    "too few": said({"results": [{"index": 0, "relevance_score": 1.0}]}),
    "slow": lambda request: Reply(b"{}", delay=20),
}


class TestFailures:
    @pytest.mark.parametrize("behaviour", FAILURES.values(), ids=FAILURES)
    def test_failures_fall_back_with_a_note_in_time(
        self, server: FakeReranker, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour
    ) -> None:
        monkeypatch.setattr(part, "TIMEOUT", 0.4)
        plain = asked(share=0)
        server.then(behaviour)
        response = asked()
        assert response.degraded == (Stage.RERANKER,)
        assert [(h.chunk_id, h.score) for h in response.hits] == [
            (h.chunk_id, h.score) for h in plain.hits
        ]

    def test_a_dead_server_is_left_alone_then_tried_again(
        self, server: FakeReranker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.then(*[status(500)] * 3)
        assert all(asked().degraded for _ in range(6))
        assert len(server.requests) == 3
        circuit = current()._circuit
        monkeypatch.setattr(circuit, "_clock", lambda: time.monotonic() + part.PAUSE)
        assert asked().degraded == ()
        assert len(server.requests) == 4

    def test_a_key_that_no_header_may_hold_fails_no_search(
        self, server: FakeReranker, settings: Any
    ) -> None:
        settings.RERANKER_API_KEY = "schlüssel\n"
        assert asked().degraded == (Stage.RERANKER,)
        assert server.requests == []

    def test_a_share_without_a_server_is_named(self, library: SimpleNamespace) -> None:
        response = asked()
        assert response.degraded == (Stage.RERANKER,)
        assert order(response) == order(asked(share=0))


def test_an_experiment_asks_for_each_ranking_and_names_a_failure(server: FakeReranker) -> None:
    plain, reranked = profile(0.0), profile(0.5)
    running = RunningExperiment(1, "salt", 1.0, plain, reranked)
    configured = replace(configuration.current(), experiment=running)

    def ask_in_trial() -> SearchResponse:
        return search(QUESTION, viewer=evaluator(), visitor="visitor", configuration=configured)

    response = ask_in_trial()
    assert (len(server.requests), response.degraded) == (1, ())
    assert response.milliseconds["rerank"] > 0
    cache.clear()
    server.then(status(500))
    assert ask_in_trial().degraded == (Stage.RERANKER,)


MIXES = [Weights(0.7, 0.2, 0.1), Weights(0, 1, 0), Weights(1, 0, 0), Weights(0.3, 0.6, 0.1)]


class TestWhatIf:
    def test_what_if_with_stored_scores_ranks_like_a_search(self, server: FakeReranker) -> None:
        """For every share and weight; after the build nobody is asked."""
        build(Width.of(profile()))
        sent = len(server.requests)
        assert sent >= len(QUESTIONS)
        for share in (0.2, 0.5, 1.0):
            for weights in MIXES:
                wished = profile(share, weights=dict.fromkeys(QueryClass, weights))
                held = pools.pooled(wished)
                assert held.coverage.is_complete
                outcome = held.whatif.under(wished)
                assert len(server.requests) == sent
                assert not (weights in USUAL and outcome.unread.any())
                for place, golden in enumerate(held.goldens):
                    if outcome.unread[place]:  # between the usual weights others may come first
                        continue
                    live = search(golden.text, viewer=evaluator(), choices=Choices(snapshot=wished))
                    hits = [(hit.chunk_id, hit.score) for hit in live.hits]
                    ranked = outcome.ranking(place)
                    assert [chunk for chunk, _ in ranked] == [chunk for chunk, _ in hits]
                    assert [score for _, score in ranked] == approx(
                        [score for _, score in hits], rel=1e-6, abs=1e-7
                    )
                sent = len(server.requests)

    def test_pools_without_reranker_scores_do_not_cover_a_share(self, server: FakeReranker) -> None:
        build(Width.of(profile(0.0)))
        assert server.requests == []
        assert pools.pooled(profile(0.0)).coverage.is_complete
        assert pools.pooled(profile(0.1)).coverage.pooled == 0
        assert build(Width.of(profile(0.1))) == len(QUESTIONS)
        for share in (0.0, 0.1, 0.9):
            assert pools.pooled(profile(share)).coverage.is_complete

    def test_missing_reranker_score_makes_the_figures_incomplete(
        self, server: FakeReranker
    ) -> None:
        build(Width.of(profile(0.0)))
        build(Width.of(profile()))
        whole = comparing.compare(profile(0.0), profile(0.5))
        assert (whole.unread, whole.is_complete) == (0, True)
        for row in CandidatePool.objects.all():
            row.facts["reranked"] = row.facts["reranked"][1:]
            row.built += timedelta(seconds=1)
            row.save()
        part = comparing.compare(profile(0.0), profile(0.5))
        assert 0 < part.unread <= len(QUESTIONS)
        assert not part.is_complete
        assert comparing.compare(profile(0.0), profile(0.0)).is_complete

    def test_another_reranker_asks_for_new_pools(self, server: FakeReranker, settings: Any) -> None:
        build(Width.of(profile()))
        settings.RERANKER_MODEL = "another"
        assert pools.pooled(profile()).coverage.pooled == 0

    def test_a_rebuild_reads_for_the_drafts_weights(self, server: FakeReranker) -> None:
        width = Width.of(profile())
        build(width)
        assert goldens_to_build(width, configuration.current()) == []
        active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        draft = drafts.draft_from(active, acting_user=None)
        SearchProfile.objects.filter(pk=draft.pk).update(rerank=0.5)
        assert len(goldens_to_build(width, configuration.current())) == len(QUESTIONS)
        assert pools.pooled(profile()).coverage.is_complete

    def test_unreachable_reranker_fails_the_build_with_a_reason(self, server: FakeReranker) -> None:
        server.then(status(500))
        with pytest.raises(PoolError, match="error 500"):
            build(Width.of(profile()))
        assert "error 500" in pools.pooled(profile()).coverage.problem


class TestPreview:
    def previewed(self, share: float, text: str = QUESTION) -> preview.Preview:
        return preview.preview(text, profile(0.0), profile(share), viewer=evaluator())

    def test_a_slider_asks_the_server_once(self, server: FakeReranker) -> None:
        first = self.previewed(0.2)
        sent = len(server.requests)
        assert sent
        moved = [self.previewed(share) for share in (0.4, 0.7, 1.0)]
        assert len(server.requests) == sent
        assert not any(each.unread for each in (first, *moved))
        live = asked(share=1.0)
        assert [place.result.hit.chunk_id for place in moved[-1].draft.places] == [
            result.hit.chunk_id for result in live.results
        ]
        assert moved[-1].draft.places[0].result.hit.score == approx(live.hits[0].score)

    def test_failed_reranker_is_reported_and_not_asked_at_every_move(
        self, server: FakeReranker
    ) -> None:
        server.then(status(500))
        assert self.previewed(0.2).unread
        sent = len(server.requests)
        assert self.previewed(0.4).unread
        assert len(server.requests) == sent


class TestMeasuring:
    def test_measuring_asks_the_reranker(self, reversing: FakeReranker) -> None:
        (golden,) = [each for each in golden_set() if each.text == QUESTION]
        plain, reranked = ask(golden, profile(0.0)), ask(golden, profile(1.0))
        assert len(reversing.requests) == 1
        assert reranked.ranking != plain.ranking
        assert reranked.problem == ""

    def test_measuring_never_uses_the_fallback(self, server: FakeReranker) -> None:
        server.then(status(500))
        with pytest.raises(RunFailed, match="RERANKER_URL"):
            compare(golden_set(), profile(0.5), None)


class TestSentences:
    """RERANKER=sentences: no server; a passage counts for its nearest sentence."""

    QUESTION = "how do I keep my dog quiet after dark"
    # One sentence answers, between two that speak of something else.
    MINUTES = (
        "The committee met on Tuesday and approved the minutes of the meeting before. "
        "Canines that bark through the night can be trained to stay calm. "
        "The budget for the next year was then discussed at length, and put off."
    )
    PETS = "People keep a dog, a cat or a bird. A dog is a pet. Pets are kept in the house."

    @pytest.fixture(autouse=True)
    def _library(self, library: SimpleNamespace, settings: Any) -> None:
        settings.RERANKER = "sentences"
        held = make_collection("Neighbours")
        make_document(held, self.MINUTES, file_name="minutes.txt")
        make_document(held, self.PETS, file_name="pets.txt")

    def first(self, share: float) -> SearchResponse:
        return asked(self.QUESTION, share, filters=Filters(collections=("neighbours",)))

    def test_passage_is_scored_by_its_nearest_sentence(self) -> None:
        assert [each.title for each in self.first(0).results] == ["pets", "minutes"]
        after = self.first(0.9)
        assert [each.title for each in after.results] == ["minutes", "pets"]
        assert not after.degraded
        strengths = after.ranking.candidates.reranked
        assert all(0 <= each <= 1 for each in strengths.values())

    def test_sentences_are_embedded_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.first(0.9)

        def forbidden(*_: object) -> None:
            raise AssertionError("embedded again")

        monkeypatch.setattr(MeteredEmbedder, "embed_batches", forbidden)
        other = asked("barking", 0.9, filters=Filters(collections=("neighbours",)))
        assert not other.degraded

    def test_a_model_that_fails_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(*_: object) -> None:
            raise EmbeddingUnavailable("No memory is left.")

        monkeypatch.setattr(CachedQueryEmbedder, "embed_documents", fails)
        after = self.first(0.9)
        assert after.degraded == (Stage.RERANKER,)
        assert [each.title for each in after.results] == ["pets", "minutes"]


def test_a_cross_encoder_in_this_process_needs_no_server(
    library: SimpleNamespace, settings: Any, tmp_path: Path
) -> None:
    random_model(tmp_path, CROSS_ENCODER, 1)
    settings.RERANKER = f"fastembed:{CROSS_ENCODER}"
    models = {"fastembed": {"models_dir": tmp_path, "threads": 1}}
    settings.EMBEDDER_OPTIONS = settings.EMBEDDER_OPTIONS | models
    response = asked(share=1)
    assert response.degraded == ()
    strengths = response.ranking.candidates.reranked
    first = [strengths[chunk] for chunk in order(response)[:FIRST]]
    assert len(set(first)) > 3
    assert first == sorted(first, reverse=True)


class TestSettings:
    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            pytest.param({"RERANKER": "tei"}, "RERANKER_URL is not set", id="no address"),
            pytest.param({"RERANKER": "fastembed"}, "names no model", id="no model"),
            pytest.param({"RERANKER_URL": "localhost"}, "RERANKER_URL", id="no scheme"),
            pytest.param(
                {"RERANKER_URL": "http://h/", "RERANKER": "bert"},
                "cohere, tei, sentences, fastembed",
                id="kind",
            ),
        ],
    )
    def test_wrong_setting_is_an_error_and_disables_the_reranker(
        self, library: SimpleNamespace, settings: Any, changes: dict[str, Any], says: str
    ) -> None:
        for name, value in changes.items():
            setattr(settings, name, value)
        (problem,) = part.settings_probe()
        assert problem.state is State.WRONG
        assert says in problem.text
        assert current() is None
        assert asked().degraded == (Stage.RERANKER,)
