"""Ranked candidates and their explanations: Candidate, Contribution, Explanation, Hit, Group."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from search.domain.signals import Signal


class EvidenceLevel(StrEnum):
    """How well results, or an answer, bear out an answer to the question."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class IdentifierMatch:
    """The match of a chunk with an identifier of the query.

    `strength` is 1 for the full form, less for a tail; `place` is 0 title, 1 heading, 2 body.
    """

    form: str
    strength: float
    place: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that a candidate generator returned, with its raw score under every signal.

    A signal missing from `raw` did not run, or cannot score this chunk. A raw score of 0 or
    less under any signal but vector and recency means that nothing matched. `boosts` counts the
    matches in its text of each of the profile's boosts, by name. `pin` is its document's place
    among those pinned to the query, from 0. `signature`: near-duplicates differ in few of its 64
    bits. `embedding` holds half-precision numbers, big-endian; None if not requested.
    """

    chunk_id: int
    document_id: int
    raw: Mapping[Signal, float]
    identifier: IdentifierMatch | None = None
    boosts: Mapping[str, int] = field(default_factory=dict)
    pin: int | None = None
    signature: int | None = None
    embedding: bytes | None = field(default=None, repr=False)


class Operation(StrEnum):
    """The operation by which a node of an explanation combines its parts' values."""

    SUM = "sum"
    PRODUCT = "product"
    LARGEST = "largest"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number that an explanation does not explain further."""

    label: str
    value: float

    @property
    def parts(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Contribution:
    """One signal's part of a score: `value` = `weight` x `normalised`, from the `raw` score."""

    signal: Signal
    raw: float | None
    normalised: float
    weight: float

    @property
    def value(self) -> float:
        return self.weight * self.normalised

    @property
    def label(self) -> str:
        return self.signal.value

    @property
    def operation(self) -> Operation:
        return Operation.PRODUCT

    @property
    def parts(self) -> tuple[Node, ...]:
        return (Leaf("weight", self.weight), Leaf("strength", self.normalised))


@dataclass(frozen=True, slots=True)
class Combination:
    """The sum, product or maximum of its parts."""

    label: str
    operation: Operation
    parts: tuple[Node, ...]
    value: float = field(init=False)

    def __post_init__(self) -> None:
        combine = _COMBINE[self.operation]
        object.__setattr__(self, "value", combine([part.value for part in self.parts]))


Node = Leaf | Contribution | Combination
"""A part of an explanation. Each has a label, a value and parts; all but leaves an operation."""

_COMBINE: Mapping[Operation, Callable[[list[float]], float]] = {
    Operation.SUM: math.fsum,
    Operation.PRODUCT: math.prod,
    Operation.LARGEST: lambda values: max(values, default=0.0),
}


@dataclass(frozen=True, slots=True)
class Tier:
    """A rank before any score. Lower `order` comes first; one that begins with 1 has no reason."""

    order: tuple[float, ...] = (1.0,)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons for a hit's rank: the tier first, then the score.

    The score is the value of `root`, a tree over the contributions. `note` is a sentence on why its
    weights are not the query's; mostly empty.
    """

    contributions: tuple[Contribution, ...]
    tier: Tier
    root: Node
    note: str = ""

    @property
    def score(self) -> float:
        return self.root.value

    @property
    def adjustments(self) -> tuple[tuple[Operation, Node], ...]:
        """The factors and terms applied to the contributions' combination, in order.

        They are boosts and feedback; the result is the score.
        """
        node, adjustments = self.root, []
        while isinstance(node, Combination) and isinstance(node.parts[0], Combination):
            adjustments.append([(node.operation, part) for part in node.parts[1:]])
            node = node.parts[0]
        return tuple(pair for step in reversed(adjustments) for pair in step)

    def share(self, signal: Signal) -> float:
        """The signal's contribution before any boost; 0 if none."""
        return math.fsum(part.value for part in self.contributions if part.signal is signal)


class Source(Protocol):
    """The ranking of a query, by the columns of its candidates."""

    def candidate(self, column: int) -> Candidate: ...

    def explanation(self, column: int) -> Explanation: ...

    def score(self, column: int) -> float: ...


@dataclass(slots=True, eq=False)
class Hit:
    """A ranked candidate. `rank` counts from 1 over the whole ranking, not the page.

    Its candidate and explanation are built lazily from `source`'s columns: of the hundreds of hits
    of a ranking a page shows ten.
    """

    chunk_id: int
    document_id: int
    rank: int
    source: Source = field(repr=False)
    column: int

    def __eq__(self, other: object) -> bool:
        """Whether candidate, rank and explanation are equal."""
        if not isinstance(other, Hit) or self.rank != other.rank:
            return False
        ours, theirs = (self.candidate, self.explanation), (other.candidate, other.explanation)
        return ours == theirs

    __hash__ = None  # type: ignore[assignment]

    @property
    def candidate(self) -> Candidate:
        return self.source.candidate(self.column)

    @property
    def explanation(self) -> Explanation:
        return self.source.explanation(self.column)

    @property
    def score(self) -> float:
        return self.explanation.score

    @property
    def ranked_score(self) -> float:
        """The number that ranked it: `score` up to its last bits, without an explanation."""
        return self.source.score(self.column)


T = TypeVar("T")


@dataclass(slots=True)  # a frozen one takes three times as long to make, of hundreds in a ranking
class Group(Generic[T]):
    """A document in a ranking: its best hit, and the hits folded under it, best first.

    `folded` are the other hits of the same document; `copies` hits of other documents that are
    near-duplicates of one of this group's. A hit is a column, or an object made from one. `team`
    is that of the interleaved ranking which picked it, "" for both; None in other rankings.
    """

    best: T
    folded: tuple[T, ...] = ()
    copies: tuple[T, ...] = ()
    team: str | None = None
