"""The search that readers use, as a measurement: its response, latency and version."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence

from django.conf import settings
from django.utils.translation import gettext_lazy

from common.accounts.models import User
from ingestion import spaces
from search.domain import Classifier, QueryClass, Signal, Stage
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.external_classifier import query_model
from search.errors import EmptyQuestion, InvalidFilter, QueryTooLong
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


def problem_in(degraded: Sequence[str]) -> str:
    """The reason why a response must not be measured; empty if all that counts ran."""
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


def embedding_time(text: str) -> float:
    """Uncached embedding latency in milliseconds; the query is in the cache afterwards.

    Raises EmbeddingError if the model is unavailable.
    """
    space = configuration.current().space
    # Without the time limit of a search, which goes on without the embedding when it expires.
    spaces.query_embedder(space).embed_query(text)
    embedder = spaces.embedder(space)
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
