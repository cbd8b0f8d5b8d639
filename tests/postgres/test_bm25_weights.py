"""BM25's two sides and the document frequencies, against sums done here."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from pytest import approx

from ingestion import services
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, CorpusStatistics, TermChange, TermFrequency
from search.domain import (
    GENERATORS,
    KeywordScorer,
    Profile,
    Query,
    QueryClass,
    Signal,
    TitleScorer,
    Weights,
)
from search.retrieval import Filters, Scope, retrieve
from search.retrieval.statement import RetrievalOptions
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.ranking import objects

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

TEXTS = {
    "pumps": "alpha beta beta gamma",
    "cats": "alpha delta",
    "dogs": "beta epsilon zeta eta theta iota kappa",
}

TITLE_WORDS = ("one", "two", "three", "four", "five")  # in more and more titles


@pytest.fixture(scope="class")
def corpus(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[str, Chunk]]:
    """Three one-chunk documents; each chunk's lexemes are its title and its words."""
    with lasting(django_db_blocker):
        collection = make_collection(
            "Corpus", language="xx"
        )  # no such stemmer: words stay as they are
        yield {
            name: make_document(collection, text, file_name=f"{name}.txt").chunks.get()
            for name, text in TEXTS.items()
        }


def profile(**fields: object) -> Profile:
    shares = dict.fromkeys(QueryClass, Weights(0, 1, 0))
    return Profile("test", 1, shares, **fields)  # type: ignore[arg-type]


def raw_scores(text: str, signal: Signal, **fields: object) -> dict[int, float]:
    found = retrieve(Query(text), Scope.of(None, Filters()), profile(**fields))
    return {candidate.chunk_id: candidate.raw[signal] for candidate in objects(found)}


def words_of(name: str) -> list[str]:
    return [name, *TEXTS[name].split()]


def idf(word: str) -> float:
    frequency = sum(word in words_of(name) for name in TEXTS)
    return math.log(1 + (len(TEXTS) - frequency + 0.5) / (frequency + 0.5))


def bm25(query: str, name: str) -> float:
    """Robertson & Zaragoza 2009, k1 = 1.2, b = .75, k3 = 2, summed by hand."""
    words = Counter(words_of(name))
    average = sum(len(words_of(each)) for each in TEXTS) / len(TEXTS)
    norm = 1.2 * (1 - 0.75 + 0.75 * words.total() / average)
    return sum(
        idf(word) * times * 3 / (times + 2) * words[word] * 2.2 / (words[word] + norm)
        for word, times in Counter(query.split()).items()
        if words[word]
    )


class TestBM25:
    @pytest.mark.parametrize(
        "query",
        [
            "alpha", "beta gamma", "alpha beta delta theta", "cats",
            "alpha alpha alpha delta", "beta gamma beta gamma",
        ],
    )  # fmt: skip
    def test_equals_the_formula(self, corpus: dict[str, Chunk], query: str) -> None:
        expected = {
            corpus[name].pk: approx(bm25(query, name), rel=1e-4)
            for name in TEXTS
            if bm25(query, name)
        }
        assert raw_scores(query, Signal.KEYWORD) == expected

    def test_terms_are_listed_rarest_first_with_their_idf(self, corpus: dict[str, Chunk]) -> None:
        found = retrieve(Query("alpha gamma"), Scope.of(None, Filters()), profile()).terms
        assert [(term.lexeme, term.chunks) for term in found] == [("gamma", 1), ("alpha", 2)]
        assert [term.idf for term in found] == [approx(idf("gamma")), approx(idf("alpha"))]

    def test_the_budget_bounds_the_chunks_scored(self, corpus: dict[str, Chunk]) -> None:
        """Which chunk a seed of one has is up to Postgres; its score is that of all its terms."""
        found = raw_scores("alpha gamma", Signal.KEYWORD, keyword_budget=1)
        scores = {corpus[name].pk: bm25("alpha gamma", name) for name in ("pumps", "cats")}
        ((chunk, score),) = found.items()
        assert score == approx(scores[chunk], rel=1e-4)

    def test_a_chunk_of_more_terms_than_a_row_holds_keeps_the_heaviest(self) -> None:
        words = [f"w{number}" for number in range(2500)] + ["anchor"] * 5
        collection = make_collection(language="xx")
        document = make_document(collection, "short", file_name="a.txt")
        chunk = document.chunks.get()
        Chunk.objects.filter(pk=chunk.pk).update(text=" ".join(words))
        bm25_weights.read_terms(chunk.version_id, title="long")
        chunk.refresh_from_db()
        weights = chunk.terms.values()
        assert len(weights) == bm25_weights.MOST_TERMS
        assert max(weights) > 2 * min(weights)
        assert chunk.lexemes.count(":") > 2500


class TestOtherScorers:
    @pytest.mark.parametrize("scorer", [KeywordScorer.TS_RANK, KeywordScorer.TS_RANK_CD])
    def test_scorers_of_postgres_rank_the_better_match_first(
        self, corpus: dict[str, Chunk], scorer: KeywordScorer
    ) -> None:
        found = raw_scores("beta", Signal.KEYWORD, keyword_scorer=scorer)
        assert set(found) == {corpus["pumps"].pk, corpus["dogs"].pk}
        assert found[corpus["pumps"].pk] > found[corpus["dogs"].pk] > 0


