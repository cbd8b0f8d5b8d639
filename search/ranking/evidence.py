"""Q4: how far the keywords of one question can be trusted: evidence for its weights (ADR 37).

Few known words say little of what is asked, so that meaning deserves more weight; unless few
passages match them: then the words alone tell the passages apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from search.ranking.batch import Prepared
from search.ranking.fusion import KEYWORD

# Known words of a short question, and of one that no longer is.
SHORT, LONG = 2, 6
# The fall of the keyword scores up to which they are close together, and from which they decide.
CLOSE, DECISIVE = 0.4, 0.8
# The fall is measured at this rank, the last of a first page.
LAST = 10


@dataclass(frozen=True, slots=True)
class KeywordEvidence:
    """The number of a question's known words, and the fall of its keyword scores, in [0, 1].

    A known word is a term of the searched texts. The fall is 1 - tenth score / first: 0 if ten
    passages match equally well, 1 if fewer than ten match at all.
    """

    known: int
    fall: float

    @classmethod
    def of(cls, prepared: Prepared) -> Self:
        scores = prepared.raw[:, KEYWORD]
        scores = scores[scores > 0]  # of NaN, too: no score
        fall = 1.0
        if len(scores) >= LAST:
            best = -np.partition(-scores, LAST - 1)[:LAST]
            fall = float(1 - best.min() / best.max())
        return cls(len(prepared.candidates.terms), fall)

    @property
    def for_meaning(self) -> float:
        """How strongly this speaks for meaning, in [0, 1]; never more for more words or a fall."""
        short = _falling(self.known, SHORT, LONG)
        return short * _falling(self.fall, CLOSE, DECISIVE)


def _falling(value: float, until: float, end: float) -> float:
    """1 up to `until`, 0 from `end` on, linear between them."""
    return min(max((end - value) / (end - until), 0.0), 1.0)
