"""The partial HNSW index of a space (ADR 4), built and dropped without blocking writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.db import OperationalError, connection

from ingestion.errors import SpaceError
from ingestion.models import EmbeddingSpace

# pgvector's defaults for HNSW, stated so that a new default does not change them.
HNSW_OPTIONS = "m = 16, ef_construction = 64"


class IndexState(StrEnum):
    NONE = "none"
    BUILDING = "building"
    READY = "ready"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Index:
    """The state of a space's index; during a build, Postgres' phase and its share in [0, 1]."""

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
    IndexState.INVALID: "incomplete after a failed build; it will be rebuilt",
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
    """The state of the space's index, from the database's catalogue."""
    return indexes_of([space])[space.pk]


def indexes_of(spaces: Iterable[EmbeddingSpace]) -> dict[int, Index]:
    """The state of each space's index, by the space's id; one query."""
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
    """Create the index within the caller's transaction, for a space without vectors.

    None where the settings leave the search of vectors to another engine.
    """
    if not settings.VECTOR_INDEX:
        return
    with connection.cursor() as cursor:
        cursor.execute(_statement(space, "IF NOT EXISTS"))


def build_index(space: EmbeddingSpace) -> None:
    """Build the index without blocking writes or searches; first drop that of a failed build.

    It waits for earlier transactions and takes minutes for many vectors. The caller ensures that
    no other process builds it. Raises SpaceError within a transaction.
    """
    if connection.in_atomic_block:
        raise SpaceError("An index is built outside a transaction, so that it blocks no write.")
    if index_of(space).state is IndexState.READY:
        return
    drop_index(space)
    memory = f"{settings.INDEX_BUILD_MEMORY_MB}MB"
    with connection.cursor() as cursor:
        # A graph that does not fit into memory is built on disk, many times slower.
        cursor.execute("SELECT set_config('maintenance_work_mem', %s, false)", [memory])
        try:
            cursor.execute(_statement(space, "CONCURRENTLY"))
        except OperationalError:
            # Parallel workers need shared memory, of which a container has 64 MB by default.
            drop_index(space)
            cursor.execute("SET max_parallel_maintenance_workers = 0")
            cursor.execute(_statement(space, "CONCURRENTLY"))
        finally:
            cursor.execute("RESET maintenance_work_mem; RESET max_parallel_maintenance_workers")


def drop_index(space: EmbeddingSpace) -> None:
    """Drop the index, complete or not, without blocking searches in other spaces."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {space.index_name}")


def _statement(space: EmbeddingSpace, how: str) -> str:
    # CONCURRENTLY and IF NOT EXISTS take the same position; the other values are our own numbers.
    return (
        f"CREATE INDEX {how} {space.index_name} ON ingestion_chunkembedding"
        f" USING hnsw ((vector::halfvec({int(space.dimensions)})) halfvec_cosine_ops)"
        f" WITH ({HNSW_OPTIONS}) WHERE space_id = {int(space.pk)}"
    )
