"""The cosines of any model on the scale that weights are chosen for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.domain import Candidate, Signal, Weights
from search.ranking.cosine_scale import DEVIATION, LEVEL, MINILM, CosineScale
from tests.support.ranking import made, prepared, rank

MIXED = Weights(0.7, 0.3, 0)
# Cosines of unrelated texts: two deviations of MiniLM's around its mean.
UNRELATED = LEVEL + DEVIATION * np.array([-1, 1, -1, 1, 1, -1])


def candidates(slope: float = 1, offset: float = 0) -> list[Candidate]:
    """A passage that means the question, one that has its words, one in between; BM25 of 10."""
    found = ((0.8, 0, (1, 0)), (0.3, 10, (0, 1)), (0.6, 4, (1, 0.2)))
    return [
        Candidate(
            pk,
            pk,
            {Signal.VECTOR: slope * cosine + offset, Signal.KEYWORD: bm25},
            embedding=np.array(direction, ">f2").tobytes(),
        )
        for pk, (cosine, bm25, direction) in enumerate(found, start=1)
    ]


class TestCosineScale:
    def test_scale_of_minilm_changes_no_bit(self) -> None:
        assert CosineScale.of(UNRELATED + 0.0004) == MINILM
        cosines = np.array([0.1234567, -0.3, np.nan])
        assert MINILM(cosines).tobytes() == cosines.tobytes()

    @given(st.floats(0.05, 2), st.floats(-0.5, 0.9))
    def test_cosines_of_any_linear_scale_are_read_as_minilms(
        self, slope: float, offset: float
    ) -> None:
        read = CosineScale.of(slope * UNRELATED + offset)(slope * UNRELATED + offset)
        assert read == approx(UNRELATED, abs=0.02)

    def test_model_without_any_spread_has_no_scale(self) -> None:
        assert CosineScale.of(np.full(6, 0.5)) == MINILM

    def test_score_is_the_one_that_minilm_would_give(self) -> None:
        # Unrelated texts have .75 and a third of the deviation: 3 * (x - .75) + .068.
        squeezed = candidates(1 / 3, 0.75 - LEVEL / 3)
        scale = CosineScale.of((UNRELATED - LEVEL) / 3 + 0.75)
        assert scale == CosineScale(3.0, -2.18)
        before = rank(squeezed, MIXED)
        after = rank(squeezed, MIXED, scale=scale)
        assert [hit.candidate.chunk_id for hit in before] == [2, 3, 1]
        assert [hit.candidate.chunk_id for hit in after] == [1, 3, 2]
        # .7 * .8; .7 * .6 + .3 * .4; .7 * .3 + .3
        assert [hit.score for hit in after] == approx([0.56, 0.54, 0.51], abs=0.01)
        assert after[0].candidate.raw[Signal.VECTOR] == approx(0.8 / 3 + 0.75 - LEVEL / 3)

    def test_feedback_reads_cosines_on_the_same_scale(self) -> None:
        plain, scaled = (
            rank(candidates(), Weights(1, 0, 0), made(feedback=0.5), scale=scale)
            for scale in (MINILM, CosineScale(0.5, 0.1))
        )
        # The mean cosine of the first to the three: (1 + 0 + .98) / 3 = .66; read as .43.
        assert plain[0].score == approx(0.8 + 0.5 * 0.8 * 0.66, abs=1e-3)
        assert scaled[0].score == approx(0.5 + 0.5 * 0.5 * 0.43, abs=1e-3)

    @pytest.mark.parametrize("scale", [MINILM, CosineScale(3.0, -2.0)])
    def test_passage_without_a_vector_gets_nothing_for_meaning(self, scale: CosineScale) -> None:
        alone = prepared([Candidate(1, 1, {Signal.KEYWORD: 2.0})], scale=scale)
        assert alone.normalised[0].tolist()[:2] == [0, 1]
