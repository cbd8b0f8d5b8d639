"""Q3: who finds the candidates of a question: Postgres alone, or Qdrant beside it."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from ingestion.models import EmbeddingSpace
from search.domain import Candidates, Profile, Query
from search.qdrant import engines
from search.retrieval import distributed, statement
from search.retrieval.filters import Scope
from search.retrieval.statement import Wanted

POSTGRES, QDRANT = "postgres", "qdrant"
_PLAIN = Wanted()


def retrieve(
    query: Query,
    scope: Scope,
    profile: Profile,
    *,
    space: EmbeddingSpace | None = None,
    embedding: Sequence[float] | None = None,
    wanted: Wanted = _PLAIN,
) -> Candidates:
    """Every candidate of the scope with its raw score under every signal.

    Without an embedding the vector signal does not run. `degraded` names it if the engine failed.
    """
    is_asked = settings.RETRIEVAL_BACKEND == QDRANT or engines.read_from()
    find = distributed.retrieve if is_asked else statement.retrieve
    return find(query, scope, profile, space=space, embedding=embedding, wanted=wanted)
