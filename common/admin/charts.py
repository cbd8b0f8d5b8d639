"""Charts for unfold's chart components: data and options of Chart.js as JSON.

For people who cannot see a chart, a table beside it holds the same figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.translation import gettext

ACCENT = "var(--color-primary-600)"  # unfold's script reads the theme's colours
TEXT = "#7c7c7c"  # readable on the light and on the dark theme


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of a value for each day, None for none, with its figures as a table."""

    title: str
    values: Sequence[float | None]
    summary: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    y_axis: Mapping[str, Any]
    is_bars: bool

    @property
    def template(self) -> str:
        return f"unfold/components/chart/{'bar' if self.is_bars else 'line'}.html"

    @property
    def data(self) -> str:
        padded = (None, *self.values, None)
        beside = zip(padded, padded[2:], strict=False)
        curve = {
            "label": self.title,
            "data": list(self.values),
            "borderColor": ACCENT,
            "backgroundColor": ACCENT,
            "borderWidth": 2,
            # A value between gaps is on no line.
            "pointRadius": [3 if sides == (None, None) else 0 for sides in beside],
            "pointHitRadius": 8,
            "fill": False,
        }
        days = [day for day, _ in reversed(self.rows)]
        return json.dumps({"labels": days, "datasets": [curve]})

    @property
    def options(self) -> str:
        ticks = {"maxTicksLimit": 6, "maxRotation": 0, "color": TEXT}
        x_axis = {"type": "category", "grid": {"display": False}, "ticks": ticks}
        y_axis = {"grid": {}, "ticks": {"maxTicksLimit": 5, "color": TEXT}, **self.y_axis}
        return json.dumps(
            {
                "animation": False,
                "maintainAspectRatio": False,
                "plugins": {"legend": {"display": False}},
                "scales": {"x": x_axis, "y": y_axis},
            }
        )


def bars(title: str, days: Sequence[tuple[date, int]]) -> Chart:
    """A bar chart of counts by day, from 0."""
    return _by_day(title, days, "{:.0f}", {"beginAtZero": True}, is_bars=True)


def line(
    title: str,
    days: Sequence[tuple[date, float | None]],
    shape: str = "{:.3f}",
    *,
    from_zero: bool = False,
) -> Chart:
    """A line chart of figures by day, from the least to the greatest; None: no figure.

    `from_zero` is for shares and times, where a change of a hundredth must not look like a cliff.
    """
    return _by_day(title, days, shape, {"beginAtZero": from_zero}, is_bars=False)


def _by_day(
    title: str,
    days: Sequence[tuple[date, float | None]],
    shape: str,
    y_axis: Mapping[str, Any],
    *,
    is_bars: bool,
) -> Chart:
    rows = [(f"{day:%Y-%m-%d}", "-" if x is None else shape.format(x)) for day, x in days]
    values = [value for _, value in days]
    return Chart(
        title,
        values,
        _summary(title, rows, values),
        (gettext("Day"), title),
        tuple(reversed(rows)),
        y_axis,
        is_bars,
    )


def _summary(title: str, rows: Sequence[tuple[str, str]], values: Sequence[float | None]) -> str:
    """A sentence that summarises figures by day; `rows` have each day's as text."""
    figures = [(value, *row) for row, value in zip(rows, values, strict=True) if value is not None]
    if not figures:
        return gettext("%(title)s: no figures yet.") % {"title": title}
    _, day, highest = max(figures, key=lambda figure: figure[0])
    return gettext(
        "%(title)s, %(first)s to %(last)s: highest %(highest)s on %(day)s, latest %(latest)s."
    ) % {
        "title": title,
        "first": rows[0][0],
        "last": rows[-1][0],
        "highest": highest,
        "day": day,
        "latest": figures[-1][2],
    }
