"""Pseudo-relevance feedback by hand, and when identifiers lead."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import Candidate, IdentifierMatch, Signal, Weights
from search.query import parse
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
            {1: 0.9 + 0.45 * 2 / 3, 2: 0.8 + 0.45 * 2 / 3, 3: 0.7 + 0.45 / 3, 4: 0.5 + 0.45 / 3},
            abs=1e-3,
        )

    def test_candidates_similar_to_the_best_are_promoted(self) -> None:
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

    def test_ranking_without_embeddings_is_unchanged(self) -> None:
        found = [candidate(1, 0.9), candidate(2, 0.8)]
        fed = rank(found, MEANING, made(feedback=0.5))
        assert [hit.score for hit in fed] == [0.9, 0.8]
        assert likeness(prepared(found), np.arange(2)) is None


MANY = "replace worn bearing pump house north wall"


class TestIdentifiersLead:
    @pytest.mark.parametrize(
        ("text", "lead"),
        [
            pytest.param("D40", True, id="alone"),
            pytest.param("what is ww2", True, id="a short question"),
            pytest.param("who invaded north africa during ww2", False, id="only mentioned"),
            pytest.param(f"{MANY} of D40", False, id="a short code in a story"),
            pytest.param(f"{MANY} with H3K79me2", False, id="scattered digits are no number"),
            pytest.param(f"{MANY} ORA-00942", True, id="an error code"),
            pytest.param(f"{MANY} §75.1725(a)", True, id="a section"),
            pytest.param(f"{MANY} A-1312/B", True, id="a long code"),
            pytest.param(f"{MANY} pic.twitter.com/uB3zOG5EKA", False, id="a link"),
            pytest.param(f"{MANY} july 2024", False, id="a date, taken leniently"),
        ],
    )
    def test_identifiers_lead_if_unlike_a_word_or_asked_for(self, text: str, lead: bool) -> None:
        assert identifiers_lead(parse(text, DEFAULT_PATTERNS)) is lead

    def test_document_with_the_identifier_comes_first_only_if_identifiers_lead(self) -> None:
        match = IdentifierMatch("d40", 1.0, 0)
        found = [
            Candidate(1, 1, {Signal.VECTOR: 0.8}),
            Candidate(2, 2, {Signal.VECTOR: 0.7}, match),
        ]
        story = columns(found, parse(f"{MANY} of D40", DEFAULT_PATTERNS))
        hits = rank(story, MEANING)
        assert [hit.candidate.chunk_id for hit in hits] == [1, 2]
        assert hits[1].score == approx(0.7)
        assert hits[1].explanation.tier.reason == ""
        leading = rank(found, MEANING)
        assert [hit.candidate.chunk_id for hit in leading] == [2, 1]
