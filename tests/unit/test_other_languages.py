"""Passages in another language than the question: meaning counts alone (D12, ADR 113)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from search.domain import (
    Candidate,
    Candidates,
    Classifier,
    Fusion,
    Hit,
    Query,
    QueryClass,
    Reading,
    Signal,
    Weights,
)
from search.engine import NOTHING_FORCED, Choices
from search.engine.ranking import Ranking, ranking_of
from search.engine.settle import settle
from search.presentation.notices import language_gap
from search.presets.default import DEFAULT
from search.query.language import other_language, other_languages
from search.tuning.evaluation.whatif import Case, WhatIf
from tests.support.laws import examples
from tests.support.random_pools import configuration, random_case, random_profile
from tests.support.ranking import columns

GERMAN = "Wie hoch liegt der Gipfel des Berges über dem Meer?"
ENGLISH = "How high above the sea is the summit of the mountain?"
MULTILINGUAL = configuration(languages=())
PROFILE = replace(DEFAULT.profile, feedback=0.0, confidence_threshold=0.0)
WEIGHTS = PROFILE.weights[QueryClass.GENERAL]


@pytest.mark.parametrize(
    ("text", "unknown", "supported", "expected"),
    [
        pytest.param("wie lade ich eine Datei hoch", 4, ("en",), "de", id="clear"),
        pytest.param("Datei hoch", 2, ("en",), "de", id="short, all words listed"),
        pytest.param("jak przesłać plik wysoki", 2, ("en",), "pl", id="a language without a list"),
        pytest.param("ファイルをアップロード", 0, ("en",), "ja", id="a script"),
        pytest.param("foriegn key cascde", 2, ("en",), "", id="misspelt"),
        pytest.param("titanium dioxide", 2, ("en",), "", id="listed English"),
        pytest.param("Datei", 1, ("en",), "", id="a single word"),
        pytest.param("wie lade ich eine Datei hoch", 0, ("en",), "", id="texts have its words"),
        pytest.param("wie lade ich eine Datei hoch", 4, ("en", "de"), "de", id="crossed"),
    ],
)
def test_question_in_a_language_without_texts_is_recognised(
    text: str, unknown: int, supported: tuple[str, ...], expected: str
) -> None:
    words = [word for word in text.split() if len(word) > 3]
    pool = Candidates(
        Query(text), unknown=tuple(words[:unknown]), readings=(Reading("english", 9, 3),)
    )
    other = other_language(pool, words, supported)
    assert (other.question if other else "") == expected
    said = language_gap(other)
    assert bool(said) == (bool(expected) and expected not in supported)
    if said:
        assert said.startswith("This library is in English; your question is in ")
        assert said.endswith(". Ask in English.")
    german = replace(pool, readings=(*pool.readings, Reading("german", 1, 3)), languages=("ja",))
    assert expected == "pl" or other_language(german, words, supported) is None


class TestOtherLanguages:
    @pytest.mark.parametrize(
        ("text", "own", "others"),
        [
            pytest.param(GERMAN, "de", {"en", "es", "zh"}, id="German"),
            pytest.param(ENGLISH, "en", {"de", "es", "zh"}, id="English"),
            pytest.param("¿A qué altura está la cima?", "es", {"de", "en", "zh"}, id="Spanish"),
            pytest.param("这座山有多高", "zh", {"de", "en", "es"}, id="six Chinese characters"),
        ],
    )
    def test_other_languages_are_those_a_clear_question_is_not_in(
        self, text: str, own: str, others: set[str]
    ) -> None:
        assert other_languages(text, ["de", "en", "es", "zh"], ()) == (own, others)

    @pytest.mark.parametrize("text", ["", "gold 5", "42", "山", "BRAF", "A-1312/B"])
    def test_unclear_question_has_no_other_languages(self, text: str) -> None:
        assert other_languages(text, ["de", "en", "zh"], ()) == ("", frozenset())

    @pytest.mark.parametrize(
        ("known", "others"),
        [
            pytest.param(["en"], set(), id="a model of one language"),
            pytest.param(["en", "fr"], set(), id="the question's is not known"),
            pytest.param(["de", "en"], {"en"}, id="one of the passages' is known"),
            pytest.param([], {"en", "es"}, id="multilingual"),
        ],
    )
    def test_other_languages_are_known_to_the_model(
        self, known: list[str], others: set[str]
    ) -> None:
        assert other_languages(GERMAN, ["en", "es", "de"], known)[1] == others

    def test_variants_of_one_language_are_no_other_languages(self) -> None:
        norwegian = "Hvor høyt over havet ligger toppen av fjellet i Norge?"
        assert not other_languages(norwegian, ["no", "nb", "nn"], ())[1]


def candidate(chunk: int, cosine: float, keyword: float, title: float = 0.0) -> Candidate:
    raw = {Signal.VECTOR: cosine, Signal.KEYWORD: keyword, Signal.TITLE: title}
    return Candidate(chunk, chunk, raw)


def ranked(
    text: str, pool: Candidates, choices: Choices = NOTHING_FORCED, languages: tuple[str, ...] = ()
) -> Ranking:
    configured = configuration(languages=languages)
    profile = choices.snapshot or PROFILE
    held = replace(pool, query=Query(text, original=text))
    return ranking_of(held, settle(held.query, configured, profile, choices), configured)


def by_chunk(ranking: Ranking) -> dict[int, Hit]:
    return {hit.chunk_id: hit for hit in ranking.hits}


POOL = columns(
    [candidate(1, 0.6, 8.0, 0.5), candidate(2, 0.7, 2.0, 1.0), candidate(3, 0.5, 4.0)],
    languages=["de", "en", ""],
)


class TestRanking:
    def test_only_meaning_counts_for_a_passage_in_another_language(self) -> None:
        """Keyword strengths are shares of the largest: 8."""
        found = ranked(GERMAN, POOL)
        hits = by_chunk(found)
        assert hits[1].score == approx(0.67 * 0.6 + 0.28 * 1 + 0.05 * 0.5)
        assert hits[2].score == approx((0.67 + 0.28 + 0.05) * 0.7)
        assert hits[3].score == approx(0.67 * 0.5 + 0.28 * 0.5)  # its language is unknown

    @pytest.mark.parametrize(
        ("choices", "languages"),
        [
            pytest.param(Choices(weights=WEIGHTS), (), id="forced weights"),
            pytest.param(Choices(query_class=QueryClass.LOOKUP), (), id="a lookup"),
            pytest.param(Choices(snapshot=replace(PROFILE, language_lean=False)), (), id="no lean"),
            pytest.param(Choices(), ("en",), id="a model of one language"),
            pytest.param(Choices(), ("en", "fr"), id="a model without the question's"),
        ],
    )
    def test_words_count_for_a_passage_in_the_question_language(
        self, choices: Choices, languages: tuple[str, ...]
    ) -> None:
        found = by_chunk(ranked(GERMAN, POOL, choices, languages))
        unmarked = replace(POOL, languages=())
        assert found == by_chunk(ranked(GERMAN, unmarked, choices, languages))
        assert not found[2].explanation.note

    @settings(max_examples=examples(100), deadline=None)
    @given(st.integers(0, 10**6), st.integers(2, 30), st.integers(0, 10**6))
    def test_the_explanation_gives_the_score(self, seed: int, size: int, chosen: int) -> None:
        """Under every fusion, boost and normaliser."""
        profile = random_profile(chosen, classifier=Classifier.RULES, confidence_threshold=0.0)
        found = ranked(GERMAN, mixed(seed, size), Choices(snapshot=profile))
        for hit in found.hits:
            scores = hit.source.ranked.scores  # type: ignore[attr-defined]
            assert hit.score == approx(scores[0, hit.column], rel=1e-9, abs=1e-9)

    @settings(max_examples=examples(100), deadline=None)
    @given(st.integers(0, 10**6), st.integers(2, 30), st.integers(0, 10**6))
    def test_library_of_one_language_is_ranked_as_before(
        self, seed: int, size: int, chosen: int
    ) -> None:
        pool = random_case(seed, size).pool
        profile = random_profile(chosen, classifier=Classifier.RULES)
        same = spoken(pool, ["de"] * size)
        for languages in ((), ("de", "en")):
            plain = ranked(GERMAN, pool, Choices(snapshot=profile), languages)
            again = ranked(GERMAN, same, Choices(snapshot=profile), languages)
            assert again.hits == plain.hits
            assert again.confidence == plain.confidence
            assert again.settled.notes == plain.settled.notes

    @settings(max_examples=examples(200), deadline=None)
    @given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 10_000))
    def test_shares_that_exceed_one_in_the_last_bit_are_explained(
        self, vector: int, keyword: int, rest: int
    ) -> None:
        """.10 + .34 + .56 is 1.0000000000000002 as a sum of floats, and no Weights."""
        total = (vector + keyword + rest) or 1
        shares = [part / total for part in (vector, keyword, rest)]
        own = Weights(*shares) if sum(shares) == approx(1) else WEIGHTS
        for weights in (own, Weights(0.1, 0.34, 0.56)):
            by_class = {**PROFILE.weights, QueryClass.GENERAL: weights}
            choices = Choices(snapshot=replace(PROFILE, weights=by_class))
            pool = spoken(columns([candidate(1, 0.5, 2.0), candidate(2, 0.9, 1.0)]), ["de", "en"])
            for hit in ranked(GERMAN, pool, choices).hits:
                assert hit.score == approx(hit.explanation.score)


class TestWhatIf:
    @settings(max_examples=examples(50), deadline=None)
    @given(st.integers(0, 10**6), st.integers(2, 30), st.sampled_from(list(Fusion)))
    def test_ranks_as_a_live_search(self, seed: int, size: int, fusion: Fusion) -> None:
        pool = replace(mixed(seed, size), query=Query(GERMAN, original=GERMAN))
        profile = replace(PROFILE, fusion=fusion, depth=20, confidence_threshold=0.3)
        outcome = WhatIf([Case("one", pool, {1: 3})], MULTILINGUAL).under(profile)
        live = ranking_of(pool, settle(pool.query, MULTILINGUAL, profile), MULTILINGUAL)
        assert [chunk for chunk, _ in outcome.ranking(0)] == [hit.chunk_id for hit in live.hits]


class TestConfidence:
    def test_confidence_ignores_words_of_a_first_hit_in_another_language(self) -> None:
        """Without that, the missing words would say that nothing fits."""
        english = columns([candidate(1, 0.8, 0.0), candidate(2, 0.2, 0.0)], languages=["en", "en"])
        unmarked = replace(english, languages=())
        apart, plain = ranked(GERMAN, english), ranked(GERMAN, unmarked)
        assert apart.confidence is not None
        assert plain.confidence is not None
        assert apart.confidence > 0.5 > plain.confidence


def spoken(pool: Candidates, languages: list[str]) -> Candidates:
    """The pool with its candidates' languages."""
    codes = tuple(dict.fromkeys(languages))
    rows = pool.rows.copy()
    rows["language"] = [codes.index(language) for language in languages]
    return replace(pool, rows=rows, languages=codes)


def mixed(seed: int, size: int) -> Candidates:
    """A random pool in English and German."""
    chosen = np.random.default_rng(seed).choice(["de", "en"], size).tolist()
    return spoken(random_case(seed, size).pool, chosen)
