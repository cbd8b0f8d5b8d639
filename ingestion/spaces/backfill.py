"""Fill the embedding spaces in time slices, index them, and drop them.

    advance -> filled in slices -> indexed -> ready to be activated
            -> kept filled with new documents
            -> dropped on request

The progress is on the space's row, and each batch is committed by itself: a killed worker loses
one batch. Work on a space needs its lease, so that two workers never pay for the same vectors.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Max, Min
from django.utils import timezone
from django.utils.translation import gettext

from common import retries
from common.jobs import Lease, LeaseLost, enqueue, sweep, work_on
from ingestion import events
from ingestion.errors import EmbeddingError, EmbeddingUnavailable
from ingestion.models import Chunk, ChunkEmbedding, EmbeddingSpace
from ingestion.spaces.configuring import embedder
from ingestion.spaces.index import IndexState, build_index, drop_index, index_of
from ingestion.spaces.vectors import ready_chunks, store, texts_of, unembedded

logger = logging.getLogger(__name__)

State = EmbeddingSpace.State
BATCH = 128
# After this time a worker process turns to the next waiting document.
SLICE_SECONDS = 20.0
DROP_BATCH = 5_000
# Searches that began in a space end within this time; its vectors stay until then.
SEARCHES_END = timedelta(seconds=10)


def advance(space_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Work on a space for one slice; False if another call was enqueued.

    True if nothing is left to do, another process holds the lease, or the space is paused.
    """
    again = work_on(EmbeddingSpace, space_id, partial(_work, seconds=seconds))
    if again is None:
        return True
    # After the lease is released, because a worker that takes the message at once would fail.
    enqueue(EmbeddingSpace, space_id, seconds=again)
    return False


def _work(lease: Lease[EmbeddingSpace], seconds: float) -> float | None:
    """Run one slice; return the seconds until the next one, or None if nothing is left to do."""
    space = lease.row
    if space.state == State.DROPPING:
        return _drop(lease, seconds)
    if space.paused:
        return None
    if lease.crashes_repeatedly:
        _stop(lease, gettext("Filling it crashed the worker repeatedly. Check the worker's log."))
        return None
    again = _fill(lease, seconds)
    if again is None and space.filled_at is not None:
        _index(space)
    return again


def _index(space: EmbeddingSpace) -> None:
    if settings.VECTOR_INDEX and index_of(space).state is not IndexState.READY:
        build_index(space)
        logger.info("The index of %s is ready", space)


def sweep_spaces() -> int:
    """Enqueue idle, unfinished spaces; return how many."""
    spaces = EmbeddingSpace.open_jobs()
    waiting = [space.pk for space in spaces if _is_waiting(space)]
    return sweep(EmbeddingSpace, spaces.filter(pk__in=waiting)) if waiting else 0


def count(space: EmbeddingSpace) -> None:
    """Update the row's counts of all chunks and of those with a vector in the space."""
    total = ready_chunks().count()
    space.chunks_total, space.chunks_filled = total, total - unembedded(space).count()
    _write(space, "chunks_total", "chunks_filled")


def _is_waiting(space: EmbeddingSpace) -> bool:
    """Whether work is left, whether a worker has a lease on the space or not."""
    if space.state == State.DROPPING:
        return True
    if space.paused:
        return False
    if space.filled_at is None:
        return True
    # Only chunks after the cursor: a short scan at the end of an index.
    behind = unembedded(space).filter(pk__gt=space.filling_after)
    if space.state != State.ACTIVE and behind.exists():
        return True
    due = (IndexState.NONE, IndexState.INVALID, IndexState.OUTDATED)
    return settings.VECTOR_INDEX and index_of(space).state in due


def _fill(lease: Lease[EmbeddingSpace], seconds: float) -> float | None:
    """Fill for one slice; return the seconds until the next, or None if complete or stopped."""
    space = lease.row
    if space.filled_at is None:
        count(space)
    if space.filling_since is None:
        space.filling_since = timezone.now()
        _write(space, "filling_since")
    end = time.monotonic() + seconds
    try:
        while chunks := _next(space):
            _fill_batch(lease, chunks)
            if time.monotonic() >= end:
                return 0.0
    except EmbeddingUnavailable as error:
        return _postpone(lease, error)
    except EmbeddingError as error:
        _stop(lease, str(error))
        return None
    lease.update(attempts=0)
    if not space.is_written or space.paused:
        return None
    if not _move_on(space):
        return 0.0
    if space.filled_at is None:
        _finish(space)
    return None


