"""A small chart of an interval over time, drawn on the server, with its figures as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from search.admin.drawing import WIDTH, Axis, points

HEIGHT = 140.0


@dataclass(frozen=True, slots=True)
class Point:
    """A look: when, how many visitors, the value and its interval as people read them."""

    when: datetime
    visitors: int
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """The points of the band and the line, and the place of "no difference"."""

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
        return f"{self.title}: {last.value} at the latest look, {last.interval}."


def interval_chart(history: Sequence[Mapping[str, Any]], *, split: bool) -> IntervalChart | None:
    """The looks that could say how sure they were; None for fewer than two of them.

    `split`: values are differences, "no difference" lies at 0; otherwise shares, and it is 1/2.
    """
    looks = [look for look in history if look["low"] is not None]
    if len(looks) < 2:
        return None
    middle = 0.0 if split else 0.5
    # The first looks are so wide that nothing else would be seen: they leave the chart.
    settled = looks[len(looks) // 4 or 1 :]
    reach: float = max(
        0.02, *(max(abs(look["low"] - middle), abs(look["high"] - middle)) for look in settled)
    )
    axis = Axis(middle - reach, middle + reach, HEIGHT)
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
