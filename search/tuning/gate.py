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

A file of golden queries (`gate_file`) may also have floors: `of_floor`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from gettext import NullTranslations
from typing import Protocol

from search.tuning.evaluation.measures import Interval, Values, difference, means
from search.tuning.evaluation.measures import interval as interval_of

# Smaller changes of a query's measure are ties among equally good documents.
MOVED = 0.005
NAMED = 8


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
class Floor:
    """The least mean of a measure, and the least lower end of its 95% interval, 0 to 1."""

    mean: float = 0.0
    low: float = 0.0


@dataclass(frozen=True, slots=True)
class First:
    """Whether a must-be-first document is first.

    `was_first` is the same under the active profile; None without an active profile.
    """

    is_first: bool
    was_first: bool | None = None


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
    """A finding of the gate: a sentence, and whether it refuses; then the `queries` at fault."""

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


class Words(Protocol):
    """The translation functions that sentences need; this module is pure."""

    def gettext(self, message: str, /) -> str: ...

    def ngettext(self, singular: str, plural: str, number: int, /) -> str: ...


UNTRANSLATED: Words = NullTranslations()


def decide(rules: Rules, measured: Measured, words: Words = UNTRANSLATED) -> Decision:
    """The decision whether a candidate may be published, with all findings."""
    findings = (
        _of_measure(rules, measured, words),
        _of_firsts(rules, measured, words),
        _of_latency(rules, measured, words),
    )
    return Decision(tuple(finding for each in findings for finding in each))


def losers(measure: str, values: Values, before: Values) -> list[str]:
    """The queries whose measure fell, the largest change first."""
    changes = {query: values[query][measure] - before[query][measure] for query in values}
    ordered = sorted(changes, key=lambda query: (changes[query], query))
    return [query for query in ordered if changes[query] <= -MOVED]


def _of_measure(rules: Rules, measured: Measured, words: Words) -> list[Finding]:
    name, count = rules.measure, len(measured.values)
    if not count:
        text = words.gettext(
            "No golden query has an answer among the documents, so nothing was measured."
        )
        return [Finding(text)]
    queries = _queries(count, words)
    if measured.before is None:
        text = words.gettext(
            "%(measure)s is %(mean).3f on %(queries)s. No active profile to compare with."
        )
        mean = means(measured.values)[name]
        text %= {"measure": name, "mean": mean, "queries": queries}
        return [Finding(text)]
    interval = difference(measured.values, measured.before, name)
    change = _change(name, interval, queries, words)
    # Allow for rounding of float sums.
    if interval.mean >= -rules.margin - 1e-9:
        return [Finding(change)]
    refuses = count < rules.min_queries or interval.high < 0
    if count < rules.min_queries:
        beyond = words.gettext(
            "This is beyond the margin of %(margin).3f; %(queries)s are too few to attribute it to "
            "chance."
        )
    elif refuses:
        beyond = words.gettext("This is beyond the margin of %(margin).3f.")
    else:
        beyond = words.gettext(
            "This is beyond the margin of %(margin).3f, but it is not significant. More judged "
            "queries would help."
        )
    sentences = [change, beyond % {"margin": rules.margin, "queries": queries}]
    lost = losers(name, measured.values, measured.before)
    if lost:
        worst = words.gettext("Largest losses: %(queries)s.")
        sentences.append(worst % {"queries": _names(lost, measured.names, words)})
    return [Finding(" ".join(sentences), refuses, tuple(lost) if refuses else ())]


