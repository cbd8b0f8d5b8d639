"""The protocol of a signal's implementation, and the registry of those that are installed.

The retrieval statement, engines beside Postgres, labels, forms and explanations iterate over it, in
the order of registration: the core's signals (`search.apps`), then those of the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from django.db.models import BooleanField, FloatField, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext

from common.probes import Finding
from ingestion.models import Chunk, EmbeddingSpace
from search.domain import Profile, Query, Signal
from search.signals.query_terms import AskedWords


@dataclass(frozen=True, slots=True)
class SignalSQL:
    """One signal's part of the statement.

    `find` selects the ids of its candidates, limited to the profile's depth; None if it only
    scores. `score` is an expression over chunk `c` and document `d`, NULL if the signal cannot
    score the chunk. Both may read the common table `term`, and the signal's own
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
    """The inputs of a statement's signals. `requested` are the optional signals to run.

    `words` are the question's words, known after the first statement.
    """

    query: Query
    scope: SearchedChunks
    profile: Profile
    requested: frozenset[Signal]
    space: EmbeddingSpace | None = None
    embedding: Sequence[float] | None = None
    words: AskedWords = field(default_factory=AskedWords)


class SignalPart:
    """The implementation of a signal; a subclass overrides what differs.

    `label` is its name, `advice` says what its weight does, and `unavailable` what a search without
    it shows. `words` names the words that it scores:
    an engine beside Postgres scores chunks by their weights. Empty: only Postgres can score it.
    `language` is the only text configuration of
    a question to which it adds words; empty: of any.
    """

    signal: Signal
    label: Any
    advice: Any
    unavailable: Any
    words: str = ""
    language: str = ""

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
        """The description of its raw score, for the explanation."""
        raise NotImplementedError

    def can_engine_score(self, profile: Profile) -> bool:
        """Whether an engine beside Postgres can score it under the profile."""
        return bool(self.words)

    def is_available(self) -> bool:
        """Whether the data that it needs is installed."""
        return True

    def findings(self) -> Iterator[Finding]:
        """Findings on missing data, for a site whose active profile weighs the signal."""
        yield from ()

    def prepare(self, query: Query) -> Query:
        """The query with the signal's additions."""
        return query

    def added(self, query: Query) -> Mapping[str, float]:
        """The words beside the question's own that it scores, with the weight of each."""
        return {}

    def companions(self, profile: Profile) -> frozenset[Signal]:
        """Other signals that must run with it, whatever their weights."""
        return frozenset()


_parts: dict[Signal, SignalPart] = {}


ENGINE_JOIN = "LEFT JOIN engine ON engine.id = c.id\n"


@dataclass(frozen=True, slots=True)
class External:
    """An engine's candidates: ids by signal, the best first, and the scores of all of them.

    They are checked against the scope like any others, so that an outdated point never becomes a
    candidate. Postgres computes scores that the engine lacks. `scores` has a score for each of
    `ids`, by signal; None where the engine has none. `words` are those by which it searched.
    """

    candidates: Mapping[Signal, Sequence[int]]
    ids: Sequence[int]
    scores: Mapping[Signal, Sequence[float | None]]
    words: AskedWords

    @property
    def shape(self) -> tuple[frozenset[Signal], frozenset[Signal]]:
        """Everything that determines the text of the statement."""
        return frozenset(self.candidates), frozenset(self.scores)

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the tables."""
        candidates = {
            f"brought_{signal.value}": list(ids) for signal, ids in self.candidates.items()
        }
        scores = {f"engine_{signal.value}": list(each) for signal, each in self.scores.items()}
        return {**candidates, **scores, "engine_ids": list(self.ids)}

    def tables(self) -> str:
        """The common table of the engine's scores."""
        arrays = ["%(engine_ids)s::bigint[]"]
        arrays += [f"%(engine_{signal.value})s::float8[]" for signal in self.scores]
        columns = ", ".join(("id", *(signal.value for signal in self.scores)))
        return f"engine({columns}) AS MATERIALIZED (SELECT * FROM unnest({', '.join(arrays)})),\n"

    def instead_of(
        self, part: SignalPart, own: SignalSQL, chunks: QuerySet[Chunk], depth: int
    ) -> SignalSQL:
        """The signal's SQL with the engine's candidates and scores in place of Postgres' `own`."""
        signal = part.signal
        if signal in self.scores:
            own = replace(own, score=f"coalesce(engine.{signal.value}, {own.score})")
        if signal not in self.candidates:
            return own
        name = f"brought_{signal.value}"
        table = (
            f"{name}(id, place) AS MATERIALIZED"
            f" (SELECT * FROM unnest(%({name})s::bigint[]) WITH ORDINALITY),\n"
        )
        # An array, which Postgres evaluates once: the condition uses the primary key.
        among = RawSQL(
            f"ingestion_chunk.id = ANY(ARRAY(SELECT id FROM {name}))",
            (),
            output_field=BooleanField(),
        )
        place = RawSQL(
            f"(SELECT place FROM {name} found WHERE found.id = ingestion_chunk.id)",
            (),
            output_field=FloatField(),
        )
        find = chunks.filter(among).order_by(place).values("pk")[:depth]
        # Tables that find candidates have no reader left.
        return replace(own, find=find, tables=table)


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
    """A sentence on why these weights, by the signals' values, must not be saved; else empty."""
    missing = [each.value for each in Signal if shares.get(each.value) and each not in _parts]
    if not missing:
        return ""
    text = gettext("Not installed, and so without effect: %(names)s. Set the weight to 0.")
    return text % {"names": ", ".join(missing)}
