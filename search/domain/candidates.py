"""Q3: the candidates of a question as columns: all that a ranking is made of, whatever the weights.

A search finds the candidates that its profile looks for. A *wide* candidate set looks further and
keeps which generator brought each candidate: from it the ranking takes what a search under any one
profile would have found (docs/adr/0025-pools-and-what-if.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ingestion.lexical import signatures
from search.domain.choices import Signal
from search.domain.questions import Query, Reading, TermStatistic
from search.domain.rankings import Candidate, IdentifierMatch

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

SIGNALS = tuple(Signal)
# What brings candidates besides the signals. An identifier's holders have a depth of their own.
HOLDERS, PINNED = "identifier", "pin"
GENERATORS = (*(signal.value for signal in SIGNALS), HOLDERS, PINNED)
# A code that more chunks hold is a common word there (`max_length` in Django's documentation):
# in a longer query it is left to the keyword signal. A guess, twice the usual depth.
MAX_HOLDERS = 200
# A wide candidate set has recency by this half-life in days, from which any other's follows.
WIDE_HALF_LIFE = 36_500
ABSENT = -1
HALF = np.dtype("<f2")  # what embeddings are kept as


def row_type(boosts: int) -> np.dtype[Any]:
    """The columns of a candidate besides its embedding; `boosts` is how many boosts are counted.

    `raw` has NaN for a signal that cannot score it; `places` its place from 1 in what each of
    GENERATORS brought, 0 where it did not bring it. `form` points into `Candidates.forms`, and is
    ABSENT, as `pin` is, where there is none.
    """
    return np.dtype(
        [
            ("chunk", "<i8"), ("document", "<i8"), ("signature", "<i8"), ("signed", "?"),
            ("embedded", "?"), ("pin", "<i2"), ("form", "<i2"), ("held_at", "<i2"),
            ("strength", "<f8"), ("raw", "<f8", (len(SIGNALS),)),
            ("places", "<u2", (len(GENERATORS),)), ("counts", "<u2", (boosts,)),
        ]
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of one query, a row each by ascending chunk id, and what retrieval learned.

    `embeddings` has a row for each candidate that is `embedded`, in their order; None where nobody
    asked for them. `boosts` names what `counts` count (`ranking.boosts.sought`), in their order.
    `terms` are the query's, rarest first; `unknown` those words that no searched text holds;
    `readings` the query under the text configurations searched. `by_meaning`: the vector signal
    ran. `degraded` names the signals that could not. `at` is when they were found.
    """

    query: Query
    rows: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, row_type(0)), repr=False)
    embeddings: npt.NDArray[Any] | None = field(default=None, repr=False)
    boosts: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    terms: tuple[TermStatistic, ...] = ()
    unknown: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    by_meaning: bool = False
    degraded: tuple[Signal, ...] = ()
    is_wide: bool = False
    at: datetime | None = None
    milliseconds: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, kept: Booleans) -> Self:
        """The candidates where `kept` is true."""
        vectors = self.embeddings
        if vectors is not None:
            vectors = vectors[kept[self.rows["embedded"]]]
        return replace(self, rows=self.rows[kept], embeddings=vectors)

    def without_vectors(self) -> Self:
        """The same candidates as if the vector signal had not run."""
        rows = self.rows.copy()
        rows["raw"][:, SIGNALS.index(Signal.VECTOR)] = np.nan
        rows["embedded"] = False
        return replace(self, rows=rows, embeddings=None, by_meaning=False)

    def candidate(self, row: int, raw: Sequence[float] | None = None) -> Candidate:
        """The candidate of a row as an object, without its embedding.

        `raw` are the scores by signal that count in place of the row's.
        """
        found = self.rows[row]
        scores = found["raw"].tolist() if raw is None else raw
        form = int(found["form"])
        counts = zip(self.boosts, found["counts"].tolist(), strict=True)
        return Candidate(
            chunk_id=int(found["chunk"]),
            document_id=int(found["document"]),
            raw={
                signal: score
                for signal, score in zip(SIGNALS, scores, strict=True)
                if not math.isnan(score)
            },
            identifier=(
                IdentifierMatch(self.forms[form], float(found["strength"]), int(found["held_at"]))
                if form != ABSENT
                else None
            ),
            boosts={name: count for name, count in counts if count},
            pin=None if found["pin"] == ABSENT else int(found["pin"]),
            signature=int(found["signature"]) if found["signed"] else None,
        )

    @cached_property
    def documents(self) -> tuple[Integers, Integers]:
        """The documents, each once, and each candidate's as a place among them."""
        found, places = np.unique(self.rows["document"], return_inverse=True)
        return found, places

    @cached_property
    def embedding_rows(self) -> Integers:
        """Where each candidate's embedding stands in `embeddings`."""
        return np.cumsum(self.rows["embedded"], dtype=np.int64) - 1

    @cached_property
    def lengths(self) -> Floats:
        """The Euclidean lengths of the embeddings, never 0."""
        if self.embeddings is None:
            return np.zeros(0)
        wide = self.embeddings.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        return np.asarray(np.maximum(lengths, np.finfo(np.float64).tiny))

    @cached_property
    def duplicates(self) -> Mapping[int, frozenset[int]]:
        """For each row that has near-duplicates the rows of these, whatever their documents."""
        signed = np.flatnonzero(self.rows["signed"])
        # Of a negative number numpy counts the magnitude's bits.
        bits = np.ascontiguousarray(self.rows["signature"][signed]).view(np.uint64)
        # All at once: bands of bits in dictionaries, as in Manku 2007, take longer in Python.
        alike = np.bitwise_count(bits[:, None] ^ bits[None, :]) <= signatures.MAX_DISTANCE
        if np.count_nonzero(alike) == len(signed):
            return {}
        np.fill_diagonal(alike, val=False)
        return {
            int(signed[place]): frozenset(signed[alike[place]].tolist())
            for place in np.flatnonzero(alike.any(axis=1))
        }


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a search looks: so many candidates a signal, and the signals that run."""

    depth: int
    signals: frozenset[Signal]

    def brings(self, rows: npt.NDArray[Any]) -> Booleans:
        """Whether each candidate of a wide set is one of this search's too."""
        limits = np.array([self._limit(generator) for generator in GENERATORS])
        places = rows["places"]
        return np.asarray(((places > 0) & (places <= limits)).any(axis=1))

    def _limit(self, generator: str) -> float:
        """The last place of a generator that this search still takes."""
        if generator == HOLDERS:
            return max(self.depth, MAX_HOLDERS)
        if generator == PINNED:
            return math.inf
        return self.depth if Signal(generator) in self.signals else 0


def recency(wide: Floats, half_life: float, since: timedelta) -> Floats:
    """Recency by a half-life in days, `since` a wide candidate set was found that calls it `wide`.

    NaN where the wide one is.
    """
    with np.errstate(divide="ignore"):
        days = -np.log2(wide) * WIDE_HALF_LIFE + since / timedelta(days=1)
    return np.asarray(0.5 ** (days / half_life))


def stacked(embeddings: Sequence[bytes | None]) -> npt.NDArray[Any]:
    """Embeddings as the database sends them, big-endian, as rows; without those that are None."""
    held = [each for each in embeddings if each is not None]
    if not held:
        return np.zeros((0, 1), HALF)
    return np.frombuffer(b"".join(held), ">f2").reshape(len(held), -1).astype(HALF)
