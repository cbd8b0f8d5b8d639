"""What every peer gets: chunks with their vectors, questions with theirs, and what is right.

In a folder: `chunks.jsonl` (a text a line), `vectors.npy`, and `library.json` with the rest. Texts
and vectors are read from there when they are used: a million of them would fill the memory of
every process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
RESULTS = 10
CHUNKS = 2 * RESULTS  # chunks, so that ten passages are left
DEPTH = 100  # candidates of each side before their fusion
RRF_K = 60  # Cormack, Clarke & Büttcher 2009
# Vectors of so many chunks are searched by an index, of fewer exactly where a peer offers that.
LARGE = 100_000
_BLOCK = 50_000  # vectors compared with all questions at once: 77 MB of them


class Texts:
    """The texts of a file, one JSON string a line; read anew each time they are iterated."""

    def __init__(self, path: Path, count: int) -> None:
        self._path, self._count = path, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        with self._path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


@dataclass(frozen=True)
class Library:
    """`vectors` are those of `texts`, `question_vectors` those of `questions`, all of unit length.

    `ids` are those that `judged` names: passages of several chunks, or each chunk's own. Without
    judgements `nearest` has the numbers of the chunks nearest to each question, nearest first.
    """

    ids: list[str]
    texts: Texts
    vectors: Vector
    queries: list[str]
    questions: list[str]
    question_vectors: Vector
    judged: dict[str, dict[str, int]]
    nearest: list[list[int]]

    @classmethod
    def read(cls, folder: Path) -> Library:
        """The library that `benchmarks.peers.steelyard` wrote."""
        words = json.loads((folder / "library.json").read_text())
        return cls(
            texts=Texts(folder / "chunks.jsonl", len(words["ids"])),
            vectors=np.load(folder / "vectors.npy", mmap_mode="r"),
            question_vectors=np.load(folder / "asked.npy"),
            **words,
        )


def write(
    folder: Path,
    chunks: Iterable[tuple[str, str, Vector]],
    count: int,
    *,
    queries: list[str],
    questions: list[str],
    question_vectors: Vector,
    judged: dict[str, dict[str, int]],
) -> None:
    """Write a library of `count` chunks, each an id, a text and a vector."""
    shape = (count, question_vectors.shape[1])
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, shape)
    ids = []
    with (folder / "chunks.jsonl").open("w", encoding="utf-8") as lines:
        for i, (key, text, vector) in enumerate(chunks):
            vectors[i] = vector
            ids.append(key)
            lines.write(json.dumps(text) + "\n")
    if len(ids) != count:
        raise RuntimeError(f"{len(ids)} chunks were read, {count} counted.")
    vectors.flush()
    np.save(folder / "asked.npy", question_vectors)
    nearest = [] if judged else _nearest(vectors, question_vectors).tolist()
    words = {"ids": ids, "queries": queries, "questions": questions}
    words |= {"judged": judged, "nearest": nearest}
    (folder / "library.json").write_text(json.dumps(words))  # last: it says that all is there


def _nearest(vectors: Vector, questions: Vector) -> npt.NDArray[np.int64]:
    """The numbers of the RESULTS vectors nearest to each question, a block of vectors at a time."""
    best = np.full((len(questions), 0), 0.0)
    numbers = np.full((len(questions), 0), 0)
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        best = np.hstack([best, questions @ block.T])
        more = np.broadcast_to(np.arange(start, start + len(block)), (len(questions), len(block)))
        numbers = np.hstack([numbers, more])
        nearest = np.argsort(-best, axis=1)[:, :RESULTS]
        best = np.take_along_axis(best, nearest, 1)
        numbers = np.take_along_axis(numbers, nearest, 1)
    return numbers


class Peer(Protocol):
    """The protocol of a peer's class `Searcher`, which builds its index when it is made.

    SETTINGS describes its configuration. `processes` are other processes that work for it.
    """

    SETTINGS: str
    processes: list[int]

    def __init__(self, library: Library, folder: Path) -> None: ...

    def search(self, question: str, vector: Vector) -> list[str]:
        """The numbers of the best `CHUNKS` chunks in the library, as text, best first."""

    def nearest(self, question: str, vector: Vector) -> list[str]:
        """The `RESULTS` nearest chunks by vectors alone; only for peers that search them by an
        index.
        """


def build_once(place: Path, built: str, build: Callable[[], None]) -> None:
    """Build the index at `place` unless one of this library and the description `built` exists."""
    stamp = place.with_name(f"{place.name}.stamp")
    library = (place.parent / "library.json").stat()
    now = f"{built}\n{library.st_mtime_ns} {library.st_size}"
    if stamp.exists() and stamp.read_text() == now:
        return
    stamp.unlink(missing_ok=True)
    build()
    stamp.write_text(now)


def fused(*rankings: list[str]) -> list[str]:
    """The best of several rankings by reciprocal rank fusion."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, each in enumerate(ranking, start=1):
            scores[each] = scores.get(each, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda each: -scores[each])[:CHUNKS]


def ndcg(ranking: list[str], grades: dict[str, int]) -> float:
    """nDCG@10 with linear gain (Järvelin & Kekäläinen 2002)."""
    gains = [grades.get(each, 0) for each in ranking[:RESULTS]]
    best = sorted(grades.values(), reverse=True)[:RESULTS]
    discounts = 1 / np.log2(np.arange(2, RESULTS + 2))
    ideal = float(np.dot(best, discounts[: len(best)]))
    return float(np.dot(gains, discounts[: len(gains)])) / ideal if ideal else 0.0


def recall(results: list[str], nearest: list[int]) -> float:
    """The share of the exactly nearest chunks that are among the results (recall@10)."""
    return len({*map(int, results[:RESULTS])} & {*nearest}) / len(nearest)
