"""Queries run for measurement: through the search that readers use, over all documents."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.utils.translation import gettext_lazy

from common.accounts.models import User
from ingestion import spaces
from search.domain import Classifier, QueryClass, Signal, Stage
from search.engine import configuration
from search.engine.settle import query_model
from search.errors import InvalidFilter, NothingAsked, QueryTooLong
from search.pipeline import DEFAULT_PAGE_SIZE, Choices, Purpose, SearchResponse, search
from search.query.classifiers import classify_by
from search.retrieval import Filters

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
) -> SearchResponse | None:
    """The search response in these collections; None if the search rejects the query."""
    try:
        return search(
            text,
            viewer=evaluator(),
            filters=Filters(collections=tuple(collections)),
            choices=choices,
            page_size=page_size,
            purpose=Purpose.MEASUREMENT,
        )
    except (QueryTooLong, InvalidFilter, NothingAsked):
        return None


def problem_of(response: SearchResponse) -> str:
    """The reason why the response must not be measured; empty if everything ran."""
    # A WordNet that is not installed is a lasting state, which readers search with, too.
    if Signal.VECTOR in response.degraded:
        return str(NO_MODEL)
    return str(NO_RERANKER) if Stage.RERANKER in response.degraded else ""


def class_by_our_rules(response: SearchResponse) -> QueryClass:
    """The query's class by the default rules, so that all profiles' classes are comparable."""
    held = configuration.current()
    return classify_by(Classifier.RULES, response.query, held.rules, query_model()).query_class


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
