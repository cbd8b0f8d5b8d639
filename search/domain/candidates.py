"""The candidate set of a question as columns: the input of a ranking, independent of weights.

A search retrieves the candidates that its profile asks for. A *wide* candidate set goes deeper and
records the candidate generators of each candidate, so that a ranking can reduce it to the
candidate set of a search under any one profile (docs/adr/0025-what-if.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ingestion.currency_dates import Currency, CurrencyState
from ingestion.lexical import near_duplicates
from search.domain.questions import Query, Reading, TermStatistic
from search.domain.rankings import Candidate, IdentifierMatch
from search.domain.signals import SIGNALS, Signal, Stage

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# The candidate generators besides the signals. An identifier's holders have their own depth.
IDENTIFIER, PINNED = "identifier", "pin"
GENERATORS = (*(signal.value for signal in SIGNALS), IDENTIFIER, PINNED)
# An identifier in more chunks than this is a common word (`max_length` in Django's documentation):
# in a longer query only the keyword signal scores it. A guess, twice the usual depth.
MAX_IDENTIFIER_MATCHES = 200
# The half-life in days of a wide candidate set's recency; any other is computed from it.
WIDE_HALF_LIFE = 36_500
ABSENT = -1
HALF = np.dtype("<f2")  # the dtype of stored embeddings


def row_type(boosts: int) -> np.dtype[Any]:
    """The dtype of a candidate's row without its embedding; `boosts`: the number of boosts counted.

    `raw` is NaN for a signal that cannot score it; `places` is its rank (from 1) in each of
    GENERATORS, 0 if that one did not return it. `form` indexes `Candidates.forms`, `language`
    `Candidates.languages`; `form`, `language` and `pin` are ABSENT if there is none.
    """
    return np.dtype(
        [
            ("chunk", "<i8"), ("document", "<i8"), ("signature", "<i8"), ("signed", "?"),
            ("embedded", "?"), ("pin", "<i2"), ("form", "<i2"), ("held_at", "<i2"),
            ("language", "<i2"),
            ("strength", "<f8"), ("raw", "<f8", (len(SIGNALS),)),
            ("places", "<u2", (len(GENERATORS),)), ("counts", "<u2", (boosts,)),
        ]
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate set of one query, a row each by ascending chunk id, with query statistics.

    `embeddings` has a row for each candidate that is `embedded`, in their order; None if not
    requested. `boosts` has the keys (`ranking.text_boosts.boost_key`) of `counts`, in their order;
    `languages` are the codes of the documents' languages.
    `terms` are the query's, rarest first, those of another spelling with no `times`, without those
    of the least weight in a long query, whose number is `left_out`; `unchecked`: more chunks have
    all words of its phrases than were read for the phrases; `unread` is the number of words at the
    query's end that its vector does not cover; `unknown` are its first plain words that no searched
    text contains; `expanded` is the number of terms that WordNet adds; `readings` are the query
    under the text configurations searched. `by_meaning`: the vector signal ran. `reranked` has the
    reranker's strengths by chunk, of the passages that it has read. `currency` has the documents
    that are not current, by id.
    `degraded` names the signals and stages that failed. `at` is the time of retrieval.
    """

    query: Query
    rows: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, row_type(0)), repr=False)
    embeddings: npt.NDArray[Any] | None = field(default=None, repr=False)
    boosts: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    terms: tuple[TermStatistic, ...] = ()
    left_out: int = 0
    unchecked: bool = False
    unknown: tuple[str, ...] = ()
    expanded: int = 0
    readings: tuple[Reading, ...] = ()
    by_meaning: bool = False
    reranked: Mapping[int, float] = field(default_factory=dict, repr=False)
    currency: Mapping[int, Currency] = field(default_factory=dict, repr=False)
    degraded: tuple[Signal | Stage, ...] = ()
    unread: int = 0
    languages: tuple[str, ...] = ()
    is_wide: bool = False
    at: datetime | None = None
    milliseconds: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def words(self) -> int:
        """The number of `terms` without those that only another spelling of a word yields."""
        return sum(term.times > 0 for term in self.terms)

    def candidate(self, row: int, raw: Sequence[float] | None = None) -> Candidate:
        """The candidate of a row as an object, without its embedding.

        `raw`: scores by signal that replace the row's.
        """
        values = self.rows[row]
        scores = values["raw"].tolist() if raw is None else raw
        form = int(values["form"])
        counts = zip(self.boosts, values["counts"].tolist(), strict=True)
        return Candidate(
            chunk_id=int(values["chunk"]),
            document_id=int(values["document"]),
            raw={
                signal: score
                for signal, score in zip(SIGNALS, scores, strict=True)
                if not math.isnan(score)
            },
            identifier=(
                IdentifierMatch(self.forms[form], float(values["strength"]), int(values["held_at"]))
                if form != ABSENT
                else None
            ),
            boosts={name: count for name, count in counts if count},
            pin=None if values["pin"] == ABSENT else int(values["pin"]),
            signature=int(values["signature"]) if values["signed"] else None,
        )

    @cached_property
    def documents(self) -> tuple[Integers, Integers]:
        """The distinct documents, and each candidate's index into them."""
        ids, places = np.unique(self.rows["document"], return_inverse=True)
        return ids, places

    @cached_property
    def embedding_rows(self) -> Integers:
        """The row of each candidate's embedding in `embeddings`."""
        return np.cumsum(self.rows["embedded"], dtype=np.int64) - 1

    def measured(self) -> tuple[Floats, Floats]:
        """The embeddings in double precision, and their Euclidean lengths, never 0."""
        if self.embeddings is None:
            return np.zeros((0, 1)), np.zeros(0)
        vectors = self.embeddings.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        return vectors, np.maximum(lengths, np.finfo(np.float64).tiny)

    @cached_property
    def duplicates(self) -> Mapping[int, frozenset[int]]:
        """The rows of each row's near-duplicates, in any document; only for rows that have some."""
        signed = np.flatnonzero(self.rows["signed"])
        # Unsigned, because numpy counts the bits of a negative number's magnitude.
        bits = np.ascontiguousarray(self.rows["signature"][signed]).view(np.uint64)
        # All pairs at once: hash tables of bit bands, as in Manku 2007, are slower in Python.
        alike = np.bitwise_count(bits[:, None] ^ bits[None, :]) <= near_duplicates.MAX_DISTANCE
        if np.count_nonzero(alike) == len(signed):
            return {}
        np.fill_diagonal(alike, val=False)
        return {
            int(signed[place]): frozenset(signed[alike[place]].tolist())
            for place in np.flatnonzero(alike.any(axis=1))
        }


