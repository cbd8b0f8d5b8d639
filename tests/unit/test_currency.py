"""Currency without a database: what files state, the state of a day, the order of editions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from ingestion.currency_dates import Currency, CurrencyState, day_of, state_on, values_of
from search.domain import (
    Candidate,
    Classification,
    Hit,
    IdentifierMatch,
    Profile,
    QueryClass,
    Signal,
    Weights,
)
from search.domain.candidates import facts, from_facts
from search.engine.configuration import Configuration
from search.engine.ranking import Ranking, ranking_of
from search.engine.settle import Settled
from search.ranking.scored_batch import BEHIND
from tests.support.explanations import recomputed
from tests.support.ranking import EVERY_SIGNAL, columns

NOTHING = Configuration(stamp=0, active=None, published={})
TODAY = date(2026, 3, 1)
STATES = CurrencyState


@pytest.mark.parametrize(
    ("valid_from", "valid_until", "superseded", "state"),
    [
        (None, None, False, STATES.CURRENT),
        (TODAY, TODAY, False, STATES.CURRENT),
        (None, date(2026, 2, 28), False, STATES.EXPIRED),
        (date(2026, 3, 2), None, False, STATES.NOT_YET_VALID),
        (None, date(2026, 2, 28), True, STATES.SUPERSEDED),
    ],
)
def test_currency_state_depends_on_the_day(
    valid_from: date | None, valid_until: date | None, superseded: bool, state: CurrencyState
) -> None:
    assert state_on(TODAY, valid_from, valid_until, superseded=superseded)[0] is state


def test_currency_metadata_of_files_is_read() -> None:
    values = {
        "supersedes": "  Travel\npolicy ", "valid_from": date(2026, 1, 31), "review_by": None,
        "valid_until": datetime(2027, 1, 31, 8, tzinfo=UTC), "owner": "ann", "color": "red",
    }  # fmt: skip
    stated = values_of(values)
    assert stated == {
        "supersedes": ["Travel policy"],
        "valid_from": "2026-01-31",
        "valid_until": "2027-01-31T08:00:00+00:00",
        "owner": "ann",
    }
    assert values_of({"supersedes": ["a", "", "b"], "owner": "\0"}) == {"supersedes": ["a", "b"]}
    assert len(values_of({"supersedes": ["a"] * 101})["supersedes"]) == 100
    assert day_of(str(stated["valid_until"])) == date(2027, 1, 31)
    assert [day_of(text) for text in ("31.1.2026", "soon", "2026-02-30", "")] == [None] * 4


def scored(
    pk: int, document: int, score: float, form: str = "", pin: int | None = None
) -> Candidate:
    match = IdentifierMatch(form, 1.0, 2) if form else None
    return Candidate(pk, document, {Signal.VECTOR: score}, match, pin=pin)


def ranked(
    candidates: Sequence[Candidate], behind: Mapping[int, tuple[int, ...]], rerank: float = 0.0,
    strengths: Mapping[int, float] = {},
) -> Ranking:  # fmt: skip
    states = {pk: Currency(STATES.SUPERSEDED, behind=others) for pk, others in behind.items()}
    held = columns(candidates, currency=states, reranked=strengths)
    general = Classification(QueryClass.GENERAL, "", 1.0)
    profile = Profile("made", 1, {}, rerank=rerank)
    settled = Settled(held.query, profile, general, Weights(1, 0, 0), EVERY_SIGNAL)
    return ranking_of(held, settled, NOTHING, group=False)


def order(hits: Sequence[Hit]) -> list[int]:
    return [hit.chunk_id for hit in hits]


class TestOrder:
    OLD, NEW = 1, 2

    def test_superseded_passages_follow_the_best_passage_of_the_successor(self) -> None:
        found = [scored(11, 1, 0.9), scored(12, 1, 0.8), scored(21, 2, 0.6), scored(31, 3, 0.7)]
        assert order(ranked(found, {}).hits) == [11, 12, 31, 21]
        hits = ranked(found, {1: (2,)}).hits
        assert order(hits) == [31, 21, 11, 12]
        last = hits[2].explanation
        assert [part.label for _, part in last.adjustments] == [BEHIND]
        assert recomputed(hits[2]) == approx(last.score) == approx(hits[2].ranked_score)
        assert hits[1].score == approx(0.6)
        assert hits[1].explanation.adjustments == ()

    def test_successor_outside_the_results_changes_nothing(self) -> None:
        found = [scored(11, 1, 0.9), scored(31, 3, 0.7)]
        assert order(ranked(found, {1: (2,)}).hits) == [11, 31]

    def test_only_candidates_ranked_by_the_profile_count_as_successors(self) -> None:
        found = [scored(11, 1, 0.9), scored(12, 1, 0.8), scored(21, 2, 0.6)]
        places = [{"vector": place} for place in (1, 2, 3)]
        states = {1: Currency(STATES.SUPERSEDED, behind=(2,))}
        held = columns(found, places=places, currency=states)
        general = Classification(QueryClass.GENERAL, "", 1.0)
        for depth, expected in ((2, [11, 12]), (3, [21, 11, 12])):
            profile = Profile("made", 1, {}, depth=depth)
            settled = Settled(held.query, profile, general, Weights(1, 0, 0), EVERY_SIGNAL)
            assert order(ranking_of(held, settled, NOTHING, group=False).hits) == expected

    def test_chains_of_successors_keep_their_order(self) -> None:
        found = [scored(11, 1, 0.9), scored(21, 2, 0.8), scored(31, 3, 0.1), scored(41, 4, 0.5)]
        for behind in ({1: (2, 3), 2: (3,)}, {2: (3,), 1: (2, 3)}, {1: (2,), 2: (3,)}):
            assert order(ranked(found, behind).hits) == [41, 31, 21, 11]

    def test_reranker_keeps_the_successor_first(self) -> None:
        found = [scored(11, 1, 0.9), scored(21, 2, 0.6)]
        hits = ranked(found, {1: (2,)}, 0.5, {11: 1.0, 21: 0.0}).hits
        assert order(hits) == [21, 11]

    def test_shared_identifier_does_not_lift_the_superseded_document(self) -> None:
        old, new = scored(11, 1, 0.9, "X-1"), scored(21, 2, 0.6, "X-1")
        assert order(ranked([old, new], {1: (2,)}).hits) == [21, 11]

    def test_pinned_or_named_superseded_document_keeps_its_place(self) -> None:
        new = scored(21, 2, 0.6)
        for old in (scored(11, 1, 0.9, "X-1"), scored(11, 1, 0.9, pin=0)):
            assert order(ranked([old, new], {1: (2,)}).hits) == [11, 21]


@given(
    scores=st.lists(st.floats(0, 1), min_size=4, max_size=12),
    places=st.lists(st.integers(1, 4), min_size=12, max_size=12),
)
def test_superseded_documents_never_precede_their_successors(
    scores: list[float], places: list[int]
) -> None:
    found = [scored(i + 1, places[i], score) for i, score in enumerate(scores)]
    behind = {1: (2, 3), 2: (3,)}
    hits = ranked(found, behind).hits
    first = {hit.document_id: hit.rank for hit in reversed(hits)}
    for older, others in behind.items():
        for newer in others:
            if older in first and newer in first:
                assert first[newer] < first[older]
    assert sorted(order(hits)) == sorted(order(ranked(found, {}).hits))
    for hit in hits:
        assert hit.score == approx(hit.ranked_score)


def test_pools_store_the_currency() -> None:
    states = {1: Currency(STATES.EXPIRED, TODAY, "id", "title", (2,))}
    held = columns([scored(11, 1, 0.9)], currency=states)
    stored = facts(held, 50)
    again = from_facts(held.query, stored, held.rows.tobytes(), b"", None)
    assert again.currency == {1: Currency(STATES.EXPIRED, behind=(2,))}
