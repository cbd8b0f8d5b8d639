"""Measures of one ranking against judgements."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import ir_measures
import numpy as np
import numpy.typing as npt

# ir_measures imports it at the first use, and remembers a failure for as long as the process runs
# as "Unsupported measures", without the reason. Imported here it fails at once and says why.
import pytrec_eval  # noqa: F401
from ir_measures import RR, P, R, Success, nDCG

from search.domain import QueryClass

MEASURES = (nDCG @ 10, R @ 10, R @ 100, RR @ 10, P @ 5, Success @ 1)
NAMES = tuple(str(measure) for measure in MEASURES)
LEADING = NAMES[0]

RESAMPLES = 2_000  # Efron & Tibshirani 1993, chapter 13: over 1,000 for an interval
CONFIDENCE = 0.95
SEED = 42  # any value: it makes intervals reproducible

Progress = Callable[[int, int], None]
"""Called with the steps done and their total."""
Values = Mapping[str, Mapping[str, float]]
"""Each measure's value by query."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the ends of its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """True when the interval excludes 0."""
        return self.low > 0 or self.high < 0


def measure(
    qrels: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Every measure of every ranking, by query. A ranking is of documents, best first.

    A repeated document counts at its first rank; an empty ranking measures 0.
    """
    values = {query: dict.fromkeys(NAMES, 0.0) for query in rankings}
    judged = (
        ir_measures.Qrel(query, document, grade)
        for query in rankings
        for document, grade in qrels.get(query, {}).items()
    )
    # ir_measures sorts by score: distinct scores keep the order.
    ranked = (
        ir_measures.ScoredDoc(query, document, -float(place))
        for query, documents in rankings.items()
        for place, document in enumerate(dict.fromkeys(documents))
    )
    for metric in ir_measures.iter_calc(MEASURES, judged, ranked):
        if metric.query_id in values:
            values[metric.query_id][str(metric.measure)] = float(metric.value)
    return values


def means(values: Values, queries: Iterable[str] | None = None) -> dict[str, float]:
    """Each measure's mean over `queries`, or over all; empty for none."""
    chosen = list(values if queries is None else queries)
    if not chosen:
        return {}
    return {name: float(np.mean([values[query][name] for query in chosen])) for name in NAMES}


def by_class(
    values: Values, classes: Mapping[str, QueryClass]
) -> dict[QueryClass, tuple[int, dict[str, float]]]:
    """The number of measured queries and their means, for each class present, in class order.

    `classes` has the class of each query that has one.
    """
    queries = defaultdict(list)
    for query, query_class in classes.items():
        if query in values:
            queries[query_class].append(query)
    return {
        query_class: (len(queries[query_class]), means(values, chosen))
        for query_class in QueryClass
        if (chosen := queries.get(query_class))
    }


def difference(values: Values, baseline: Values, name: str) -> Interval:
    """The mean of `values` minus `baseline` on the same queries: a paired bootstrap interval."""
    queries = sorted(values)
    if not queries or values.keys() != baseline.keys():
        raise ValueError("A paired difference needs the same queries on both sides, at least one.")
    return interval([values[query][name] - baseline[query][name] for query in queries])


def interval(changes: npt.ArrayLike) -> Interval:
    """The mean of at least one change, with its bootstrap interval (percentiles)."""
    pairs = np.asarray(changes, np.float64)
    chance = np.random.default_rng(SEED)
    drawn = chance.integers(0, len(pairs), size=(RESAMPLES, len(pairs)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(pairs[drawn].mean(axis=1), (tail, 1 - tail))
    return Interval(float(pairs.mean()), float(low), float(high))


def latencies(milliseconds: Sequence[float]) -> dict[str, float]:
    """`p50` and `p95`; empty for none."""
    if not milliseconds:
        return {}
    p50, p95 = np.quantile(milliseconds, (0.5, 0.95))
    return {"p50": round(float(p50), 2), "p95": round(float(p95), 2)}


def median_grade(grades: Sequence[int]) -> int:
    """The median of the judges' grades, rounded down."""
    return int(statistics.median(grades))