def brings(
    rows: npt.NDArray[Any], depth: int, signals: frozenset[Signal], *, vector_only: bool
) -> Booleans:
    """Whether each candidate of a wide set belongs to the candidate set of a search.

    Of a search with these signals and this depth (candidates a signal); with `vector_only`, only
    the vector signal generates candidates.
    """
    generating = {Signal.VECTOR} if vector_only else signals
    limits = {signal.value: depth if signal in generating else 0.0 for signal in SIGNALS}
    limits |= {IDENTIFIER: max(depth, MAX_IDENTIFIER_MATCHES), PINNED: math.inf}
    places, last = rows["places"], np.array([limits[generator] for generator in GENERATORS])
    return np.asarray(((places > 0) & (places <= last)).any(axis=1))


def recency(wide: Floats, half_life: float, since: timedelta) -> Floats:
    """Recency for a half-life in days, from a candidate set's `wide` recency.

    `since`: the time since its retrieval. NaN where `wide` is.
    """
    with np.errstate(divide="ignore"):
        days = -np.log2(wide) * WIDE_HALF_LIFE + since / timedelta(days=1)
    return np.asarray(0.5 ** (days / half_life))


def facts(candidates: Candidates, depth: int) -> dict[str, Any]:
    """All but the arrays and the query, as JSON; `depth`: the most candidates of a signal."""
    vectors = candidates.embeddings
    return {
        "depth": depth,
        "boosts": list(candidates.boosts),
        "forms": list(candidates.forms),
        "terms": [[each.lexeme, each.chunks, each.idf, each.times] for each in candidates.terms],
        "unknown": list(candidates.unknown),
        "readings": [[each.config, each.chunks, each.words] for each in candidates.readings],
        "languages": list(candidates.languages),
        "by_meaning": candidates.by_meaning,
        "reranked": sorted(candidates.reranked.items()),
        # Only the fields that a ranking reads: the rest is for readers, and nobody reads pools.
        "currency": [[pk, each.state, each.behind] for pk, each in candidates.currency.items()],
        "expanded": candidates.expanded,
        "dimensions": 0 if vectors is None else int(vectors.shape[1]),
    }


def from_facts(
    query: Query, facts: Mapping[str, Any], rows: bytes, embeddings: bytes, at: datetime | None
) -> Candidates:
    """The candidate set that `facts` and the arrays' bytes describe."""
    boosts = tuple(facts["boosts"])
    return Candidates(
        query,
        np.frombuffer(rows, row_type(len(boosts))),
        np.frombuffer(embeddings, HALF).reshape(-1, facts["dimensions"] or 1),
        boosts,
        tuple(facts["forms"]),
        terms=tuple(TermStatistic(*values) for values in facts["terms"]),
        unknown=tuple(facts["unknown"]),
        readings=tuple(Reading(*values) for values in facts["readings"]),
        by_meaning=facts["by_meaning"],
        reranked=dict(facts.get("reranked", ())),
        currency={
            pk: Currency(CurrencyState(state), behind=tuple(behind))
            for pk, state, behind in facts.get("currency", ())
        },
        languages=tuple(facts["languages"]),
        expanded=facts["expanded"],
        is_wide=True,
        at=at,
    )
