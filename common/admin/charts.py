"""SVG charts, rendered on the server: scales, lines, bars, intervals.

SVG attributes need neither inline styles nor scripts. For people who cannot see a chart, a table
beside it holds the same figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.utils import timezone

WIDTH = 600.0


@dataclass(frozen=True, slots=True)
class Axis:
    """The vertical axis of a chart, `height` long, from `low` up to `high` > `low`."""

    low: float
    high: float
    height: float

    def y(self, value: float) -> float:
        """The distance of a value from the upper edge; a value out of range is clamped."""
        held = min(max(value, self.low), self.high)
        return self.height * (self.high - held) / (self.high - self.low)


def points(places: Iterable[tuple[float, float]]) -> str:
    """Coordinates as the `points` attribute of a polyline or polygon."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


HEIGHT = 120.0
GAP = 0.25  # share of a bar's slot


@dataclass(frozen=True, slots=True)
class Mark:
    """The figure of a day: a bar from `y` down, or the point at the middle of its top."""

    label: str
    value: float | None
    text: str
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def height(self) -> float:
        return HEIGHT - self.y


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of figures by day. `top` and `bottom` label the ends of its vertical axis."""

    title: str
    marks: tuple[Mark, ...]
    top: str
    bottom: str
    is_line: bool = False

    @property
    def first(self) -> str:
        return self.marks[0].label if self.marks else ""

    @property
    def last(self) -> str:
        return self.marks[-1].label if self.marks else ""

    @property
    def lines(self) -> list[str]:
        """The line as the points of polylines, interrupted at days without a figure."""
        runs: list[list[tuple[float, float]]] = [[]]
        for mark in self.marks:
            if mark.value is None:
                runs.append([])
            else:
                runs[-1].append((mark.middle, mark.y))
        return [points(run) for run in runs if len(run) > 1]

    @property
    def summary(self) -> str:
        """A sentence that summarises the chart."""
        known = [mark for mark in self.marks if mark.value is not None]
        if not known:
            return f"{self.title}: no figures yet."
        highest = max(known, key=lambda mark: mark.value or 0.0)
        return (
            f"{self.title}, {self.first} to {self.last}: highest {highest.text} on "
            f"{highest.label}, latest {known[-1].text}."
        )


def bars(title: str, days: Sequence[tuple[date, int]]) -> Chart:
    """A bar chart of counts by day, from 0."""
    values = [(day, float(count)) for day, count in days]
    axis = Axis(0.0, max([1.0, *(value for _, value in values)]), HEIGHT)
    return _chart(title, values, axis, "{:.0f}", is_line=False)


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
    known = [value for _, value in days if value is not None]
    if from_zero:
        return _chart(
            title, days, Axis(0.0, max(known, default=0) or 1, HEIGHT), shape, is_line=True
        )
    low, high = min(known, default=0.0), max(known, default=1.0)
    # A flat line is drawn in the middle.
    pad = (high - low) * 0.1 or abs(high) * 0.05 or 0.5
    return _chart(title, days, Axis(max(0.0, low - pad), high + pad, HEIGHT), shape, is_line=True)


def _chart(
    title: str,
    days: Sequence[tuple[date, float | None]],
    axis: Axis,
    shape: str,
    *,
    is_line: bool,
) -> Chart:
    place = WIDTH / max(1, len(days))
    marks = tuple(
        Mark(
            label=f"{day:%Y-%m-%d}",
            value=value,
            text="-" if value is None else shape.format(value),
            x=round(number * place + place * GAP / 2, 2),
            y=HEIGHT if value is None else round(axis.y(value), 2),
            width=round(place * (1 - GAP), 2),
        )
        for number, (day, value) in enumerate(days)
    )
    return Chart(title, marks, shape.format(axis.high), shape.format(axis.low), is_line)


INTERVAL_HEIGHT = 140.0


@dataclass(frozen=True, slots=True)
class Point:
    """One evaluation: its time, number of visitors, and formatted value and interval."""

    when: datetime
    visitors: int
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """The points of the band and the line, and the y coordinate of "no difference"."""

    title: str
    band: str
    line: str
    even: float
    top: str
    bottom: str
    points: tuple[Point, ...]

    @property
    def summary(self) -> str:
        last = self.points[-1]
        return f"{self.title}: {last.value} at the latest analysis, {last.interval}."


def interval_chart(history: Sequence[Mapping[str, Any]], *, split: bool) -> IntervalChart | None:
    """A chart of the evaluations that have an interval; None for fewer than two of them.

    `split`: values are differences, and "no difference" is 0; otherwise shares, and it is 1/2.
    """
    looks = [look for look in history if look["low"] is not None]
    if len(looks) < 2:
        return None
    middle = 0.0 if split else 0.5
    # The first intervals are so wide that they would dwarf the others: they are clipped.
    settled = looks[len(looks) // 4 or 1 :]
    reach: float = max(
        0.02, *(max(abs(look["low"] - middle), abs(look["high"] - middle)) for look in settled)
    )
    axis = Axis(middle - reach, middle + reach, INTERVAL_HEIGHT)
    step = WIDTH / (len(looks) - 1)

    def line(name: str) -> list[tuple[float, float]]:
        return [(number * step, axis.y(look[name])) for number, look in enumerate(looks)]

    return IntervalChart(
        title="B's lead over A" if split else "Share of preferences for B",
        band=points([*line("high"), *reversed(line("low"))]),
        line=points(line("value")),
        even=round(axis.y(middle), 1),
        top=_text(axis.high, split=split),
        bottom=_text(axis.low, split=split),
        points=tuple(_point(look, split=split) for look in looks),
    )


def _point(look: Mapping[str, Any], *, split: bool) -> Point:
    return Point(
        timezone.localtime(datetime.fromisoformat(look["at"])),
        look["visitors"],
        _text(look["value"], split=split),
        f"{_text(look['low'], split=split)} to {_text(look['high'], split=split)}",
    )


def _text(value: float, *, split: bool) -> str:
    return f"{100 * value:+.1f} points" if split else f"{100 * value:.0f}%"
