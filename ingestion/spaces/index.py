"""The partial HNSW index of a space (ADR 4), built and dropped without blocking writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.db import OperationalError, connection, transaction

from ingestion.errors import SpaceError
from ingestion.models import EmbeddingSpace

# `ef_construction` is 64 by default and decides what searches find: of the ten nearest of 200,000
# chunks .95 with `hnsw.ef_search` 400, in place of .76, for .35 ms of processor more an insert
# (benchmarks/README.md).
HNSW_OPTIONS = {"m": 16, "ef_construction": 200}


class IndexState(StrEnum):
    """`OUTDATED`: in use, while an index with the current options is built beside it."""

    NONE = "none"
    BUILDING = "building"
    READY = "ready"
    OUTDATED = "outdated"
    INVALID = "invalid"

    @property
    def is_usable(self) -> bool:
        return self in (IndexState.READY, IndexState.OUTDATED)


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
    IndexState.OUTDATED: "ready; built anew with the options of this version, in the background",
    IndexState.INVALID: "incomplete after a failed build; it will be rebuilt",
}

# `{index}_other` is a second one during such a build, and after it failed.
_STATES = """
SELECT c.relname, i.indisvalid,
       c.reloptions @> %s::text[]
       AND NOT EXISTS (SELECT FROM pg_class WHERE relname = c.relname || '_other'),
       p.phase,
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
        options = [f"{name}={value}" for name, value in HNSW_OPTIONS.items()]
        cursor.execute(_STATES, [options, [space.index_name for space in rows]])
        indexes = {name: _read(*values) for name, *values in cursor.fetchall()}
    return {space.pk: indexes.get(space.index_name, Index(IndexState.NONE)) for space in rows}


def index_bytes(space: EmbeddingSpace) -> int:
    """The size of the space's index on disk; 0 without one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(pg_relation_size(to_regclass(%s)), 0)", [space.index_name])
        return int(cursor.fetchone()[0])


def _read(valid: bool, current: bool, phase: str | None, share: float | None) -> Index:
    if phase is not None:
        return Index(IndexState.BUILDING, phase, None if share is None else min(share, 1.0))
    if not valid:
        return Index(IndexState.INVALID)
    return Index(IndexState.READY if current else IndexState.OUTDATED)


def create_index(space: EmbeddingSpace) -> None:
    """Create the index within the caller's transaction, for a space without vectors.

    None where the settings leave the search of vectors to another engine.
    """
    if not settings.VECTOR_INDEX:
        return
    with connection.cursor() as cursor:
        cursor.execute(_statement(space, f"IF NOT EXISTS {space.index_name}"))


def build_index(space: EmbeddingSpace) -> None:
    """Build the index without blocking writes or searches; first drop that of a failed build.

    An outdated index stays in use until the new one is built, which doubles the space on disk.
    It waits for earlier transactions and takes minutes for many vectors. The caller ensures that
    no other process builds it. Raises SpaceError within a transaction.
    """
    if connection.in_atomic_block:
        raise SpaceError("An index is built outside a transaction, so that it blocks no write.")
    other = _other(space)
    if index_of(space).state.is_usable:
        _drop(other)
        if index_of(space).state is IndexState.READY:
            return
        _build(space, other)
        _swap(space.index_name, other)
        _drop(other)
    else:
        drop_index(space)
        _build(space, space.index_name)


def _build(space: EmbeddingSpace, name: str) -> None:
    memory = f"{settings.INDEX_BUILD_MEMORY_MB}MB"
    statement = _statement(space, f"CONCURRENTLY {name}")
    with connection.cursor() as cursor:
        # A graph that does not fit into memory is built on disk, many times slower.
        cursor.execute("SELECT set_config('maintenance_work_mem', %s, false)", [memory])
        try:
            cursor.execute(statement)
        except OperationalError:
            # Parallel workers need shared memory, of which a container has 64 MB by default.
            _drop(name)
            cursor.execute("SET max_parallel_maintenance_workers = 0")
            cursor.execute(statement)
        finally:
            cursor.execute("RESET maintenance_work_mem; RESET max_parallel_maintenance_workers")


def _swap(one: str, other: str) -> None:
    """Exchange the names of two indexes, which blocks no search."""
    between = f"{one}_between"
    with transaction.atomic(), connection.cursor() as cursor:
        for old, new in ((one, between), (other, one), (between, other)):
            cursor.execute(f"ALTER INDEX {old} RENAME TO {new}")


def drop_index(space: EmbeddingSpace) -> None:
    """Drop the index, complete or not, without blocking searches in other spaces."""
    _drop(_other(space))
    _drop(space.index_name)


def _other(space: EmbeddingSpace) -> str:
    """The second index's name, as `_STATES` knows it."""
    return f"{space.index_name}_other"


def _drop(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def _statement(space: EmbeddingSpace, how: str) -> str:
    # `how` ends with the name; the other values are our own numbers.
    options = ", ".join(f"{name} = {value}" for name, value in HNSW_OPTIONS.items())
    return (
        f"CREATE INDEX {how} ON ingestion_chunkembedding"
        f" USING hnsw ((vector::halfvec({int(space.dimensions)})) halfvec_cosine_ops)"
        f" WITH ({options}) WHERE space_id = {int(space.pk)}"
    )