def of_floor(name: str, floor: Floor, values: Mapping[str, float]) -> Finding:
    """The finding on a measure that has a floor; `values` are by query. Refuses without any."""
    if not values:
        return Finding(f"No question has the measure {name}, for which there is a floor.", True)
    interval = interval_of(list(values.values()))
    refuses = interval.mean < floor.mean - 1e-9 or interval.low < floor.low - 1e-9
    wanted = f"at least {floor.mean:g}" + (f", and {floor.low:g} for its low end" * (floor.low > 0))
    text = (
        f"{name} is {interval.mean:.3f} (95% interval {interval.low:.3f} to {interval.high:.3f}) "
        f"on {_queries(len(values), UNTRANSLATED)}; it must be {wanted}."
    )
    if not refuses:
        return Finding(text)
    lowest = sorted(
        (query for query, value in values.items() if value < max(floor.mean, floor.low)),
        key=lambda query: values[query],
    )
    return Finding(f"{text} Lowest: {_names(lowest, {}, UNTRANSLATED)}.", True, tuple(lowest))


def _of_firsts(rules: Rules, measured: Measured, words: Words) -> list[Finding]:
    failing = [query for query, first in measured.firsts.items() if not first.is_first]
    binding = [
        query
        for query in failing
        if rules.first_required or measured.firsts[query].was_first is not False
    ]
    others = [query for query in failing if query not in binding]
    findings = []
    if binding:
        text = words.gettext(
            "The must-be-first document is not first for %(count)s: %(queries)s."
        ) % {
            "count": _queries(len(binding), words),
            "queries": _names(binding, measured.names, words),
        }
        findings.append(Finding(text, True, tuple(binding)))
    if others:
        text = words.gettext("The must-be-first document is still not first for: %(queries)s.")
        text %= {"queries": _names(others, measured.names, words)}
        findings.append(Finding(text))
    if measured.firsts and not failing:
        text = words.gettext("Every must-be-first document is first, on %(queries)s.")
        text %= {"queries": _queries(len(measured.firsts), words)}
        findings.append(Finding(text))
    return findings


def _of_latency(rules: Rules, measured: Measured, words: Words) -> list[Finding]:
    now, before = measured.p95, measured.p95_before
    if now is None or before is None:
        return []
    allowed = max(before * (1 + rules.latency_margin), before + rules.latency_floor_ms)
    is_checked = len(measured.names) >= rules.min_queries
    refuses = is_checked and now > allowed
    sentences = [
        words.gettext("The slowest 5%% of searches take over %(now).0f ms (was %(before).0f ms).")
        % {"now": now, "before": before}
    ]
    if not is_checked:
        sentences.append(words.gettext("These are too few queries to check latency."))
    elif refuses:
        sentences.append(
            words.gettext("The margin of %(margin).0f%% allows %(allowed).0f ms.")
            % {"margin": 100 * rules.latency_margin, "allowed": allowed}
        )
    return [Finding(" ".join(sentences), refuses)]


def _change(name: str, interval: Interval, queries: str, words: Words) -> str:
    if interval.mean == interval.low == interval.high == 0:
        text = words.gettext("%(measure)s does not change on %(queries)s.")
    elif interval.mean > 0:
        text = words.gettext(
            "%(measure)s rises by %(by).3f (95%% interval %(low)+.3f to %(high)+.3f) on "
            "%(queries)s."
        )
    else:
        text = words.gettext(
            "%(measure)s falls by %(by).3f (95%% interval %(low)+.3f to %(high)+.3f) on "
            "%(queries)s."
        )
    return text % {
        "measure": name,
        "by": abs(interval.mean),
        "low": interval.low,
        "high": interval.high,
        "queries": queries,
    }


def _queries(count: int, words: Words) -> str:
    text = words.ngettext("%(count)d golden query", "%(count)d golden queries", count)
    return text % {"count": count}


def _names(queries: Sequence[str], names: Mapping[str, str], words: Words) -> str:
    """The first of the queries in quotation marks, and the number of the others."""
    listed = ", ".join(f"“{names.get(query, query)}”" for query in queries[:NAMED])
    rest = len(queries) - NAMED
    if rest <= 0:
        return listed
    return words.gettext("%(queries)s and %(count)d more") % {"queries": listed, "count": rest}
