"""What every peer gets: passages with their vectors, questions with theirs, and judgements."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
RESULTS = 10
KEPT = 2 * RESULTS  # chunks, so that ten passages are left
DEPTH = 100  # candidates of each side before their fusion
RRF_K = 60  # Cormack, Clarke & Büttcher 2009


@dataclass(frozen=True)
class Library:
    """`vectors` are those of `texts`, `asked` those of `questions`, all of unit length."""

    ids: list[str]
    texts: list[str]
    vectors: Vector
    queries: list[str]
    questions: list[str]
    asked: Vector
    judged: dict[str, dict[str, int]]

    @classmethod
    def read(cls, folder: Path) -> Library:
        """The library that `benchmarks.peers.steelyard` wrote."""
        words = json.loads((folder / "library.json").read_text())
        with np.load(folder / "library.npz") as arrays:
            return cls(vectors=arrays["vectors"], asked=arrays["asked"], **words)

    def write(self, folder: Path) -> None:
        words = {
            name: value for name, value in vars(self).items() if isinstance(value, list | dict)
        }
        np.savez(folder / "library.npz", vectors=self.vectors, asked=self.asked)
        (folder / "library.json").write_text(json.dumps(words))


class Peer(Protocol):
    """A module of a peer has a class `Searcher` like this, which builds its index at once.

    SETTINGS says how it is set up. `processes`: other processes that work for it.
    """

    SETTINGS: str
    processes: list[int]

    def __init__(self, library: Library, folder: Path) -> None: ...

    def search(self, question: str, vector: Vector) -> list[str]:
        """The numbers of the best `KEPT` chunks in the library, as text, best first."""


def fused(*rankings: list[str]) -> list[str]:
    """The best of several rankings by reciprocal rank fusion."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, each in enumerate(ranking, start=1):
            scores[each] = scores.get(each, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda each: -scores[each])[:KEPT]


def ndcg(ranking: list[str], grades: dict[str, int]) -> float:
    """nDCG@10 with linear gain (Järvelin & Kekäläinen 2002)."""
    gains = [grades.get(each, 0) for each in ranking[:RESULTS]]
    best = sorted(grades.values(), reverse=True)[:RESULTS]
    discounts = 1 / np.log2(np.arange(2, RESULTS + 2))
    ideal = float(np.dot(best, discounts[: len(best)]))
    return float(np.dot(gains, discounts[: len(gains)])) / ideal if ideal else 0.0
