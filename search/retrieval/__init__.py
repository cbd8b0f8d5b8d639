"""Query -> {Signal: raw scores} over the union of the signals' candidates, in one statement.

A statement before it looks the question's words up.

By a retrieval backend: Postgres alone, or an engine that a part adds beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.conf import settings

from ingestion.models import EmbeddingSpace
from search.domain import Candidates, Profile, Query
from search.retrieval.filters import Filters, Scope
from search.retrieval.statement import RetrievalOptions
from search.retrieval.statement import retrieve as retrieve_from_postgres

POSTGRES = "postgres"
_PLAIN = RetrievalOptions()


Backend = Callable[..., Candidates]
"""Finds the candidates of a question, with the parameters of `retrieve`."""

_backends: dict[str, Backend] = {POSTGRES: retrieve_from_postgres}


def register_backend(name: str, backend: Backend) -> None:
    """Add a backend that RETRIEVAL_BACKEND can name."""
    _backends[name] = backend


def backend_names() -> list[str]:
    """The names of the installed backends."""
    return list(_backends)


def retrieve(
    query: Query,
    scope: Scope,
    profile: Profile,
    *,
    space: EmbeddingSpace | None = None,
    embedding: Sequence[float] | None = None,
    options: RetrievalOptions = _PLAIN,
) -> Candidates:
    """Every candidate of the scope with its raw score under every signal.

    Without an embedding the vector signal does not run. `degraded` names it if the engine failed.
    """
    backend = _backends[settings.RETRIEVAL_BACKEND]
    return backend(query, scope, profile, space=space, embedding=embedding, options=options)
