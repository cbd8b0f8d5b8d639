"""A small chart of an interval over time, drawn on the server, with its figures as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

WIDTH, HEIGHT = 600.0, 140.0


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
    low, high = middle - reach, middle + reach

    def y(value: float) -> float:
        return round(HEIGHT * (high - min(max(value, low), high)) / (high - low), 1)

    step = WIDTH / (len(looks) - 1)
    xs = [round(number * step, 1) for number in range(len(looks))]
    upper = [f"{x},{y(look['high'])}" for x, look in zip(xs, looks, strict=True)]
    lower = [f"{x},{y(look['low'])}" for x, look in zip(xs, looks, strict=True)]
    return IntervalChart(
        title="B's lead over A" if split else "Share of preferences for B",
        band=" ".join([*upper, *reversed(lower)]),
        line=" ".join(f"{x},{y(look['value'])}" for x, look in zip(xs, looks, strict=True)),
        even=y(middle),
        top=_text(high, split=split),
        bottom=_text(low, split=split),
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
