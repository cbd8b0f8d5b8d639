"""Charts for unfold's chart components: data and options of Chart.js as JSON.

For people who cannot see a chart, a table beside it holds the same figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.utils.translation import gettext

# unfold's script reads the theme's colours.
ACCENT, PLAIN = "var(--color-primary-600)", "var(--color-base-400)"
TEXT = "#7c7c7c"  # readable on the light and on the dark theme


@dataclass(frozen=True, slots=True)
class Series:
    """A named curve: a value for each label of its chart, None for none, or `points`."""

    label: str
    values: Sequence[Any]
    colour: str = ACCENT
    is_dashed: bool = False

    def as_json(self) -> dict[str, Any]:
        padded = (None, *self.values, None)
        beside = zip(padded, padded[2:], strict=False)
        return {
            "label": self.label,
            "data": list(self.values),
            "borderColor": self.colour,
            "backgroundColor": self.colour,
            "borderDash": [4, 4] if self.is_dashed else [],
            "borderWidth": 2,
            # A value between gaps is on no line.
            "pointRadius": [3 if sides == (None, None) else 0 for sides in beside],
            "pointHitRadius": 8,
            "fill": False,
        }


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its figures as a table. Without `labels` the x axis is one of numbers."""

    title: str
    series: tuple[Series, ...]
    summary: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...] = ()
    x_title: str = ""
    y_axis: Mapping[str, Any] = field(default_factory=dict)
    is_bars: bool = False

    @property
    def template(self) -> str:
        return f"unfold/components/chart/{'bar' if self.is_bars else 'line'}.html"

    @property
    def data(self) -> str:
        return json.dumps(
            {"labels": self.labels, "datasets": [each.as_json() for each in self.series]}
        )

    @property
    def options(self) -> str:
        x_axis = {
            "type": "category" if self.labels else "linear",
            "grid": {"display": False},
            "ticks": {"maxTicksLimit": 6, "maxRotation": 0, "color": TEXT},
            "title": {"display": bool(self.x_title), "text": self.x_title, "color": TEXT},
        }
        y_axis = {"grid": {}, "ticks": {"maxTicksLimit": 5, "color": TEXT}, **self.y_axis}
        labels = {"boxWidth": 14, "boxHeight": 1, "color": TEXT}
        legend = {"display": len(self.series) > 1, "position": "bottom", "labels": labels}
        return json.dumps(
            {
                "animation": False,
                "maintainAspectRatio": False,
                "plugins": {"legend": legend},
                "scales": {"x": x_axis, "y": y_axis},
            }
        )


def points(places: Iterable[tuple[float, float]]) -> list[dict[str, float]]:
    """Coordinates as values of a series."""
    return [{"x": x, "y": y} for x, y in places]


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
        (Series(title, values),),
        _summary(title, rows, values),
        (gettext("Day"), title),
        tuple(reversed(rows)),
        labels=tuple(label for label, _ in rows),
        y_axis=y_axis,
        is_bars=is_bars,
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
