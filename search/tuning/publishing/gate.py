"""W: what was measured -> may it be published? Pure: `decide` knows no database.

The rules, in the order in which they are told:

1. The measure. Its mean over the golden queries may fall by `margin` below the active profile's.
   A larger fall is refused when it is clear (the 95% interval of the paired bootstrap lies below
   0), and when there are fewer than `min_queries` queries, of which an interval says nothing. A
   larger fall that is not clear is let through, and said.
2. Must be first. Where the active profile puts the document first, the candidate must as well;
   with `first_required`, or without an active profile, wherever a person asks for it.
3. Latency. The 95th percentile may rise by `latency_margin`, and by `latency_floor_ms` whatever
   that comes to. Fewer than `min_queries` queries have no percentile worth the name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from search.tuning.evaluation.measures import Interval, Values, difference, means

# A query whose measure moves by less has only traded places of equal worth.
MOVED = 0.005
NAMED = 8


class Kind(StrEnum):
    MEASURE = "measure"
    FIRST = "first"
    LATENCY = "latency"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a profile must hold. `margin` is in the measure's own units, 0 to 1; `latency_margin` a
    share of the active profile's p95."""

    measure: str = "nDCG@10"
    margin: float = 0.01
    min_queries: int = 20
    latency_margin: float = 0.3
    latency_floor_ms: float = 50
    first_required: bool = False


@dataclass(frozen=True, slots=True)
class First:
    """Whether a document that must be first is. `held`: under the active profile; None: there is
    none."""

    holds: bool
    held: bool | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate beside the active profile; without one, what is `before` is None.

    `values` and `before` have each measure by query, over the same queries; `firsts` the queries
    that name a document. `names` are the queries as people may read them.
    """

    values: Values
    before: Values | None = None
    firsts: Mapping[str, First] = field(default_factory=dict)
    p95: float | None = None
    p95_before: float | None = None
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of the gate's, and the queries that it is about, the worst first."""

    kind: Kind
    text: str
    refuses: bool = False
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate found; nothing that refuses lets the profile through."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return not any(finding.refuses for finding in self.findings)

    @property
    def refusals(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.refuses)


def note(text: str) -> Verdict:
    """A verdict that lets through and says why it measured nothing."""
    return Verdict((Finding(Kind.NOTE, text),))


def decide(rules: Rules, measured: Measured) -> Verdict:
    """Whether a candidate may be published, with every reason."""
    found = (
        _of_measure(rules, measured),
        _of_firsts(rules, measured),
        _of_latency(rules, measured),
    )
    return Verdict(tuple(finding for each in found for finding in each))


def moved(measure: str, values: Values, before: Values) -> tuple[list[str], list[str]]:
    """The queries that lost and those that won by the measure, the furthest first."""
    changes = {query: values[query][measure] - before[query][measure] for query in values}
    ordered = sorted(changes, key=lambda query: (changes[query], query))
    lost = [query for query in ordered if changes[query] <= -MOVED]
    won = [query for query in reversed(ordered) if changes[query] >= MOVED]
    return lost, won


def _of_measure(rules: Rules, measured: Measured) -> list[Finding]:
    name, count = rules.measure, len(measured.values)
    if not count:
        text = "No golden query has an answer among the documents, so no measure was taken."
        return [Finding(Kind.NOTE, text)]
    if measured.before is None:
        mean = means(measured.values)[name]
        text = f"{name} is {mean:.3f} on {_queries(count)}. No profile was active to compare with."
        return [Finding(Kind.MEASURE, text)]
    interval = difference(measured.values, measured.before, name)
    lost, _ = moved(name, measured.values, measured.before)
    # What two sums of floats differ by is no fall.
    too_far = interval.mean < -rules.margin - 1e-9
    told = f"{name} {_change(interval)} on {_queries(count)}"
    if not too_far:
        return [Finding(Kind.MEASURE, f"{told}.", queries=tuple(lost))]
    beyond = f"{told}, beyond the margin of {rules.margin:.3f}"
    worst = f" Lost most: {_named(lost, measured.names)}." if lost else ""
    if count < rules.min_queries:
        text = f"{beyond}; {_queries(count)} are too few to call that chance.{worst}"
        return [Finding(Kind.MEASURE, text, refuses=True, queries=tuple(lost))]
    if interval.high < 0:
        return [Finding(Kind.MEASURE, f"{beyond}.{worst}", refuses=True, queries=tuple(lost))]
    text = f"{beyond}, but it may be chance. More judged queries would tell.{worst}"
    return [Finding(Kind.MEASURE, text, queries=tuple(lost))]


def _of_firsts(rules: Rules, measured: Measured) -> list[Finding]:
    failing = [query for query, first in measured.firsts.items() if not first.holds]
    binding = [
        query
        for query in failing
        if rules.first_required or measured.firsts[query].held is not False
    ]
    others = [query for query in failing if query not in binding]
    found = []
    if binding:
        text = (
            f"For {_queries(len(binding))} the document that must be first is not: "
            f"{_named(binding, measured.names)}."
        )
        found.append(Finding(Kind.FIRST, text, refuses=True, queries=tuple(binding)))
    if others:
        text = f"Not first, as before, though it must be: {_named(others, measured.names)}."
        found.append(Finding(Kind.NOTE, text, queries=tuple(others)))
    if measured.firsts and not failing:
        text = f"Every document that must be first is, on {_queries(len(measured.firsts))}."
        found.append(Finding(Kind.FIRST, text))
    return found


def _of_latency(rules: Rules, measured: Measured) -> list[Finding]:
    now, before = measured.p95, measured.p95_before
    if now is None or before is None:
        return []
    told = f"95 of 100 searches take up to {now:.0f} ms, before {before:.0f} ms"
    if len(measured.names) < rules.min_queries:
        text = f"{told}: too few queries to judge latency by."
        return [Finding(Kind.LATENCY, text)]
    allowed = max(before * (1 + rules.latency_margin), before + rules.latency_floor_ms)
    if now <= allowed:
        return [Finding(Kind.LATENCY, f"{told}.")]
    text = f"{told}: the margin of {rules.latency_margin:.0%} allows {allowed:.0f} ms."
    return [Finding(Kind.LATENCY, text, refuses=True)]


def _change(interval: Interval) -> str:
    if interval.mean == interval.low == interval.high == 0:
        return "stays as it is"
    verb = "rises" if interval.mean > 0 else "falls"
    return (
        f"{verb} by {abs(interval.mean):.3f} "
        f"(95% interval {interval.low:+.3f} to {interval.high:+.3f})"
    )


def _queries(count: int) -> str:
    return "1 golden query" if count == 1 else f"{count} golden queries"


def _named(queries: Sequence[str], names: Mapping[str, str]) -> str:
    shown = ", ".join(f"“{names.get(query, query)}”" for query in queries[:NAMED])
    rest = len(queries) - NAMED
    return f"{shown} and {rest} more" if rest > 0 else shown
