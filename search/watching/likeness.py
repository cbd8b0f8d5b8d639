"""Which questions mean the same: cosines of their embeddings, average linkage; pure numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

# Above the cosines of all 20 pairs of different questions on one subject (to .70) and below 16 of
# 20 pairs of paraphrases, with the packaged model (docs/adr/0027); for another model a guess.
SAME_MEANING = 0.72
# Of two questions in a row: near enough that the second may be the first in other words.
SAME_SUBJECT = 0.55
# The same by words alone, where there are no vectors: the share of words in common. A guess.
SHARED_WORDS = 0.4

_WORD = re.compile(r"\w+")


def unit(vector: Sequence[float]) -> Vectors:
    """The vector at length 1, so that inner products are cosines; zeros stay zeros."""
    array = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(array))
    return array / length if length else array


def nearest_group(
    vector: Vectors, members: Vectors, groups: Sequence[int], *, at_least: float = SAME_MEANING
) -> int | None:
    """The group whose members are nearest to `vector` on average; None below `at_least`.

    `members` has a row a member, of length 1, and `groups` their groups. Of equals the lowest.
    """
    if not len(groups):
        return None
    cosines = members @ vector
    names, places = np.unique(np.asarray(groups), return_inverse=True)
    means = np.bincount(places, weights=cosines) / np.bincount(places)
    best = int(np.argmax(means))
    return int(names[best]) if means[best] >= at_least else None


def shares_words(one: str, other: str) -> bool:
    """Whether two folded questions have so many words in common that one may be the other."""
    first, second = set(_WORD.findall(one)), set(_WORD.findall(other))
    union = first | second
    return bool(union) and len(first & second) / len(union) >= SHARED_WORDS
