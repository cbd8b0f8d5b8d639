"""Q5: pseudo-relevance feedback by hand, and when identifiers lead."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

from search.domain import (
    Candidate,
    IdentifierMatch,
    Query,
    QueryIdentifier,
    Signal,
    TermStatistic,
    Weights,
)
from search.ranking import identifiers_lead
from search.ranking.feedback import likeness
from tests.support.ranking import columns, made, prepared, rank

MEANING = Weights(1, 0, 0)


def embedding(*numbers: float) -> bytes:
    return np.array(numbers, dtype=">f2").tobytes()


def candidate(pk: int, score: float, *numbers: float, document: int = 0) -> Candidate:
    raw = {Signal.VECTOR: score}
    stored = embedding(*numbers) if numbers else None
    return Candidate(pk, document or pk * 10, raw, embedding=stored)


class TestFeedback:
    def test_adds_the_mean_cosine_to_the_first_three_documents(self) -> None:
        found = [
            candidate(1, 0.9, 1, 0),
            candidate(2, 0.8, 1, 0),
            candidate(3, 0.7, 0, 1),
            candidate(4, 0.5, 0, 2),  # a length of 2: only the direction counts
        ]
        hits = rank(found, MEANING, made(feedback=0.5))
        scores = {hit.candidate.chunk_id: hit.score for hit in hits}
        # The centre of (1, 0), (1, 0), (0, 1) is (2/3, 1/3); the weight is .5 of the best, .9.
        assert scores == approx(
            {
                1: 0.9 + 0.45 * 2 / 3,
                2: 0.8 + 0.45 * 2 / 3,
                3: 0.7 + 0.45 / 3,
                4: 0.5 + 0.45 / 3,
            },
            abs=1e-3,
        )

    def test_what_is_like_the_best_passes_what_is_not(self) -> None:
        found = [
            candidate(1, 0.9, 1, 0),
            candidate(2, 0.8, 1, 0.1),
            candidate(3, 0.79, 1, 0.1),
            candidate(4, 0.60, 0, 1),
            candidate(5, 0.59, 1, 0),
        ]
        without = rank(found, MEANING, made())
        assert [hit.candidate.chunk_id for hit in without] == [1, 2, 3, 4, 5]
        fed = rank(found, MEANING, made(feedback=0.5))
        assert [hit.candidate.chunk_id for hit in fed] == [1, 2, 3, 5, 4]

    def test_many_chunks_of_one_document_are_one_example(self) -> None:
        found = [
            candidate(1, 0.9, 1, 0, document=7),
            candidate(2, 0.8, 1, 0, document=7),
            candidate(3, 0.7, 0, 1),
        ]
        cosines = likeness(prepared(found), np.arange(3))
        assert cosines == approx([0.5, 0.5, 0.5], abs=1e-3)

    def test_without_embeddings_the_ranking_stays(self) -> None:
        found = [candidate(1, 0.9), candidate(2, 0.8)]
        fed = rank(found, MEANING, made(feedback=0.5))
        assert [hit.score for hit in fed] == [0.9, 0.8]
        assert likeness(prepared(found), np.arange(2)) is None

    def test_without_a_weight_for_meaning_there_is_none(self) -> None:
        found = [Candidate(1, 1, {Signal.KEYWORD: 2.0}, embedding=embedding(1, 0))]
        (hit,) = rank(found, Weights(0, 1, 0), made(feedback=0.5))
        assert hit.score == 1

    def test_a_negative_weight_is_refused(self) -> None:
        with pytest.raises(ValueError, match="0 or more"):
            made(feedback=-0.1)


def terms(text: str) -> tuple[TermStatistic, ...]:
    return tuple(TermStatistic(word, 1, 1.0) for word in text.split())


def asking(*codes: str, alone: bool = False, loose: bool = False) -> Query:
    named = tuple(
        QueryIdentifier(code, "Code", ((code.lower(), 1.0),), loose=loose) for code in codes
    )
    return Query(text=" ".join(codes), identifiers=named, is_identifier=alone)


MANY = "replace worn bearing pump house north wall"


class TestIdentifiersLead:
    @pytest.mark.parametrize(
        ("query", "words", "lead"),
        [
            pytest.param(asking("D40", alone=True), "d40", True, id="alone"),
            pytest.param(asking("D40"), "d40 room tell", True, id="little besides"),
            pytest.param(asking("D40"), f"d40 {MANY}", False, id="a short code in a story"),
            pytest.param(asking("IL-10"), f"il 10 {MANY}", False, id="a gene in a claim"),
            pytest.param(asking("ORA-00942"), f"ora 00942 {MANY}", True, id="an error code"),
            pytest.param(asking("0x80070005"), MANY, True, id="hexadecimal"),
            pytest.param(asking("§75.1725(a)"), MANY, True, id="a section"),
            pytest.param(asking("rclcpp::Node"), MANY, True, id="a qualified name"),
            pytest.param(asking("ann@example.org"), MANY, True, id="an address"),
            pytest.param(asking("settings.py"), MANY, True, id="a file name"),
            pytest.param(asking("A-1312/B"), MANY, True, id="a long code"),
            pytest.param(asking("2024", loose=True), MANY, False, id="a year, taken leniently"),
        ],
    )
    def test_where_a_code_is_like_no_word_or_says_it_all(
        self, query: Query, words: str, lead: bool
    ) -> None:
        assert identifiers_lead(query, terms(words)) is lead

    def test_stems_of_one_word_in_two_languages_count_once(self) -> None:
        said = terms("mainten maintenanc schedul schedule room rooms valv valves")
        assert identifiers_lead(asking("D40"), said)

    def test_a_holder_that_does_not_lead_gets_a_factor_for_it(self) -> None:
        match = IdentifierMatch("d40", 1.0, 0)
        found = [
            Candidate(1, 1, {Signal.VECTOR: 0.8}),
            Candidate(2, 2, {Signal.VECTOR: 0.5}, match),
        ]
        story = columns(found, asking("D40"), terms=terms(f"d40 {MANY}"))
        hits = rank(story, MEANING)
        assert [hit.candidate.chunk_id for hit in hits] == [1, 2]
        assert hits[1].score == approx(0.55)
        assert hits[1].explanation.tier.reason == ""
        assert [leaf.label for _, leaf in hits[1].explanation.adjustments] == ["names d40"]
        leading = rank(found, MEANING)
        assert [hit.candidate.chunk_id for hit in leading] == [2, 1]
