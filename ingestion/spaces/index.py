"""A space's own partial HNSW index (decision D4): built and dropped without blocking a write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.db import OperationalError, connection

from ingestion.errors import SpaceError
from ingestion.models import EmbeddingSpace

# pgvector's defaults for HNSW (m 16, ef_construction 64) are stated, so that a change is a choice.
HNSW_OPTIONS = "m = 16, ef_construction = 64"


class IndexState(StrEnum):
    NONE = "none"
    BUILDING = "building"
    READY = "ready"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Index:
    """How a space's index stands. While it is built, Postgres' word for the phase and its share."""

    state: IndexState
    phase: str = ""
    share: float | None = None

    def __str__(self) -> str:
        if self.state is IndexState.BUILDING:
            percent = "" if self.share is None else f", {self.share:.0%}"
            return f"being built ({self.phase}{percent})"
        return _WORDS[self.state]


_WORDS = {
    IndexState.NONE: "none yet",
    IndexState.READY: "ready",
    IndexState.INVALID: "left unfinished by a build that died; it is built again",
}

_STATES = """
SELECT c.relname, i.indisvalid, p.phase,
       CASE WHEN p.tuples_total > 0 THEN p.tuples_done::float8 / p.tuples_total
            WHEN p.blocks_total > 0 THEN p.blocks_done::float8 / p.blocks_total END
FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
LEFT JOIN pg_stat_progress_create_index p ON p.index_relid = c.oid
WHERE c.relname = ANY(%s) AND pg_table_is_visible(c.oid)
"""


def index_of(space: EmbeddingSpace) -> Index:
    """The state of the space's index, as the database's catalogue has it."""
    return indexes_of([space])[space.pk]


def indexes_of(spaces: Iterable[EmbeddingSpace]) -> dict[int, Index]:
    """The state of each space's index by the space's id; one query."""
    rows = list(spaces)
    with connection.cursor() as cursor:
        cursor.execute(_STATES, [[space.index_name for space in rows]])
        found = {name: _read(*values) for name, *values in cursor.fetchall()}
    return {space.pk: found.get(space.index_name, Index(IndexState.NONE)) for space in rows}


def _read(valid: bool, phase: str | None, share: float | None) -> Index:
    if phase is not None:
        return Index(IndexState.BUILDING, phase, None if share is None else min(share, 1.0))
    return Index(IndexState.READY if valid else IndexState.INVALID)


def create_index(space: EmbeddingSpace) -> None:
    """Builds the index within the caller's transaction: for a space that holds nothing yet."""
    with connection.cursor() as cursor:
        cursor.execute(_statement(space, "IF NOT EXISTS"))


def build_index(space: EmbeddingSpace) -> None:
    """Builds the index while chunks are written and searched; drops what a dead build left.

    It waits for transactions that began before it, and takes minutes over many vectors. The
    caller sees to it that nobody else builds it. Raises SpaceError within a transaction.
    """
    if connection.in_atomic_block:
        raise SpaceError("An index is built outside a transaction, so that it blocks no write.")
    if index_of(space).state is IndexState.READY:
        return
    drop_index(space)
    memory = f"{settings.INDEX_BUILD_MEMORY_MB}MB"
    with connection.cursor() as cursor:
        # A graph that does not fit is built on disk, many times slower.
        cursor.execute("SELECT set_config('maintenance_work_mem', %s, false)", [memory])
        try:
            cursor.execute(_statement(space, "CONCURRENTLY"))
        except OperationalError:
            # Parallel workers share memory, of which a container has 64 MB unless told otherwise.
            drop_index(space)
            cursor.execute("SET max_parallel_maintenance_workers = 0")
            cursor.execute(_statement(space, "CONCURRENTLY"))
        finally:
            cursor.execute("RESET maintenance_work_mem; RESET max_parallel_maintenance_workers")


def drop_index(space: EmbeddingSpace) -> None:
    """Drops the index, whole or half built, without blocking searches in other spaces."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {space.index_name}")


def _statement(space: EmbeddingSpace, how: str) -> str:
    # CONCURRENTLY and IF NOT EXISTS stand at the same place; the rest are numbers of our own.
    return (
        f"CREATE INDEX {how} {space.index_name} ON ingestion_chunkembedding"
        f" USING hnsw ((vector::halfvec({int(space.dimensions)})) halfvec_cosine_ops)"
        f" WITH ({HNSW_OPTIONS}) WHERE space_id = {int(space.pk)}"
    )
