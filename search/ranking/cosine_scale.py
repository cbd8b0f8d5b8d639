"""The cosines of every embedding model on one scale, that of the weights (ADR 130).

A weight belongs to a scale: cosines of texts that have nothing to do with each other lie around .07
with MiniLM, around .75 and three times as close together with E5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from search.domain import Floats

# MiniLM's cosines between the questions of `engine.similarity_background.PROBES`: the weights that
# ship were chosen with it.
LEVEL, DEVIATION = 0.0679, 0.0858


@dataclass(frozen=True, slots=True)
class CosineScale:
    """A linear map of a model's cosines: `slope` * cosine + `offset`. MiniLM's changes nothing."""

    slope: float = 1.0
    offset: float = 0.0

    @classmethod
    def of(cls, cosines: Floats) -> Self:
        """The map that gives a model's cosines between the PROBES MiniLM's mean and deviation.

        Rounded, so that MiniLM's own map is exactly 1 and 0. Equal cosines tell nothing: no map.
        """
        deviation = float(cosines.std())
        if not deviation:
            return cls()
        slope = round(DEVIATION / deviation, 2)
        return cls(slope, round(LEVEL - slope * float(cosines.mean()), 2))

    def __call__(self, cosines: Floats) -> Floats:
        """The cosines on the common scale; NaN stays."""
        return self.slope * cosines + self.offset


MINILM = CosineScale()
