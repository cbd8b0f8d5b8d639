"""Where figures lie in the charts that are drawn on the server.

Numbers in SVG attributes need no inline style and no script; the same figures stand in a table
beside each chart, for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 600.0


@dataclass(frozen=True, slots=True)
class Axis:
    """The upright axis of a chart, `height` long: from `low` up to `high`, which is greater."""

    low: float
    high: float
    height: float

    def y(self, value: float) -> float:
        """How far below the upper edge a value lies; one beyond an end lies at that end."""
        held = min(max(value, self.low), self.high)
        return self.height * (self.high - held) / (self.high - self.low)


def points(places: Iterable[tuple[float, float]]) -> str:
    """Places as the `points` of a polyline or polygon."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
