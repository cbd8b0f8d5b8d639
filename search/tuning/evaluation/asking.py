"""W3: a question asked in order to measure: of the search that readers use, over all documents."""

from __future__ import annotations

import time
from collections.abc import Sequence

from common.accounts.models import User
from ingestion import spaces
from search.domain import QueryClass
from search.engine import configuration
from search.errors import InvalidFilter, NothingAsked, QueryTooLong
from search.pipeline import DEFAULT_PAGE_SIZE, Choices, SearchResponse, search
from search.query import classify
from search.retrieval import Filters

NO_MODEL = (
    "The embedding model did not answer, so the figures would be those of a search without it. "
    "See that it runs, and start again."
)


def evaluator() -> User:
    """The viewer whom questions are asked for: sees every document, and exists nowhere."""
    return User(username="evaluation", is_superuser=True)


def response_to(
    text: str,
    collections: Sequence[str],
    choices: Choices,
    *,
    page_size: int = DEFAULT_PAGE_SIZE,
) -> SearchResponse | None:
    """What the search answers in these collections; None where it does not take the question."""
    try:
        return search(
            text,
            viewer=evaluator(),
            filters=Filters(collections=tuple(collections)),
            choices=choices,
            page_size=page_size,
        )
    except (QueryTooLong, InvalidFilter, NothingAsked):
        return None


def class_by_our_rules(response: SearchResponse) -> QueryClass:
    """The question's class, whatever the profile classifies by: all profiles' classes are alike."""
    return classify(response.query, configuration.current().rules).query_class


def embed(text: str) -> None:
    """Puts the question's vector into the cache. Raises EmbeddingError when the model is away."""
    # Here it may take its time: a search gives up after a while and goes on without.
    spaces.query_embedder(configuration.current().space).embed_query(text)


def embedding_time(text: str) -> float:
    """Milliseconds that embedding takes, past the cache, which holds the question afterwards.

    Raises EmbeddingError when the model is away.
    """
    embed(text)
    embedder = spaces.embedder(configuration.current().space)
    started = time.perf_counter()
    embedder.embed_query(text)
    return (time.perf_counter() - started) * 1000


def latency(response: SearchResponse, embedding: float | None) -> float:
    """Milliseconds that the search took; given what embedding takes, as of a question that is new.

    Without a vector there is nothing to embed.
    """
    spent = response.milliseconds
    waited = spent.get("embed", 0.0)
    if embedding is None or not waited:
        return spent["total"]
    return spent["total"] - waited + embedding
