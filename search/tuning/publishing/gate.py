"""The publish gate: measurements -> decision. Pure: `decide` uses no database.

The rules, in the order of their findings:

1. The measure. Its mean over the golden queries may fall by `margin` below the active profile's.
   A larger fall is refused if it is significant (the 95% interval of the paired bootstrap lies
   below 0), or if there are fewer than `min_queries` queries, too few for an interval. A larger
   fall that is not significant passes with a finding.
2. Must be first. Where the active profile ranks the document first, the candidate must as well;
   with `first_required`, or without an active profile, this applies to every such query.
3. Latency. The 95th percentile may rise by the share `latency_margin`, and by `latency_floor_ms`
   in any case. With fewer than `min_queries` queries it is not checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from search.tuning.evaluation.measures import Interval, Values, difference, means

# Smaller changes of a query's measure are ties among equally good documents.
MOVED = 0.005
NAMED = 8


class FindingKind(StrEnum):
    MEASURE = "measure"
    FIRST = "first"
    LATENCY = "latency"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of the gate. `margin` is in units of the measure, 0 to 1; `latency_margin` is a
    share of the active profile's p95."""

    measure: str = "nDCG@10"
    margin: float = 0.01
    min_queries: int = 20
    latency_margin: float = 0.3
    latency_floor_ms: float = 50
    first_required: bool = False


@dataclass(frozen=True, slots=True)
class First:
    """True in `holds` if a must-be-first document is first; `held`: under the active profile, None
    without one."""

    holds: bool
    held: bool | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a candidate and the active profile; without one, `before` is None.

    `values` and `before` have each measure by query, over the same queries; `firsts` the queries
    with a must-be-first document. `names` are the queries' texts, or placeholders.
    """

    values: Values
    before: Values | None = None
    firsts: Mapping[str, First] = field(default_factory=dict)
    p95: float | None = None
    p95_before: float | None = None
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of the gate: a sentence, and the affected queries, the worst first."""

    kind: FindingKind
    text: str
    refuses: bool = False
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The findings of the gate. The profile passes unless a finding refuses it."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return not any(finding.refuses for finding in self.findings)

    @property
    def refusals(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.refuses)


def note(text: str) -> Decision:
    """A decision that passes, with the reason why nothing was measured."""
    return Decision((Finding(FindingKind.NOTE, text),))


def decide(rules: Rules, measured: Measured) -> Decision:
    """The decision whether a candidate may be published, with all findings."""
    findings = (
        _of_measure(rules, measured),
        _of_firsts(rules, measured),
        _of_latency(rules, measured),
    )
    return Decision(tuple(finding for each in findings for finding in each))


def moved(measure: str, values: Values, before: Values) -> tuple[list[str], list[str]]:
    """The queries whose measure fell and those whose measure rose, the largest change first."""
    changes = {query: values[query][measure] - before[query][measure] for query in values}
    ordered = sorted(changes, key=lambda query: (changes[query], query))
    lost = [query for query in ordered if changes[query] <= -MOVED]
    won = [query for query in reversed(ordered) if changes[query] >= MOVED]
    return lost, won


def _of_measure(rules: Rules, measured: Measured) -> list[Finding]:
    name, count = rules.measure, len(measured.values)
    if not count:
        text = "No golden query has an answer among the documents, so nothing was measured."
        return [Finding(FindingKind.NOTE, text)]
    if measured.before is None:
        mean = means(measured.values)[name]
        text = f"{name} is {mean:.3f} on {_queries(count)}. No active profile to compare with."
        return [Finding(FindingKind.MEASURE, text)]
    interval = difference(measured.values, measured.before, name)
    lost, _ = moved(name, measured.values, measured.before)
    # Allow for rounding of float sums.
    too_far = interval.mean < -rules.margin - 1e-9
    summary = f"{name} {_change(interval)} on {_queries(count)}"
    if not too_far:
        return [Finding(FindingKind.MEASURE, f"{summary}.", queries=tuple(lost))]
    beyond = f"{summary}, beyond the margin of {rules.margin:.3f}"
    worst = f" Largest losses: {_named(lost, measured.names)}." if lost else ""
    if count < rules.min_queries:
        text = f"{beyond}; {_queries(count)} are too few to attribute this to chance.{worst}"
        return [Finding(FindingKind.MEASURE, text, refuses=True, queries=tuple(lost))]
    if interval.high < 0:
        return [
            Finding(FindingKind.MEASURE, f"{beyond}.{worst}", refuses=True, queries=tuple(lost))
        ]
    text = f"{beyond}, but this is not significant. More judged queries would help.{worst}"
    return [Finding(FindingKind.MEASURE, text, queries=tuple(lost))]


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
            f"The must-be-first document is not first for {_queries(len(binding))}: "
            f"{_named(binding, measured.names)}."
        )
        found.append(Finding(FindingKind.FIRST, text, refuses=True, queries=tuple(binding)))
    if others:
        text = (
            f"The must-be-first document is still not first for: {_named(others, measured.names)}."
        )
        found.append(Finding(FindingKind.NOTE, text, queries=tuple(others)))
    if measured.firsts and not failing:
        text = f"Every must-be-first document is first, on {_queries(len(measured.firsts))}."
        found.append(Finding(FindingKind.FIRST, text))
    return found


def _of_latency(rules: Rules, measured: Measured) -> list[Finding]:
    now, before = measured.p95, measured.p95_before
    if now is None or before is None:
        return []
    summary = f"The 95th percentile of search time is {now:.0f} ms, before {before:.0f} ms"
    if len(measured.names) < rules.min_queries:
        text = f"{summary}: too few queries to check latency."
        return [Finding(FindingKind.LATENCY, text)]
    allowed = max(before * (1 + rules.latency_margin), before + rules.latency_floor_ms)
    if now <= allowed:
        return [Finding(FindingKind.LATENCY, f"{summary}.")]
    text = f"{summary}: the margin of {rules.latency_margin:.0%} allows {allowed:.0f} ms."
    return [Finding(FindingKind.LATENCY, text, refuses=True)]


def _change(interval: Interval) -> str:
    if interval.mean == interval.low == interval.high == 0:
        return "does not change"
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
