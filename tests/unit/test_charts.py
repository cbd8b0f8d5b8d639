"""Figures by day as marks: where they stand, what is said of them."""

from __future__ import annotations

from datetime import date

import pytest

from common.admin.charts import HEIGHT, WIDTH, Axis, bars, line, points

DAYS = [date(2026, 3, day) for day in (1, 2, 3, 4)]


def test_bars_stand_on_the_ground_and_the_highest_reaches_the_top() -> None:
    chart = bars("Searches", list(zip(DAYS, (0, 5, 10, 2), strict=True)))

    assert [mark.height for mark in chart.marks] == pytest.approx([0, 60, 120, 24])
    assert chart.marks[-1].x + chart.marks[-1].width < WIDTH
    assert (chart.top, chart.bottom) == ("10", "0")
    assert chart.summary == (
        "Searches, 2026-03-01 to 2026-03-04: highest 10 on 2026-03-03, latest 2."
    )


def test_days_without_figures_part_a_line() -> None:
    chart = line(
        "nDCG@10", list(zip([*DAYS, date(2026, 3, 5)], (0.5, 0.6, None, 0.7, 0.6), strict=True))
    )

    assert [points.count(",") for points in chart.lines] == [2, 2]
    assert chart.marks[2].text == "-"
    assert 0 < chart.marks[3].y < chart.marks[0].y < HEIGHT


@pytest.mark.parametrize("values", [(), (None,), (0.5,), (0.0, 0.0)])
def test_of_little_it_says_little(values: tuple[float | None, ...]) -> None:
    chart = line("nDCG@10", list(zip(DAYS, values, strict=False)))

    assert chart.summary
    assert all(0 <= mark.y <= HEIGHT for mark in chart.marks)


def test_no_days_at_all() -> None:
    assert bars("Searches", []).summary == "Searches: no figures yet."


def test_an_axis_goes_up_and_holds_what_lies_beyond_it() -> None:
    axis = Axis(low=0.2, high=0.6, height=100)

    assert [axis.y(value) for value in (0.6, 0.5, 0.2)] == pytest.approx([0, 25, 100])
    assert [axis.y(value) for value in (0.9, 0.0)] == pytest.approx([0, 100])
    assert points([(0, 25.04), (10.55, 100)]) == "0.0,25.0 10.6,100.0"
