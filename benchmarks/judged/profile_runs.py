"""Profiles x judged queries -> measures, through the search that readers use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.judged.collections import Corpus, JudgedCollection
from search.domain import Profile, QueryClass
from search.engine import configuration
from search.engine.embed import warm_up
from search.pipeline import Choices
from search.tuning.evaluation import measures
from search.tuning.evaluation.beir import EvaluationError
from search.tuning.evaluation.measures import Interval
from search.tuning.evaluation.profile_runs import (
    class_by_our_rules,
    embedding_time,
    latency,
    problem_in,
    response_to,
)


@dataclass(slots=True)
class MeasuredCollection:
    """One profile's results on the queries of one collection. Empty rankings measure 0.

    `refused` counts the queries that the search rejected; `baseline` is the first profile.
    """

    judged: JudgedCollection
    profile: Profile
    baseline: Profile
    rankings: dict[str, list[str]] = field(default_factory=dict)
    classes: dict[str, QueryClass] = field(default_factory=dict)
    milliseconds: list[float] = field(default_factory=list)
    refused: int = 0
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    differences: dict[str, Interval] = field(default_factory=dict)
    qrels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def means(self) -> dict[str, float]:
        return measures.means(self.values)

    @property
    def latency(self) -> dict[str, float]:
        return measures.latencies(self.milliseconds)

    def by_class(self) -> dict[QueryClass, tuple[int, dict[str, float]]]:
        """The number of queries and their means, for each class present."""
        return measures.by_class(self.values, self.classes)


def evaluate(
    judged: JudgedCollection,
    corpus: Corpus,
    profiles: Sequence[str],
    *,
    limit: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[MeasuredCollection]:
    """The outcome of each profile, in order; differences are to the first.

    `profiles` are names as in `Configuration.profile`; `limit` is the number of queries, evenly
    spaced. `progress` gets the number of queries done and their total.
    """
    configured = configuration.current()
    chosen = [configured.profile(name) for name in profiles]
    outcomes = [
        MeasuredCollection(judged, profile, chosen[0], qrels=corpus.qrels) for profile in chosen
    ]
    measured = {query: text for query, text in judged.queries.items() if query in corpus.qrels}
    queries = _spread(measured, limit)
    warm_up()
    for done, (query, text) in enumerate(queries.items()):
        progress(done, len(queries))
        embedding = embedding_time(text)
        # The first search pays for cold caches, so the profiles alternate.
        for turn in range(len(outcomes)):
            outcome = outcomes[(done + turn) % len(outcomes)]
            _ask(outcome, query, text, corpus, embedding)
    for outcome in outcomes:
        outcome.values = measures.measure(corpus.qrels, outcome.rankings)
        outcome.differences = {
            name: measures.difference(outcome.values, outcomes[0].values, name)
            for name in measures.NAMES
        }
    return outcomes


def _spread(queries: Mapping[str, str], limit: int | None) -> dict[str, str]:
    """`limit` of the queries at equal distances, or all of them."""
    items = list(queries.items())
    if limit is None or limit >= len(items):
        return dict(items)
    return dict(items[place * len(items) // limit] for place in range(limit))


def _ask(
    outcome: MeasuredCollection, query: str, text: str, corpus: Corpus, embedding: float
) -> None:
    outcome.rankings[query] = []
    choices = Choices(profile=f"{outcome.profile.name}@{outcome.profile.version}")
    response = response_to(text, corpus.slugs, choices)
    if response is None:
        outcome.refused += 1
        return
    if problem := problem_in(response.degraded):
        raise EvaluationError(problem)
    outcome.rankings[query] = corpus.ranked(query, response.ranking)
    outcome.classes[query] = class_by_our_rules(response)
    outcome.milliseconds.append(latency(response, embedding))
