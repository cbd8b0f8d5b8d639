"""The protocol of a signal's implementation, and the registry of those that are installed.

The retrieval statement, engines beside Postgres, labels, forms and explanations iterate over it, in
the order of registration: the core's signals (`search.apps`), then those of the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.db.models import QuerySet
from django.utils.translation import gettext

from common.probes import Finding
from ingestion.models import Chunk, EmbeddingSpace
from search.domain import Profile, Query, Signal


@dataclass(frozen=True, slots=True)
class SignalSQL:
    """One signal's part of the statement.

    `find` selects the ids of its candidates, limited to the profile's depth; None if it only
    scores. `score` is an expression over chunk `c` and document `d`, NULL if the signal cannot
    score the chunk. Both may read the common tables `term` and `question`, and the signal's own
    `tables`, which follow those. `score_params` are the parameters of all this SQL, by name.
    `embedding` is an expression for the chunk's embedding, as bytes. `join` follows the tables `c`
    and `d`; `score` and `embedding` may read it.
    """

    score: str
    find: QuerySet[Chunk, Any] | str | None = None
    score_params: Mapping[str, Any] = field(default_factory=dict)
    tables: str = ""
    embedding: str = "NULL::bytea"
    join: str = ""


class SearchedChunks(Protocol):
    """The chunks that a question may return; `narrowed`: maybe not all of their collections'."""

    @property
    def chunks(self) -> QuerySet[Chunk]: ...

    @property
    def narrowed(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a statement's signals depend on. `requested` are the optional ones to run."""

    query: Query
    scope: SearchedChunks
    profile: Profile
    requested: frozenset[Signal]
    space: EmbeddingSpace | None = None
    embedding: Sequence[float] | None = None


class SignalPart:
    """The implementation of a signal; a subclass overrides what differs.

    `label` is its name, `advice` says what its weight does, and `unavailable` what a search without
    it shows. `weights_table` is the common table with the weights of the words that it scores,
    `weights_sql` the SQL of that table if it is the signal's own: an engine beside Postgres scores
    chunks by them. Empty: only Postgres can score it.
    """

    signal: Signal
    label: Any
    advice: Any
    unavailable: Any
    weights_table: str = ""
    weights_sql: str = ""

    def runs(self, inputs: Inputs) -> bool:
        """Whether the statement has the signal."""
        return self.signal in inputs.requested

    def sql(self, inputs: Inputs) -> SignalSQL:
        """Its parts of the statement, without values of the question."""
        raise NotImplementedError

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        """The values of the question that its SQL names."""
        return {}

    def scorer(self, profile: Profile) -> str:
        """The name of its scoring method under the profile, if it has several."""
        return ""

    def measure(self, scorer: str) -> Any:
        """What its raw score is, for the explanation."""
        raise NotImplementedError

    def can_engine_score(self, profile: Profile) -> bool:
        """Whether an engine beside Postgres can score it under the profile."""
        return bool(self.weights_table)

    def is_available(self) -> bool:
        """Whether the data that it needs is installed."""
        return True

    def findings(self) -> Iterator[Finding]:
        """What a site lacks whose active profile weighs the signal."""
        yield from ()

    def prepare(self, query: Query) -> Query:
        """The query with what the signal adds to it."""
        return query

    def companions(self, profile: Profile) -> frozenset[Signal]:
        """Other signals that must run with it, whatever their weights."""
        return frozenset()


_parts: dict[Signal, SignalPart] = {}


def register(*parts: SignalPart) -> None:
    """Add the signals, or replace those registered under the same name."""
    _parts.update({part.signal: part for part in parts})


def installed() -> Iterator[SignalPart]:
    """The installed signals, in the order of registration."""
    return iter(_parts.values())


def part(signal: Signal) -> SignalPart | None:
    """The signal's implementation; None if its part is not installed."""
    return _parts.get(signal)


def is_available(signal: Signal) -> bool:
    """Whether the signal's part and its data are installed."""
    implementation = _parts.get(signal)
    return implementation is not None and implementation.is_available()


def label(signal: Signal) -> Any:
    """The signal's name for people; its value if its part is not installed."""
    implementation = _parts.get(signal)
    return signal.value if implementation is None else implementation.label


def by_weight() -> Iterator[SignalPart]:
    """The installed signals, in the order of weights."""
    return (_parts[signal] for signal in Signal if signal in _parts)


def problem_with(shares: Mapping[str, Any]) -> str:
    """Why nobody should save these weights, by the signals' values; empty if nothing is wrong."""
    missing = [each.value for each in Signal if shares.get(each.value) and each not in _parts]
    if not missing:
        return ""
    text = gettext("Not installed, and so without effect: %(names)s. Set the weight to 0.")
    return text % {"names": ", ".join(missing)}
