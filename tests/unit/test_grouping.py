"""Which hits share a place: of one document, and near-duplicates of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.domain import Candidate, IdentifierMatch, QueryClass, Signal, Weights
from search.ranking import Batch, score_batch
from search.ranking.grouping import grouped, leaders
from tests.support.ranking import made, prepared

ZERO = 0
NEAR = 0b111_1111  # seven bits from ZERO
FAR = 0b1111_1111  # eight bits from ZERO, one from NEAR
NEGATIVE = -1  # all 64 bits: none in common with ZERO
Shape = tuple[int, list[int], list[int]]


def candidates(*given: tuple[int, int | None]) -> list[Candidate]:
    """Candidates of (document, signature); chunks are numbered from 1, and rank so."""
    return [Candidate(n, doc, {}, signature=bits) for n, (doc, bits) in enumerate(given, 1)]


def shape(ranked: Sequence[Candidate]) -> list[Shape]:
    """Each group of candidates ranked by chunk, as the chunks of its best, folded and copied."""
    held = prepared(ranked)
    order = np.arange(len(ranked))
    groups = grouped(held, order, order.tolist())
    assert leaders(held, order) == [group.best for group in groups]
    return [
        (
            group.best + 1,
            [column + 1 for column in group.folded],
            [column + 1 for column in group.copies],
        )
        for group in groups
    ]


@pytest.mark.parametrize(
    ("ranked", "groups"),
    [
        ([], []),
        ([(7, None)], [(1, [], [])]),
        ([(7, None), (8, None), (7, None), (7, None)], [(1, [3, 4], []), (2, [], [])]),
        ([(7, ZERO), (8, ZERO)], [(1, [], [2])]),
        ([(7, ZERO), (8, NEAR)], [(1, [], [2])]),
        ([(7, ZERO), (8, FAR)], [(1, [], []), (2, [], [])]),
        ([(7, ZERO), (8, NEGATIVE)], [(1, [], []), (2, [], [])]),
        ([(7, NEGATIVE), (8, NEGATIVE << 7)], [(1, [], [2])]),
        ([(7, None), (8, None)], [(1, [], []), (2, [], [])]),
        ([(7, ZERO), (8, None)], [(1, [], []), (2, [], [])]),
        ([(7, None), (8, ZERO)], [(1, [], []), (2, [], [])]),
        ([(7, ZERO), (8, ZERO), (8, NEGATIVE), (8, None)], [(1, [], [2]), (3, [4], [])]),
        ([(7, NEGATIVE), (7, ZERO), (8, ZERO)], [(1, [2], [3])]),
        ([(7, FAR), (8, ZERO), (9, NEAR)], [(1, [], [3]), (2, [], [])]),
        ([(7, ZERO), (8, NEAR), (9, FAR)], [(1, [], [2, 3])]),
    ],
    ids=[
        "nothing", "one", "one document", "equal", "as far as may be", "a bit too far", "opposite",
        "negative and near", "no signatures", "none after zero", "zero after none",
        "a copy, and more of its document", "a copy of what is folded",
        "the better of two originals", "a copy of a copy",
    ],
)  # fmt: skip
def test_results_are_grouped_like_this(
    ranked: list[tuple[int, int | None]], groups: list[Shape]
) -> None:
    assert shape(candidates(*ranked)) == groups


def test_pinned_documents_are_not_grouped() -> None:
    same = [Candidate(1, 7, {}, pin=0, signature=ZERO), Candidate(2, 8, {}, pin=1, signature=ZERO)]
    unpinned = Candidate(3, 9, {}, signature=ZERO)

    assert shape([*same, unpinned]) == [(1, [], [3]), (2, [], [])]


def test_document_with_another_code_is_no_copy() -> None:
    """Two reports from one form: a question that names both wants both."""
    first, second = (IdentifierMatch(form, 1, 2) for form in ("inc-1", "inc-2"))
    named = [
        Candidate(1, 7, {}, first, signature=ZERO),
        Candidate(2, 8, {}, second, signature=ZERO),
        Candidate(3, 9, {}, second, signature=ZERO),
        Candidate(4, 10, {}, signature=ZERO),
    ]

    assert shape(named) == [(1, [], [4]), (2, [], [3])]


def test_groups_have_the_place_of_their_best_hit() -> None:
    """Tiers and all: the ranking's order is the groups' order."""
    held = prepared(
        [
            Candidate(1, 7, {Signal.VECTOR: 0.9}),
            Candidate(2, 8, {Signal.VECTOR: 0.8}),
            Candidate(3, 8, {Signal.VECTOR: 0.1}, IdentifierMatch("d40", 1, 2)),
            Candidate(4, 9, {Signal.VECTOR: 0.0}, pin=0),
        ]
    )
    ranked = score_batch(Batch.of([held]), [Weights(1, 0, 0)], [QueryClass.GENERAL], made())
    groups = grouped(held, ranked.columns(0), ranked.columns(0).tolist())

    assert [(held.rows[group.best] + 1, len(group.folded)) for group in groups] == [
        (4, 0),
        (3, 1),
        (1, 0),
    ]


@given(
    st.lists(
        st.builds(
            lambda doc, bits, pin, form: (doc, bits, pin, form),
            st.integers(1, 6),
            st.sampled_from([None, ZERO, NEAR, FAR, NEGATIVE, 1 << 62]),
            st.sampled_from([None, None, None, 0]),
            st.sampled_from([None, None, "a", "b"]),
        ),
        max_size=25,
    )
)
def test_every_hit_is_in_one_group_under_a_better_hit(
    drawn: list[tuple[int, int | None, int | None, str | None]],
) -> None:
    ranked = [
        Candidate(n, doc, {}, form and IdentifierMatch(form, 1, 2), pin=pin, signature=bits)
        for n, (doc, bits, pin, form) in enumerate(drawn, 1)
    ]
    groups = shape(ranked)

    parts = [[best, *folded, *copies] for best, folded, copies in groups]
    assert sorted(chunk for part in parts for chunk in part) == list(range(1, len(ranked) + 1))
    assert [best for best, _, _ in groups] == sorted(best for best, _, _ in groups)
    of = {each.chunk_id: each.document_id for each in ranked}
    for best, folded, copies in groups:
        assert all(chunk > best for chunk in (*folded, *copies))
        assert {of[chunk] for chunk in folded} <= {of[best]}
        assert of[best] not in {of[chunk] for chunk in copies}
        assert all(ranked[chunk - 1].pin is None for chunk in copies)
    heads = [of[best] for best, _, _ in groups]
    assert len(heads) == len(set(heads))


@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from([None, ZERO, NEAR, FAR])), max_size=20)
)
def test_later_hits_do_not_change_earlier_groups(ranked: list[tuple[int, int | None]]) -> None:
    """The groups of a ranking's beginning are the beginning of its groups: a limit cuts, only."""
    whole = shape(candidates(*ranked))
    for length in range(len(ranked)):
        begun = shape(candidates(*ranked[:length]))
        assert [best for best, _, _ in begun] == [best for best, _, _ in whole[: len(begun)]]
