"""Charts as Chart.js and a table read them."""

from __future__ import annotations

import json
from datetime import date

import pytest

from common.admin.charts import bars, interval_chart, line

DAYS = [date(2026, 3, day) for day in (1, 2, 3, 4)]


def test_bars_have_a_value_a_day_from_zero_and_the_same_figures_as_a_table() -> None:
    chart = bars("Searches", list(zip(DAYS, (0, 5, 10, 2), strict=True)))
    data, options = json.loads(chart.data), json.loads(chart.options)
    assert data["labels"] == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"]
    assert data["datasets"][0]["data"] == [0, 5, 10, 2]
    assert options["scales"]["y"]["beginAtZero"]
    assert chart.rows[0] == ("2026-03-04", "2")
    assert chart.summary == (
        "Searches, 2026-03-01 to 2026-03-04: highest 10 on 2026-03-03, latest 2."
    )


def test_days_without_figures_part_a_line() -> None:
    chart = line("nDCG@10", list(zip(DAYS, (0.5, 0.6, None, 0.7), strict=True)))
    assert json.loads(chart.data)["datasets"][0]["data"] == [0.5, 0.6, None, 0.7]
    assert ("2026-03-03", "-") in chart.rows


@pytest.mark.parametrize("values", [(), (None,)])
def test_without_figures_the_summary_says_so(values: tuple[float | None, ...]) -> None:
    chart = line("nDCG@10", list(zip(DAYS, values, strict=False)))
    assert chart.summary == "nDCG@10: no figures yet."


def test_intervals_are_a_band_around_the_value_and_clipped_about_no_difference() -> None:
    looks = [
        {"at": f"2026-03-0{day}T10:00:00+00:00", "visitors": 10 * day, "value": 0.6,
         "low": low, "high": high}
        for day, low, high in ((1, 0.0, 1.0), (2, 0.4, 0.8), (3, 0.52, 0.66))
    ]  # fmt: skip
    assert interval_chart(looks[:1], split=False) is None
    chart = interval_chart(looks, split=False)
    assert chart is not None
    high, low, value, even = json.loads(chart.data)["datasets"]
    assert (high["data"], high["fill"], low["data"]) == ([1, 0.8, 0.66], "+1", [0, 0.4, 0.52])
    assert (value["data"], even["data"]) == ([0.6] * 3, [0.5] * 3)
    y_axis = json.loads(chart.options)["scales"]["y"]
    assert (y_axis["min"], y_axis["max"]) == pytest.approx((0.2, 0.8))
    assert chart.rows[0][1:] == ("30", "60%", "52% to 66%")