@pytest.fixture(scope="class")
def titled(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[int, set[str]]]:
    """Documents with more and fewer of the words in their titles; those of a filter with theirs."""
    chance = random.Random(7)
    with lasting(django_db_blocker):
        kept, other = make_collection("Kept", language="xx"), make_collection("B", language="xx")
        titles: dict[int, set[str]] = {}
        for number in range(40):
            words = [word for place, word in enumerate(TITLE_WORDS) if chance.random() < place / 6]
            title = " ".join([*words, f"n{number}"])
            document = make_document(
                chance.choice([kept, kept, other]), "Text.", title=title, file_name=f"{number}.txt"
            )
            if document.collection_id == kept.pk:
                titles[document.pk] = set(words)
        bm25_weights.fold()
        yield titles


class TestTitles:
    def test_coverage_is_the_share_of_the_idf(self, corpus: dict[str, Chunk]) -> None:
        found = raw_scores("pumps alpha", Signal.TITLE)
        expected = idf("pumps") / (idf("pumps") + idf("alpha"))
        assert found[corpus["pumps"].pk] == approx(expected)
        assert found[corpus["cats"].pk] == 0

    def test_coverage_ignores_repetition(self, corpus: dict[str, Chunk]) -> None:
        once, repeated = (raw_scores(text, Signal.TITLE) for text in ("pumps b", "pumps b pumps"))
        assert repeated == once


class TestTitleCandidates:
    @pytest.mark.parametrize("scorer", TitleScorer)
    @pytest.mark.parametrize("budget", [1, 9, 20_000])
    def test_title_candidates_are_the_best_titles_with_a_rare_word(
        self, titled: dict[int, set[str]], scorer: TitleScorer, budget: int
    ) -> None:
        """Of a filter's documents alone; a common word counts in a title that has a rare one."""
        asked = " ".join(TITLE_WORDS)
        sought = profile(title_scorer=scorer, keyword_budget=budget, depth=6)
        scope = Scope.of(None, Filters(collections=("kept",)))
        found = retrieve(Query(asked), scope, sought, options=RetrievalOptions(places=True))
        held = {each.lexeme: each.chunks for each in found.terms}
        worth = {each.lexeme: each.idf for each in found.terms}
        rare: set[str] = set()
        before = 0
        for word in sorted(held, key=lambda each: (held[each], each)):
            rare |= {word} if before < budget else set()
            before += held[word]
        strength = {
            TitleScorer.COVERAGE: lambda words: round(sum(worth[each] for each in words), 9),
            TitleScorer.ONCE: lambda words: 10,
            TitleScorer.PER_TERM: len,
        }[scorer]
        expected = sorted(
            (key for key, words in titled.items() if words & rare),
            key=lambda key: (-strength(titled[key]), key),
        )[:6]
        places = found.rows["places"][:, GENERATORS.index(Signal.TITLE)]
        order = {int(at): int(key) for at, key in zip(places, found.rows["document"], strict=True)}
        assert [order[at] for at in range(1, len(expected) + 1)] == expected
        assert max(order) == len(expected) > 0


class TestFrequencies:
    def test_frequencies_follow_additions_replacements_and_deletions(self) -> None:
        collection = make_collection(language="xx")
        make_document(collection, "alpha beta", file_name="a.txt", source="a")
        second = make_document(collection, "alpha gamma", file_name="b.txt", source="b")
        make_document(collection, "alpha delta", file_name="a.txt", source="a")
        services.delete([second], acting_user=None)
        bm25_weights.fold()
        assert frequencies() == recounted()
        assert frequencies()["alpha"] == 1
        assert TermChange.objects.count() == 0

    def test_frequencies_are_the_same_before_and_after_the_fold(
        self, corpus: dict[str, Chunk]
    ) -> None:
        before = raw_scores("alpha", Signal.KEYWORD)
        assert bm25_weights.fold() is True
        assert raw_scores("alpha", Signal.KEYWORD) == approx(before)

    def test_chunks_are_weighed_again_when_the_average_has_drifted(self) -> None:
        collection = make_collection(language="xx")
        short = make_document(collection, "alpha beta", file_name="a.txt").chunks.get()
        first = short.terms.values()
        for number in range(3):
            text = " ".join(f"word{number}{i}" for i in range(60))
            make_document(collection, text, file_name=f"{number}.txt")
        short.refresh_from_db()
        statistics = CorpusStatistics.objects.get(collection=collection)
        average = statistics.total_length / statistics.chunks
        assert statistics.weighed_length == approx(average, rel=bm25_weights.MAX_DRIFT)
        norm = 1.2 * (0.25 + 0.75 * short.length / statistics.weighed_length)
        assert short.terms.values() == approx([2.2 / (1 + norm)] * 3, rel=1e-4)
        assert short.terms.values() != first


def frequencies() -> dict[str, int]:
    return dict(TermFrequency.objects.values_list("lexeme", "chunks"))


def recounted() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lexeme, count(*) FROM ingestion_chunk,"
            " unnest(tsvector_to_array(lexemes)) lexeme WHERE searchable GROUP BY lexeme"
        )
        return dict(cursor.fetchall())


@pytest.mark.django_db(transaction=True)
def test_fold_frees_the_space_of_a_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    def size() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_relation_size('term_change_lexeme')")
            return int(cursor.fetchone()[0])

    monkeypatch.setattr(bm25_weights, "MOST_INDEX_BYTES", 100_000)
    collection = make_collection()
    TermChange.objects.bulk_create(
        TermChange(collection=collection, lexeme=f"burst{number}", chunks=1)
        for number in range(5_000)
    )
    assert bm25_weights.fold()
    assert size() > 100_000
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ingestion_termchange")
    assert bm25_weights.fold()
    assert size() < 100_000
    assert TermFrequency.objects.filter(lexeme__startswith="burst").count() == 5_000
