"""Makes a worker stand still at a chosen place, so that a test can act just there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import OperationalError, connection

from ingestion.files.filetypes import HEAD_BYTES
from ingestion.models import DocumentVersion, State

SWAP = "swap"


def hold(version: DocumentVersion, state: str) -> AbstractContextManager[None]:
    """Whoever works on the version stands still in this state; in SWAP, before it is searched."""
    if state == State.PARSING:
        return unreadable(version)
    tables = {
        State.QUEUED.value: "ingestion_documentversion",
        State.CHUNKING.value: "ingestion_chunk",
        State.EMBEDDING.value: "ingestion_chunkembedding",
        SWAP: "ingestion_corpuschange",
    }
    return held_up(tables[state])


@contextmanager
def held_up(table: str) -> Iterator[None]:
    """Whoever writes to the table waits."""
    with _another_session() as run:
        run(f"LOCK TABLE {table} IN SHARE MODE")
        yield


@contextmanager
def held_bytes(content: str) -> Iterator[None]:
    """Whoever stores these bytes waits."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    with _another_session() as run:
        run(f"SELECT pg_advisory_xact_lock(hashtextextended('{digest}', 0))")
        yield


@contextmanager
def unreadable(version: DocumentVersion) -> Iterator[None]:
    """Whoever reads the version's file waits, and reads it after the block."""
    with _pipe_for(version):
        yield


@contextmanager
def endless(version: DocumentVersion) -> Iterator[None]:
    """The worker learns the type of the version's file; the parser waits for the rest of it."""
    with _pipe_for(version) as (pipe, content):
        assert len(content) > HEAD_BYTES
        os.write(pipe, content[:HEAD_BYTES])
        yield


@contextmanager
def _pipe_for(version: DocumentVersion) -> Iterator[tuple[int, bytes]]:
    """A pipe in place of the version's file, into which only we write, and what the file holds."""
    path = Path(default_storage.path(str(version.file.name)))
    kept = path.with_suffix(".kept")
    path.rename(kept)
    os.mkfifo(path)
    path.chmod(0o644)  # a parser with an account of its own reads it where it lies
    for folder in path.relative_to(settings.VAR_DIR).parents:
        settings.VAR_DIR.joinpath(folder).chmod(0o755)
    content = kept.read_bytes()
    pipe = os.open(path, os.O_RDWR)  # an end for writing alone would wait for a reader
    try:
        yield pipe, content
    finally:
        # Deleted meanwhile, it stays so. Whoever waits gets the beginning, and opens it anew.
        kept.replace(path) if path.exists() else kept.unlink()
        os.write(pipe, content[:HEAD_BYTES])
        os.close(pipe)


@contextmanager
def _another_session() -> Iterator[Callable[[str], None]]:
    """Runs statements in a transaction beside the test's own, which ends with the block."""
    other = connection.copy()
    other.set_autocommit(False)

    def run(statement: str) -> None:
        with other.cursor() as cursor:
            cursor.execute(statement)

    try:
        yield run
    finally:
        with suppress(OperationalError):  # the server may have been killed meanwhile
            other.rollback()
        other.close()


def waiting_for_locks() -> int:
    """How many statements of the database wait for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])
