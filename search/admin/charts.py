"""Small charts drawn on the server: figures by day, with their geometry as SVG wants it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from search.admin.drawing import WIDTH, Axis, points

HEIGHT = 120.0
GAP = 0.25  # of a bar's place


@dataclass(frozen=True, slots=True)
class Mark:
    """One day's figure: a bar from `y` down, and the point in the middle of its top."""

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
    """A row of days. `top` is the figure at the upper edge; `bottom` that at the lower."""

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
        """The line as the points of polylines: a day without a figure parts it."""
        runs: list[list[tuple[float, float]]] = [[]]
        for mark in self.marks:
            if mark.value is None:
                runs.append([])
            else:
                runs[-1].append((mark.middle, mark.y))
        return [points(run) for run in runs if len(run) > 1]

    @property
    def summary(self) -> str:
        """What the chart shows, in a sentence."""
        known = [mark for mark in self.marks if mark.value is not None]
        if not known:
            return f"{self.title}: no figures yet."
        highest = max(known, key=lambda mark: mark.value or 0.0)
        return (
            f"{self.title}, {self.first} to {self.last}: highest {highest.text} on "
            f"{highest.label}, latest {known[-1].text}."
        )


def bars(title: str, days: Sequence[tuple[date, int]]) -> Chart:
    """Counts by day, from 0."""
    values = [(day, float(count)) for day, count in days]
    axis = Axis(0.0, max([1.0, *(value for _, value in values)]), HEIGHT)
    return _chart(title, values, axis, "{:.0f}", is_line=False)


def line(title: str, days: Sequence[tuple[date, float | None]], shape: str = "{:.3f}") -> Chart:
    """Figures by day between the least and the greatest; None for a day without one."""
    known = [value for _, value in days if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    # A flat line lies in the middle; its place says nothing.
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
