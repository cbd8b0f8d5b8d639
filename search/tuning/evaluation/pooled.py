"""W2: a wide find as arrays: small enough to keep for every golden query, ready to be ranked.

A row a candidate, by chunk id. `found` makes of it what `weighing.weigh` ranks; the what-if
over the whole golden set (`whatif`) ranks the arrays as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from search.domain import Candidate, IdentifierMatch, Query, Signal, TermStatistic
from search.engine.found import Found
from search.query.language import Reading
from search.retrieval.statement import HOLDERS, PINNED

SIGNALS = tuple(Signal)
FINDERS = (*(signal.value for signal in SIGNALS), HOLDERS, PINNED)
ABSENT = -1
HALF = np.dtype("<f2")  # what embeddings are kept as


def row_type(boosts: int) -> np.dtype[Any]:
    """What is kept of a candidate besides its embedding.

    `raw` has NaN for a signal that cannot score it, `places` 0 for what did not bring it; `form`
    points into the pool's forms, and is ABSENT, as `pin` is, where there is none.
    """
    return np.dtype(
        [
            ("chunk", "<i8"), ("document", "<i8"), ("signature", "<i8"), ("signed", "?"),
            ("embedded", "?"), ("pin", "<i2"), ("form", "<i2"), ("held_at", "<i2"),
            ("strength", "<f8"), ("raw", "<f8", (len(SIGNALS),)),
            ("places", "<u2", (len(FINDERS),)), ("counts", "<u2", (boosts,)),
        ]
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The candidates of one query, as far as any profile it covers looks.

    `boosts` names what `counts` count (see `ranking.boosts.sought`), in their order. `embeddings`
    has a row for each candidate that has one, in their order; None where they were not loaded.
    `depth` is how many candidates each signal brought at most.
    """

    query: Query
    rows: npt.NDArray[Any]
    depth: int
    embeddings: npt.NDArray[Any] | None = None
    boosts: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    terms: tuple[TermStatistic, ...] = ()
    readings: tuple[Reading, ...] = ()
    by_meaning: bool = False
    at: datetime | None = None

    @classmethod
    def of(cls, found: Found, depth: int, boosts: tuple[str, ...]) -> Self:
        """The pool of a wide find in which these boosts were counted."""
        pairs = sorted(
            zip(found.candidates, found.places, strict=True), key=lambda pair: pair[0].chunk_id
        )
        held = (each.identifier for each, _ in pairs)
        forms = tuple(dict.fromkeys(match.form for match in held if match is not None))
        rows = np.zeros(len(pairs), row_type(len(boosts)))
        for row, (candidate, places) in zip(rows, pairs, strict=True):
            _fill(row, candidate, places, boosts, forms)
        return cls(
            found.query,
            rows,
            depth,
            _embeddings([each.embedding for each, _ in pairs]),
            boosts,
            forms,
            found.terms,
            found.readings,
            found.by_meaning,
            found.at,
        )

    def found(self) -> Found:
        """The wide find that this is the pool of."""
        return Found(
            self.query,
            tuple(self._candidates()),
            self.terms,
            readings=self.readings,
            by_meaning=self.by_meaning,
            places=tuple(
                {name: int(place) for name, place in zip(FINDERS, row, strict=True) if place}
                for row in self.rows["places"]
            ),
            at=self.at,
        )

    def without_candidates(self) -> Found:
        """What was found besides the candidates."""
        return Found(self.query, (), self.terms, readings=self.readings, by_meaning=self.by_meaning)

    def facts(self) -> dict[str, Any]:
        """All but the arrays and the query, as JSON."""
        return {
            "depth": self.depth,
            "boosts": list(self.boosts),
            "forms": list(self.forms),
            "terms": [[term.lexeme, term.chunks, term.idf] for term in self.terms],
            "readings": [[each.config, each.chunks, each.words] for each in self.readings],
            "by_meaning": self.by_meaning,
            "dimensions": 0 if self.embeddings is None else int(self.embeddings.shape[1]),
        }

    @classmethod
    def from_facts(
        cls,
        query: Query,
        facts: Mapping[str, Any],
        rows: bytes,
        embeddings: bytes,
        at: datetime | None,
    ) -> Self:
        """What `facts` and the arrays' bytes describe."""
        boosts = tuple(facts["boosts"])
        vectors = np.frombuffer(embeddings, HALF).reshape(-1, facts["dimensions"] or 1)
        return cls(
            query,
            np.frombuffer(rows, row_type(len(boosts))),
            facts["depth"],
            vectors,
            boosts,
            tuple(facts["forms"]),
            tuple(TermStatistic(*values) for values in facts["terms"]),
            tuple(Reading(*values) for values in facts["readings"]),
            facts["by_meaning"],
            at,
        )

    def _candidates(self) -> list[Candidate]:
        vectors = iter(self.embeddings if self.embeddings is not None else ())
        return [_candidate(row, self, vectors) for row in self.rows]


def _fill(
    row: Any,
    candidate: Candidate,
    places: Mapping[str, int],
    boosts: tuple[str, ...],
    forms: tuple[str, ...],
) -> None:
    match = candidate.identifier
    row["chunk"], row["document"] = candidate.chunk_id, candidate.document_id
    row["signature"] = candidate.signature or 0
    row["signed"] = candidate.signature is not None
    row["embedded"] = candidate.embedding is not None
    row["pin"] = ABSENT if candidate.pin is None else candidate.pin
    row["form"] = ABSENT if match is None else forms.index(match.form)
    row["held_at"], row["strength"] = (match.place, match.strength) if match else (0, 0.0)
    row["raw"] = [candidate.raw.get(signal, np.nan) for signal in SIGNALS]
    row["places"] = [places.get(finder, 0) for finder in FINDERS]
    row["counts"] = [candidate.boosts.get(name, 0) for name in boosts]


def _embeddings(found: list[bytes | None]) -> npt.NDArray[Any]:
    held = [np.frombuffer(each, ">f2").astype(HALF) for each in found if each is not None]
    return np.stack(held) if held else np.zeros((0, 1), HALF)


def _candidate(row: Any, pool: Pool, vectors: Any) -> Candidate:
    form = int(row["form"])
    match = (
        IdentifierMatch(pool.forms[form], float(row["strength"]), int(row["held_at"]))
        if form != ABSENT
        else None
    )
    embedded = row["embedded"] and pool.embeddings is not None
    return Candidate(
        chunk_id=int(row["chunk"]),
        document_id=int(row["document"]),
        raw={
            signal: float(score)
            for signal, score in zip(SIGNALS, row["raw"], strict=True)
            if not np.isnan(score)
        },
        identifier=match,
        boosts={
            name: int(count)
            for name, count in zip(pool.boosts, row["counts"], strict=True)
            if count
        },
        pin=None if row["pin"] == ABSENT else int(row["pin"]),
        signature=int(row["signature"]) if row["signed"] else None,
        embedding=next(vectors).astype(">f2").tobytes() if embedded else None,
    )
