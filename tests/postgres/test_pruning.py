"""The keyword signal scores few chunks, and the best of all chunks are among them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, Collection
from search.domain import KeywordScorer, Query, Signal
from search.retrieval import Filters, Scope, retrieve
from search.signals import keyword
from tests.support.database import lasting
from tests.support.factories import make_collection
from tests.support.ranking import objects
from tests.support.written_chunks import keywords_only, shelve

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("statements_compiled_anew")]

CHUNKS = 900
# Words with the shares of the chunks that hold them, as uneven as in real text.
WORDS = {f"w{rank}": min(0.6, 1.2 / rank) for rank in range(1, 60)}


@pytest.fixture(scope="module")
def shelf(django_db_setup: None, django_db_blocker: Any) -> Iterator[Collection]:
    """Chunks of random words: each word in its share of them, some often in a few."""
    chance = random.Random(3)
    with lasting(django_db_blocker):
        shelf = make_collection("Shelf", language="xx")  # words stay as they are
        texts = [
            " ".join(
                " ".join([word] * chance.choice((1, 1, 1, 2, 5)))
                for word, share in WORDS.items()
                if chance.random() < share
            )
            for _ in range(CHUNKS)
        ]
        shelve(shelf, "simple", texts)
        bm25_weights.fold()
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE ingestion_chunk")
        yield shelf


@pytest.fixture(autouse=True)
def small_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed as small beside this shelf as the shipped one is beside a large library."""
    monkeypatch.setattr(keyword, "SEED_CHUNKS", 60)


def ranking(text: str, scope: Scope | None = None, **fields: Any) -> list[tuple[int, float]]:
    """The chunks that a search finds with their keyword scores, best first."""
    scope = scope or Scope.of(None, Filters())
    found = objects(retrieve(Query(text), scope, keywords_only(**fields)))
    scores = [(c.chunk_id, c.raw[Signal.KEYWORD]) for c in found]
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))


def all_scored(
    text: str, monkeypatch: pytest.MonkeyPatch, **fields: Any
) -> list[tuple[int, float]]:
    """The same without pruning: the seed takes every term."""
    with monkeypatch.context() as patch:
        patch.setattr(keyword, "SEED_CHUNKS", 10**9)
        return ranking(text, keyword_budget=10**9, depth=500, **fields)


def scored(text: str, **fields: Any) -> int:
    """How many chunks the keyword signal scores, by the rows of its two common tables."""
    sent: list[tuple[str, Any]] = []

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    with CaptureQueriesContext(connection), connection.execute_wrapper(keep):
        ranking(text, **fields)
    [_, (sql, params)] = sent  # the words, the candidates
    tables = sql.split("candidate(id, places) AS MATERIALIZED")[0].rstrip().rstrip(",")
    with connection.cursor() as cursor:
        cursor.execute(
            f"{tables} SELECT (SELECT count(*) FROM seed) + (SELECT count(*) FROM other)", params
        )
        return int(cursor.fetchone()[0])


QUESTIONS = [
    pytest.param("w55 w40 w3 w2 w1", id="rare and common"),
    pytest.param("w1 w2 w3 w4 w5 w6 w7 w8", id="common alone"),
    pytest.param("w58 w59", id="rare alone"),
    pytest.param("w1", id="one common word"),
    pytest.param("w30 w31 w9 w10 w11 w12 w1", id="long"),
    pytest.param("w50 nowhere w2", id="an unknown word"),
    pytest.param("w40 w2 w2 w2 w3 w1 w1", id="common words repeated"),
    pytest.param("w55 w55 w55 w4 w3 w2 w1", id="a rare word repeated"),
]


@pytest.mark.usefixtures("shelf")
class TestTheBestTen:
    @pytest.mark.parametrize("text", QUESTIONS)
    def test_pruned_best_ten_equal_the_exact_best_ten(
        self, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        exact = all_scored(text, monkeypatch)
        assert ranking(text)[:10] == exact[:10]

    def test_pruned_best_ten_are_exact_for_random_questions(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chance = random.Random(9)
        for _ in range(12):
            words = chance.sample(list(WORDS), chance.randint(2, 6))
            text = " ".join(words + chance.choices(words, k=chance.randint(1, 8)))
            assert ranking(text)[:10] == all_scored(text, monkeypatch)[:10], text

    @pytest.mark.parametrize("scorer", [KeywordScorer.TS_RANK, KeywordScorer.OVERLAP])
    def test_pruned_candidates_can_be_ordered_by_another_scorer(
        self, scorer: KeywordScorer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = "w55 w40 w3 w2 w1"
        by_bm25 = {chunk for chunk, _ in all_scored(text, monkeypatch)[:10]}
        found = dict(ranking(text, keyword_scorer=scorer, depth=500))
        exact = dict(all_scored(text, monkeypatch, keyword_scorer=scorer))
        assert by_bm25 <= set(found)
        assert all(exact.get(chunk, score) == score for chunk, score in found.items())


@pytest.mark.usefixtures("shelf")
class TestTheBudget:
    def test_rare_words_use_little_of_the_budget(self) -> None:
        holding = Chunk.objects.filter(text__regex=r"\mw[12]\M").count()
        assert holding > CHUNKS / 2
        assert scored("w55 w40 w35 w2 w1") < holding / 2

    def test_common_word_is_not_scored_alone_beside_enough_rare_ones(self) -> None:
        holding = Chunk.objects.filter(text__regex=r"\mw2\M").count()
        assert scored("w59 w58 w2", depth=30) < holding / 2

    def test_long_question_of_common_words_begins_fewer_pairs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = "w12 w11 w10 w9 w8 w7 w6 w5"
        shared = scored(text, keyword_budget=600)
        monkeypatch.setattr(keyword, "FEW_TERMS", 64)
        assert shared < scored(text, keyword_budget=600)

    @pytest.mark.parametrize("text", QUESTIONS)
    @pytest.mark.parametrize("budget", [100, 300])
    def test_budget_bounds_the_scored_chunks(self, text: str, budget: int) -> None:
        assert 0 < scored(text, keyword_budget=budget) <= budget

    @pytest.mark.parametrize("first", [0, 3, keyword.SURE_RANKS])
    def test_budget_of_common_words_prefers_chunks_with_several(
        self, first: int, shelf: Collection
    ) -> None:
        """Wherever they are in the table: a cut by place would lose those that come last.

        As many as are exact: if all of them are in the seed, no more are sought.
        """
        several = ["left right"] * keyword.SURE_RANKS
        alone = ["left"] * 200 + ["right"] * 200
        shelve(shelf, "simple", several[:first] + alone + several[first:])
        both = set(Chunk.objects.filter(text="left right").values_list("pk", flat=True))
        best = {chunk for chunk, _ in ranking("left right", keyword_budget=150)[: len(both)]}
        assert best == both

    def test_budget_counts_only_filtered_chunks(self, shelf: Collection) -> None:
        scope = Scope.of(None, Filters(collections=(shelf.slug,)))
        assert ranking("w55 w2", scope) == ranking("w55 w2")
        assert ranking("w55 w2", Scope.of(None, Filters(collections=("none",)))) == []
