"""Measures by hand-worked sums, and the paired bootstrap's laws."""

from __future__ import annotations

import math

import pytest
from pytest import approx

from search.tuning.evaluation.measures import NAMES, Interval, difference, latencies, means, measure

QRELS = {"q": {"a": 2, "b": 1, "c": 0}}


def only(qrels: dict[str, dict[str, int]], ranking: list[str]) -> dict[str, float]:
    return measure(qrels, {"q": ranking})["q"]


def test_measures_match_a_calculation_by_hand() -> None:
    found = only(QRELS, ["c", "b", "x", "a"])

    gain = 1 / math.log2(3) + 2 / math.log2(5)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert found == approx(
        {
            "nDCG@10": gain / ideal, "R@10": 1, "R@100": 1, "RR@10": 1 / 2, "P@5": 2 / 5,
            "Success@1": 0,
        }
    )  # fmt: skip


def test_relevant_document_at_rank_11_is_beyond_ten_and_within_a_hundred() -> None:
    found = only({"q": {"a": 1}}, [f"x{i}" for i in range(10)] + ["a"])
    assert (found["nDCG@10"], found["R@10"], found["R@100"], found["RR@10"]) == (0, 0, 1, 0)


def test_recall_counts_no_further_than_a_hundred() -> None:
    assert only({"q": {"a": 1}}, [f"x{i}" for i in range(100)] + ["a"])["R@100"] == 0


def test_measures_depend_on_the_order_of_a_long_ranking() -> None:
    """Scores made of ranks must not collide in single precision."""
    found = only({"q": {"x0": 1}}, [f"x{i}" for i in range(500)])
    assert found["Success@1"] == 1


def test_document_counts_where_it_first_stands() -> None:
    assert only({"q": {"a": 1, "b": 1}}, ["a", "a", "a", "b"])["P@5"] == approx(2 / 5)
    assert only({"q": {"a": 1}}, ["a", "x", "a"])["RR@10"] == 1


def test_empty_ranking_measures_zero_and_counts_in_the_mean() -> None:
    values = measure({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"], "r": []})
    assert values["r"] == dict.fromkeys(NAMES, 0.0)
    assert means(values)["nDCG@10"] == approx(0.5)


def test_query_that_was_not_asked_does_not_count() -> None:
    values = measure({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"]})
    assert list(values) == ["q"]


def values_of(*figures: float) -> dict[str, dict[str, float]]:
    return {f"q{i}": dict.fromkeys(NAMES, figure) for i, figure in enumerate(figures)}


def test_difference_to_itself_is_nothing() -> None:
    interval = difference(values_of(0.2, 0.9), values_of(0.2, 0.9), "nDCG@10")
    assert interval == Interval(0, 0, 0)
    assert not interval.is_clear


def test_same_gain_on_every_query_is_certain() -> None:
    interval = difference(values_of(0.3, 0.8, 0.5), values_of(0.2, 0.7, 0.4), "nDCG@10")
    assert (interval.mean, interval.low, interval.high) == approx((0.1, 0.1, 0.1))
    assert interval.is_clear


def test_difference_is_computed_from_paired_queries() -> None:
    """Queries differ widely; the profiles by a hair, on every query: paired, that is clear."""
    base = [i / 50 for i in range(50)]
    better = [figure + 0.001 for figure in base]
    assert difference(values_of(*better), values_of(*base), "nDCG@10").is_clear


def test_interval_is_about_two_standard_errors_each_way() -> None:
    """Differences of +-.1, half and half, on 400 queries: a standard error of .005."""
    base = values_of(*[0.5] * 400)
    other = values_of(*[0.4, 0.6] * 200)
    interval = difference(other, base, "nDCG@10")
    assert interval.low == approx(-0.0098, abs=0.001)
    assert interval.high == approx(0.0098, abs=0.001)
    assert not interval.is_clear


def test_interval_can_be_repeated() -> None:
    base, other = values_of(0.1, 0.5, 0.9), values_of(0.3, 0.4, 0.9)
    assert difference(other, base, "R@10") == difference(other, base, "R@10")


def test_difference_needs_the_same_queries() -> None:
    with pytest.raises(ValueError, match="same queries"):
        difference(values_of(0.1), values_of(0.1, 0.2), "nDCG@10")
    with pytest.raises(ValueError, match="at least one"):
        difference({}, {}, "nDCG@10")


def test_latencies_are_percentiles() -> None:
    assert latencies(list(range(101))) == {"p50": 50, "p95": 95}
    assert latencies([]) == {}
