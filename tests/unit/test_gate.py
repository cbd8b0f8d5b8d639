"""The gate's decision, by sums worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from search.tuning.evaluation.measures import NAMES
from search.tuning.gate import First, Measured, Rules, decide

RULES = Rules(measure="nDCG@10", margin=0.01, min_queries=4, latency_margin=0.3)


def measured(changes: list[float], *, start: float = 0.8, **rest: Any) -> Measured:
    """Queries q0, q1 … whose nDCG@10 was `start` and changes by so much."""
    before = {f"q{n}": {"nDCG@10": start} for n, _ in enumerate(changes)}
    values = {f"q{n}": {"nDCG@10": start + change} for n, change in enumerate(changes)}
    names = {query: f"question {query}" for query in values}
    return Measured(values=values, before=before, **({"names": names} | rest))


class TestMeasure:
    def test_no_change_passes(self) -> None:
        verdict = decide(RULES, measured([0.0] * 6))
        assert verdict.passed
        assert verdict.findings[0].text == "nDCG@10 does not change on 6 golden queries."

    def test_a_clear_fall_beyond_the_margin_is_refused_and_names_the_worst(self) -> None:
        # Mean: -(.3 + .2 + .1 + .1 + .1 + .1) / 6 = -.15; every draw of them is negative.
        verdict = decide(RULES, measured([-0.1, -0.3, -0.1, -0.2, -0.1, -0.1]))
        (finding,) = verdict.refusals
        assert "falls by 0.150" in finding.text
        assert "margin of 0.010" in finding.text
        assert "“question q1”, “question q3”" in finding.text

    def test_a_fall_within_the_margin_passes(self) -> None:
        # Mean: -.06 / 6 = -.01, just the margin.
        verdict = decide(RULES, measured([-0.01] * 6))
        assert verdict.passed

    def test_insignificant_fall_passes_with_a_finding(self) -> None:
        # Mean: (-.5 + .1 + .1 + .1) / 4 = -.05, but most draws without q0 rise.
        verdict = decide(RULES, measured([-0.5, 0.1, 0.1, 0.1]))
        assert verdict.passed
        assert "is not significant" in verdict.findings[0].text
        assert "Largest losses: “question q0”." in verdict.findings[0].text

    def test_fall_alone_decides_with_too_few_queries(self) -> None:
        # The same mean of -.05 on three: (-.35 + .1 + .1) / 3.
        verdict = decide(RULES, measured([-0.35, 0.1, 0.1]))
        assert not verdict.passed
        assert "too few" in verdict.findings[0].text

    def test_figure_is_reported_without_an_active_profile(self) -> None:
        alone = Measured(values={"q": dict.fromkeys(NAMES, 0.5)}, names={"q": "question"})
        verdict = decide(RULES, alone)
        assert verdict.passed
        assert verdict.findings[0].text.startswith("nDCG@10 is 0.500 on 1 golden query.")

    def test_verdict_without_measured_queries_reports_it(self) -> None:
        verdict = decide(RULES, Measured({}))
        assert verdict.passed
        assert "nothing was measured" in verdict.findings[0].text

    def test_the_chosen_measure_decides(self) -> None:
        values = {"q": {"nDCG@10": 0.9, "RR@10": 0.2}}
        before = {"q": {"nDCG@10": 0.8, "RR@10": 0.5}}
        rules = Rules(measure="RR@10", min_queries=1)
        assert not decide(rules, Measured(values, before)).passed
        assert decide(Rules(min_queries=1), Measured(values, before)).passed


class TestMustBeFirst:
    @pytest.mark.parametrize(
        ("first", "required", "passes"),
        [
            (First(is_first=True, was_first=True), True, True),
            (First(is_first=False, was_first=True), False, False),
            (First(is_first=False, was_first=False), False, True),
            (First(is_first=False, was_first=False), True, False),
            (First(is_first=False, was_first=None), False, False),
        ],
        ids=["holds", "breaks", "as before", "required", "nothing active"],
    )
    def test_lost_required_first_place_is_refused(
        self, first: First, required: bool, passes: bool
    ) -> None:
        rules = Rules(min_queries=1, first_required=required)
        verdict = decide(rules, measured([0.0], firsts={"q0": first}))
        assert verdict.passed is passes
        if not first.is_first:
            assert "“question q0”" in verdict.findings[-1].text

    def test_a_better_mean_is_no_excuse(self) -> None:
        breaks = {"q0": First(is_first=False, was_first=True)}
        verdict = decide(RULES, measured([0.2] * 6, firsts=breaks))
        (refusal,) = verdict.refusals
        assert "must-be-first" in refusal.text


class TestLatency:
    @pytest.mark.parametrize(
        ("before", "now", "passes"),
        [(100, 129, True), (100, 151, False), (20, 69, True), (20, 71, False), (400, 519, True)],
        ids=["within", "beyond", "below the floor", "beyond the floor", "share of much"],
    )
    def test_the_larger_of_share_and_floor_is_allowed(
        self, before: float, now: float, passes: bool
    ) -> None:
        # Allowed: the larger of before * 1.3 and before + 50.
        verdict = decide(RULES, measured([0.0] * 4, p95=now, p95_before=before))
        assert verdict.passed is passes
        assert f"take over {now} ms (was {before} ms)" in verdict.findings[-1].text
