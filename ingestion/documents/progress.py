"""The processing progress of versions, and its display in the admin and on a terminal.

The workers write their progress to the rows; this module only reads it.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from celery import current_app
from django.core.cache import cache
from django.db import OperationalError, connection
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    FloatField,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)
from tqdm import tqdm

from ingestion.documents import processing_steps
from ingestion.models import Document, DocumentVersion, State, Visibility
from ingestion.models.versions import UNFINISHED

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.4
LINE_SECONDS = 5.0  # between two lines if there is no terminal for a bar
PING_SECONDS = 3.0


Show = Callable[[int, int, str], None]
"""Show how many of how many are done, with a note."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of several files are finished, and the chunks of the ready ones."""

    files: int
    finished: int
    chunks: int

    @property
    def is_finished(self) -> bool:
        return self.finished == self.files


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed version, with an error message for people."""

    file_name: str
    source: str
    error: str


class Watch:
    """Follow versions until each is ready, failed, superseded or deleted."""

    def __init__(self, version_ids: Iterable[int]) -> None:
        self._ids = frozenset(version_ids)

    def unfinished(self) -> QuerySet[DocumentVersion]:
        """The unfinished versions of documents outside the bin."""
        document = Document.objects.undeleted().filter(pk=OuterRef("document_id"))
        rows = DocumentVersion.objects.filter(Exists(document), pk__in=self._ids)
        return rows.filter(state__in=UNFINISHED).order_by("pk")

    def look(self, show: Show = lambda done, total, note: None) -> Progress:
        """The current progress, which `show` gets as well."""
        ready = DocumentVersion.objects.filter(pk__in=self._ids, state=State.READY)
        chunks = ready.aggregate(chunks=Sum("chunk_count"))["chunks"] or 0
        files = len(self._ids)
        progress = Progress(files, files - self.unfinished().count(), chunks)
        show(progress.finished, files, f"{chunks:,} chunks")
        return progress

    def failures(self) -> list[Failure]:
        """The failures, ordered by source."""
        failed = DocumentVersion.objects.filter(pk__in=self._ids, state=State.FAILED)
        rows = failed.order_by("document__source", "file_name")
        return [Failure(*row) for row in rows.values_list("file_name", "document__source", "error")]


@contextmanager
def progress_view(write: Callable[[str], None], unit: str = "files") -> Iterator[Show]:
    """A function that shows a bar on a terminal; elsewhere it writes a line every few seconds."""
    due = time.monotonic() + LINE_SECONDS
    is_terminal = sys.stderr.isatty()
    with tqdm(unit=f" {unit}", disable=not is_terminal, leave=False, dynamic_ncols=True) as bar:

        def show(done: int, total: int, note: str) -> None:
            nonlocal due
            if is_terminal:
                bar.total, bar.n = total, done
                bar.set_postfix_str(note)
            elif time.monotonic() >= due:
                due = time.monotonic() + LINE_SECONDS
                write(f"{done:,} of {total:,} {unit}; {note}")

        yield show


def follow(
    watch: Watch, show: Show, check: Callable[[], None] = lambda: None, *, work: bool = False
) -> Progress:
    """Wait until all is finished; return the final progress. `check` may raise to end the wait.

    With `work`, this process does what a worker would. An outage of the database is waited out.
    """
    while True:
        check()
        try:
            if (progress := watch.look(show)).is_finished:
                return progress
            for pk in list(watch.unfinished().values_list("pk", flat=True)) if work else ():
                if processing_steps.advance(pk):
                    watch.look(show)
        except OperationalError:
            connection.close()
        time.sleep(LOOK_SECONDS)


def worker_answers() -> bool:
    """Whether a worker answers within PING_SECONDS."""
    # A pooled connection may be stale if the broker was restarted.
    with current_app.connection_for_write() as connection:
        answers = current_app.control.ping(timeout=PING_SECONDS, limit=1, connection=connection)
    return bool(answers)


KEY = "files-under-way"
# Seconds; beat counts every ten. A line about files that nobody counts any more would be wrong.
CACHE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class UnderWay:
    """The number of files received together of which some are unfinished, and the processed share.

    `share` is of their bytes, in [0, 1].
    """

    files: int
    share: float


def note_under_way() -> None:
    """Count the files being read and store the result, for everyone and for superusers."""
    try:
        cached: dict[str, Any] = cache.get(KEY) or {}
        first = DocumentVersion.open_jobs().aggregate(first=Min("pk"))["first"]
        if first is None:
            if cached:
                cache.delete(KEY)
            return
        # Finished files that were received together with these count until all are finished.
        first = min(first, cached.get("first", first))
        cache.set(KEY, {"first": first} | _counted(first), CACHE_SECONDS)
    except Exception:  # each cache raises its own errors; none may fail the sweep
        logger.warning("Cannot store the progress of the files that are being read", exc_info=True)


def under_way(viewer: Any) -> UnderWay | None:
    """The files being read that `viewer` may know of; None if there are none.

    Readers see the number of files in public collections only.
    """
    try:
        cached = cache.get(KEY)
    except Exception:  # as above; none may fail a page
        return None
    if not isinstance(cached, dict):
        return None
    note = cached.get("all" if viewer.is_superuser else "public")
    return note if isinstance(note, UnderWay) else None


def _counted(first: int) -> dict[str, UnderWay | None]:
    """The counts of the versions with primary keys from `first` on."""
    progress = Case(
        When(state__in=UNFINISHED, then=F("progress")),
        default=Value(1.0),
        output_field=FloatField(),
    )
    rows = (
        DocumentVersion.objects.filter(pk__gte=first, document__deleted_at=None)
        .exclude(state=State.SUPERSEDED)
        .values(visibility=F("document__collection__visibility"), own=F("document__audience"))
        .annotate(
            files=Count("pk"),
            unfinished=Count("pk", filter=Q(state__in=UNFINISHED)),
            bytes=Sum("size"),
            read=Sum(F("size") * progress),
        )
    )
    counts = list(rows)
    public = [row for row in counts if row["visibility"] == Visibility.PUBLIC and not row["own"]]
    return {"all": _summed(counts), "public": _summed(public)}


def _summed(rows: Sequence[Mapping[str, Any]]) -> UnderWay | None:
    if not any(row["unfinished"] for row in rows):
        return None
    size = sum(row["bytes"] for row in rows)
    share = sum(row["read"] for row in rows) / size if size else 0.0
    return UnderWay(files=sum(row["files"] for row in rows), share=min(share, 1.0))
