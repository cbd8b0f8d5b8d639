"""Qdrant in tests: its engine in this process, and its client's own in-memory mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from benchmarks.qdrant_edge import EdgeEngine
from ingestion.models import EmbeddingSpace
from search.parts.qdrant import engines, rebuilding
from search.parts.qdrant.models import PointCollection
from search.parts.qdrant.points import EngineError
from search.parts.qdrant.syncing import sync

KINDS = ("edge", "client")
# The in-memory mode compares all points and says that it has no indexes.
LOCAL = (
    "ignore:Payload indexes have no effect in the local Qdrant",
    "ignore:Local mode performs exact",
)


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Any]:
    """An empty engine of one of KINDS."""
    if kind == "edge":
        engine = EdgeEngine(folder)
        yield engine
        engine.close()
        return
    # Imported when it is needed: it takes half a second of every process that collects.
    from qdrant_client import QdrantClient

    from search.parts.qdrant.client import ClientEngine

    client = QdrantClient(":memory:")
    yield ClientEngine(client)
    client.close()


def use(patch: pytest.MonkeyPatch, engine: Any) -> None:
    """Let the site use this engine."""
    patch.setattr(settings, "QDRANT_URL", "http://tests")
    patch.setattr(settings, "RETRIEVAL_BACKEND", "qdrant")
    patch.setattr(engines, "_engine", lambda url, process: engine)
    patch.setattr(engines, "breaker", type(engines.breaker)(engines.PAUSE))


def build() -> PointCollection:
    """Fill a new collection from the database and switch to it."""
    row = rebuilding.begin()
    rebuilding.advance(row.pk)
    sync()
    row.refresh_from_db()
    rebuilding.switch(row)
    return row


def open_space(dimensions: int) -> EmbeddingSpace:
    """The active embedding space, without a model behind it."""
    return EmbeddingSpace.objects.create(
        name="small",
        fingerprint="small",
        dimensions=dimensions,
        max_tokens=10,
        state=EmbeddingSpace.State.ACTIVE,
    )


class Failing:
    """An engine that fails at everything, as one that cannot be reached."""

    def __getattr__(self, name: str) -> Any:
        def fail(*args: object, **arguments: object) -> None:
            raise EngineError("nobody answers")

        return fail