def _next(space: EmbeddingSpace) -> list[Chunk]:
    """The next chunks to fill; from the first one again if a pass has missed some."""
    rows = (
        unembedded(space)
        .select_related("version__document__collection")
        .only(
            "text", "heading_path", "content_hash", "tokens", "version__title",
            "version__document__collection__chunk_tokens",
            "version__document__collection__overlap_tokens",
        )
        .order_by("pk")
    )  # fmt: skip
    space.refresh_from_db(fields=["filling_after", "paused", "state"])
    if space.paused or not space.is_written:
        return []
    chunks = list(rows.filter(pk__gt=space.filling_after)[:BATCH])
    if not chunks and space.filled_at is None:
        chunks = list(rows[:BATCH])
    return chunks


def _fill_batch(lease: Lease[EmbeddingSpace], chunks: list[Chunk]) -> None:
    """Embed and store a batch; results from before an error are kept."""
    space = lease.row
    model = embedder(space)
    for indices, vectors in model.embed_batches(texts_of(chunks, model)):
        embedded = [chunks[i] for i in indices]
        with transaction.atomic():
            hashes = [chunk.content_hash for chunk in embedded]
            stored = store(space, [chunk.pk for chunk in embedded], vectors, hashes)
            _move_on(space, embedded[-1].pk)
            # Last, not by `lease.writing`: activating a document locks chunks before spaces.
            is_ours = lease.mine.update(
                chunks_filled=F("chunks_filled") + stored, error="", attempts=0, not_before=None
            )
            if space.filled_at is not None:
                # Not while it is filled for the first time: no index elsewhere has this space yet.
                events.tell_of_index(*sorted({chunk.version_id for chunk in embedded}))
            if not is_ours:
                raise LeaseLost(lease)


@transaction.atomic
def _move_on(space: EmbeddingSpace, last: int | None = None) -> bool:
    """Advance the cursor to the chunk `last`, or past all; False if it stops before.

    It stops before a chunk that lacks a vector because it has just become ready. Documents become
    ready under the same row lock (`leave_to_backfill`), so that no chunk is skipped.
    """
    rows = EmbeddingSpace.objects.filter(pk=space.pk)
    after = rows.select_for_update(no_key=True).values_list("filling_after", flat=True).first() or 0
    remaining = unembedded(space).filter(pk__gt=after)
    end = last if last is not None else Chunk.objects.aggregate(last=Max("pk"))["last"] or 0
    first = remaining.filter(pk__lte=end).aggregate(first=Min("pk"))["first"]
    rows.update(filling_after=max(after, end) if first is None else first - 1)
    return first is None


def _finish(space: EmbeddingSpace) -> None:
    """Mark the space as filled. Uses save(), whose signal makes search processes load its model."""
    count(space)
    space.filled_at = timezone.now()
    space.save(update_fields=["filled_at"])
    logger.info("%s holds all %d chunks", space, space.chunks_filled)


def _postpone(lease: Lease[EmbeddingSpace], error: EmbeddingUnavailable) -> float:
    """Postpone the space with the reason; return the seconds until the next attempt."""
    # A provider that names a time is running: no need for exponential backoff.
    failures = lease.row.attempts - 1 if error.retry_after is None else 0
    delay = retries.pause(failures, error.retry_after)
    lease.postpone(delay, error=str(error))
    return delay.total_seconds()


def _stop(lease: Lease[EmbeddingSpace], error: str) -> None:
    """Pause the backfill until a person has dealt with the error."""
    logger.error("Filling %s stopped: %s", lease.row, error)
    lease.update(error=error, paused=True)


def _drop(lease: Lease[EmbeddingSpace], seconds: float) -> float | None:
    """Delete the index, the vectors in batches, and the row; seconds to wait, None when done."""
    space = lease.row
    lease.update(attempts=0)
    if space.left_at is not None:
        wait = space.left_at + SEARCHES_END - timezone.now()
        if wait > timedelta(0):
            return wait.total_seconds()
    drop_index(space)
    end = time.monotonic() + seconds
    while _drop_batch(space):
        if time.monotonic() >= end:
            return 0.0
    with transaction.atomic():
        # Writers lock the row; after this no vector can be added.
        row = EmbeddingSpace.objects.select_for_update().get(pk=space.pk)
        ChunkEmbedding.objects.filter(space=row).delete()
        row.delete()
    logger.info("%s is removed", space)
    return None


def _drop_batch(space: EmbeddingSpace) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM ingestion_chunkembedding WHERE ctid = ANY(ARRAY("
            "SELECT ctid FROM ingestion_chunkembedding WHERE space_id = %s LIMIT %s))",
            [space.pk, DROP_BATCH],
        )
        return int(cursor.rowcount)


def _write(space: EmbeddingSpace, *names: str) -> None:
    """Update fields without the signal that makes every process reload its configuration."""
    values = {name: getattr(space, name) for name in names}
    EmbeddingSpace.objects.filter(pk=space.pk).update(**values)
