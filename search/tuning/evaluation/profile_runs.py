"""Profiles x judged queries -> measures, through the search that readers use."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy

from common.accounts.models import User
from ingestion import spaces
from search.domain import Classifier, Profile, QueryClass, Signal, Stage
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.embed import warm_up
from search.engine.external_classifier import query_model
from search.errors import EmptyQuestion, InvalidFilter, QueryTooLong
from search.models import SearchProfile
from search.pipeline import DEFAULT_PAGE_SIZE, Choices, Purpose, SearchResponse, search
from search.query.classifiers import classify_by
from search.retrieval import Filters
from search.tuning.evaluation import measures
from search.tuning.evaluation.judged_collections import Corpus, EvaluationError, JudgedCollection
from search.tuning.evaluation.measures import Interval, Values
from search.tuning.models import EvaluationRun

NO_MODEL = gettext_lazy(
    "The embedding model did not answer, so the figures would be those of a "
    "search without it. Check that it is running, then retry."
)


NO_RERANKER = gettext_lazy(
    "The reranker did not answer, so the figures would be those of a search without it. Check "
    "RERANKER_URL and that its server is running, then retry."
)


def evaluator() -> User:
    """The viewer that evaluation queries run as: sees every document; not stored."""
    return User(username="evaluation", is_superuser=True)


def response_to(
    text: str,
    collections: Sequence[str],
    choices: Choices,
    *,
    page_size: int = DEFAULT_PAGE_SIZE,
    group: bool = True,
    configured: Configuration | None = None,
) -> SearchResponse | None:
    """The search response in these collections; None if the search rejects the query."""
    try:
        return search(
            text,
            viewer=evaluator(),
            filters=Filters(collections=tuple(collections)),
            choices=choices,
            group=group,
            page_size=page_size,
            purpose=Purpose.MEASUREMENT,
            configuration=configured,
        )
    except (QueryTooLong, InvalidFilter, EmptyQuestion):
        return None


def problem_of(response: SearchResponse) -> str:
    """The reason why the response must not be measured; empty if everything ran."""
    return problem_in(response.degraded)


def problem_in(degraded: Sequence[str]) -> str:
    """The same of a response's parts that did not run."""
    # A WordNet that is not installed is a lasting state, which readers search with, too.
    if Signal.VECTOR in degraded:
        return str(NO_MODEL)
    return str(NO_RERANKER) if Stage.RERANKER in degraded else ""


def class_by_our_rules(response: SearchResponse) -> QueryClass:
    """The query's class by the default rules, so that all profiles' classes are comparable."""
    configured = configuration.current()
    return classify_by(
        Classifier.RULES, response.query, configured.rules, query_model()
    ).query_class


def embed(text: str) -> None:
    """Cache the query's embedding. Raises EmbeddingError if the model is unavailable."""
    # Without the time limit of a search, which goes on without the embedding when it expires.
    spaces.query_embedder(configuration.current().space).embed_query(text)


def embedding_time(text: str) -> float:
    """Uncached embedding latency in milliseconds; the query is in the cache afterwards.

    Raises EmbeddingError if the model is unavailable.
    """
    embed(text)
    embedder = spaces.embedder(configuration.current().space)
    started = time.perf_counter()
    embedder.embed_query(text)
    return (time.perf_counter() - started) * 1000


def latency(response: SearchResponse, embedding: float | None) -> float:
    """The search's latency in ms; with `embedding`, as for a query that is not in the cache.

    Without the vector signal there is nothing to embed.
    """
    spent = response.milliseconds
    waited = spent.get("embed", 0.0)
    if embedding is None or not waited:
        return spent["total"]
    return spent["total"] - waited + embedding


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


def record(outcome: MeasuredCollection) -> EvaluationRun:
    """Store the outcome as an evaluation run."""
    names = {outcome.profile.name, outcome.baseline.name}
    rows = {(p.name, p.version): p for p in SearchProfile.objects.filter(name__in=names)}
    return EvaluationRun.objects.create(
        profile=rows[outcome.profile.name, outcome.profile.version],
        baseline=rows[outcome.baseline.name, outcome.baseline.version],
        collection=outcome.judged.name,
        corpus_hash=outcome.judged.corpus_hash(),
        latency_ms=outcome.latency,
        **figures(outcome.values, outcome.classes, outcome.differences),
    )


def figures(
    values: Values, classes: Mapping[str, QueryClass], differences: Mapping[str, Interval]
) -> dict[str, Any]:
    """The columns of an evaluation run with its measures and the versions that were measured."""
    space = configuration.current().space
    return {
        "queries": len(values),
        "measures": measures.means(values),
        "by_class": {
            query_class.value: {"queries": count, "measures": means}
            for query_class, (count, means) in measures.by_class(values, classes).items()
        },
        "differences": {name: asdict(interval) for name, interval in differences.items()},
        "embedding_space": space.name if space else "",
        "code_version": code_version(),
    }


def code_version() -> str:
    """The running commit, with `+` for local changes; empty outside a git checkout."""
    if not (settings.BASE_DIR / ".git").exists():
        return ""  # an installed package may lie in a folder of somebody else's repository
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=10"]
    try:
        done = subprocess.run(
            command, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()[:40]


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
    if problem := problem_of(response):
        raise EvaluationError(problem)
    outcome.rankings[query] = corpus.ranked(query, response.ranking)
    outcome.classes[query] = class_by_our_rules(response)
    outcome.milliseconds.append(latency(response, embedding))
