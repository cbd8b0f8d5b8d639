"""Charts as Chart.js and a table read them."""

from __future__ import annotations

import json
from datetime import date

import pytest

from common.admin.charts import bars, line

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
