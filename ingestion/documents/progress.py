"""The processing progress of versions, and its display in the admin and on a terminal.

The workers write their progress to the rows; this module only reads it.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

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

from ingestion.documents import activation, steps
from ingestion.lexical import terms
from ingestion.models import Document, DocumentVersion, State, Visibility
from ingestion.models.versions import UNFINISHED

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.4
LINE_SECONDS = 5.0  # between two lines if there is no terminal for a bar
RATE_SECONDS = 15.0  # the window of the rate in chunks per second
PING_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of several files: `share` of bytes in [0, 1], `rate` in chunks per second."""

    files: int
    finished: int
    chunks: int
    share: float
    rate: float

    @property
    def is_finished(self) -> bool:
        return self.finished == self.files

    def __str__(self) -> str:
        return (
            f"{self.finished}/{self.files} files, {self.chunks:,} chunks, {self.rate:.0f} chunks/s"
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed version, with an error message for people."""

    file_name: str
    source: str
    error: str


class Watch:
    """Follow versions until each is ready, failed, superseded or deleted."""

    def __init__(self, version_ids: Iterable[int]) -> None:
        self._waiting = set(version_ids)
        self._ids = frozenset(self._waiting)
        sizes = DocumentVersion.objects.filter(pk__in=self._ids).values_list("pk", "size")
        self._sizes = dict(sizes)
        self._chunks_finished = 0
        self._moments: deque[tuple[float, int]] = deque()

    def look(self) -> Progress:
        """The current progress; one query over the unfinished versions."""
        rows = (
            _kept()
            .filter(pk__in=self._waiting)
            .values_list("pk", "state", "progress", "chunk_count")
        )
        bytes_left, chunks_under_way, waiting = 0.0, 0.0, set()
        for pk, state, progress, chunk_count in rows:
            if state in UNFINISHED:
                waiting.add(pk)
                bytes_left += self._sizes.get(pk, 0) * (1 - progress)
                if state == State.EMBEDDING:
                    embedded = (progress - activation.CHUNKED) / (1 - activation.CHUNKED)
                    chunks_under_way += chunk_count * max(embedded, 0)
            elif state == State.READY:
                self._chunks_finished += chunk_count
        self._waiting = waiting
        chunks = self._chunks_finished + round(chunks_under_way)
        total = sum(self._sizes.values())
        return Progress(
            files=len(self._ids),
            finished=len(self._ids) - len(waiting),
            chunks=chunks,
            share=1 - bytes_left / total if total else 1.0,
            rate=self._rate(chunks),
        )

    def failures(self) -> list[Failure]:
        """The failures, ordered by source."""
        failed = DocumentVersion.objects.filter(pk__in=self._ids, state=State.FAILED)
        rows = failed.order_by("document__source", "file_name")
        return [Failure(*row) for row in rows.values_list("file_name", "document__source", "error")]

    def _rate(self, chunks: int) -> float:
        now = time.monotonic()
        self._moments.append((now, chunks))
        while now - self._moments[0][0] > RATE_SECONDS:
            self._moments.popleft()
        then, before = self._moments[0]
        return max(chunks - before, 0) / (now - then) if now > then else 0.0


def _kept() -> QuerySet[DocumentVersion]:
    """The versions of documents that are not in the bin."""
    document = Document.objects.kept().filter(pk=OuterRef("document_id"))
    return DocumentVersion.objects.filter(Exists(document))


class ProgressView:
    """A progress bar on a terminal; elsewhere a line every few seconds."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._line_due = time.monotonic() + LINE_SECONDS
        self._bar = tqdm(
            total=1.0,
            disable=not sys.stderr.isatty(),
            leave=False,
            dynamic_ncols=True,
            bar_format="{percentage:3.0f}% |{bar}| {desc} [{elapsed}, {remaining} left]",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()

    def show(self, progress: Progress) -> None:
        """Draw the bar, or print a line if one is due."""
        if not self._bar.disable:
            self._bar.set_description_str(str(progress), refresh=False)
            self._bar.n = progress.share
            self._bar.refresh()
        elif time.monotonic() >= self._line_due:
            self._line_due = time.monotonic() + LINE_SECONDS
            self._write(f"{progress.share:4.0%}  {progress}")


def follow(watch: Watch, view: ProgressView, check: Callable[[], None] = lambda: None) -> Progress:
    """Wait until all is finished; return the final progress. `check` may raise to end the wait.

    An outage of the database is waited out: the workers go on after it.
    """
    while True:
        check()
        try:
            progress = watch.look()
        except OperationalError:
            connection.close()
            time.sleep(LOOK_SECONDS)
            continue
        view.show(progress)
        if progress.is_finished:
            return progress
        time.sleep(LOOK_SECONDS)


def worker_answers() -> bool:
    """Whether a worker answers within PING_SECONDS."""
    # A pooled connection may be stale if the broker was restarted.
    with current_app.connection_for_write() as connection:
        answers = current_app.control.ping(timeout=PING_SECONDS, limit=1, connection=connection)
    return bool(answers)


class WorkHere:
    """Process versions in a thread of this process, as a worker would, within a `with` block."""

    def __init__(self, version_ids: Iterable[int]) -> None:
        self._ids = sorted(version_ids)
        self._stop = threading.Event()
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="work-here")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop after the current file; the rest stays queued."""
        self._stop.set()
        self._thread.join()

    def check(self) -> None:
        """Raise the exception that ended the thread."""
        if self._fault is not None:
            raise self._fault

    def _work(self) -> None:
        try:
            while not self._stop.is_set() and (waiting := self._unfinished()):
                for pk in waiting:
                    if not self._stop.is_set():
                        steps.advance(pk)
                # The remaining versions wait for a retry: the model could not be reached.
                self._stop.wait(LOOK_SECONDS)
            terms.fold()
        except Exception as fault:
            self._fault = fault
        finally:
            connection.close()

    def _unfinished(self) -> list[int]:
        waiting = _kept().filter(pk__in=self._ids, state__in=UNFINISHED)
        return list(waiting.order_by("pk").values_list("pk", flat=True))


KEY = "files-under-way"
# Seconds; beat counts every ten. A line about files that nobody counts any more would be wrong.
KEPT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Files that were received together, some of which are unfinished, and the share that is done.

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
        # What was received with them and is finished counts until the last one is.
        first = min(first, cached.get("first", first))
        cache.set(KEY, {"first": first} | _counted(first), KEPT_SECONDS)
    except Exception:  # each cache raises its own errors; none may fail the sweep
        logger.warning("Cannot store how far the files being read are", exc_info=True)


def under_way(viewer: Any) -> UnderWay | None:
    """The files being read that `viewer` may know of; None if there are none.

    Readers learn of files in public collections only: the number of others is not theirs to know.
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
    """The figures of the versions from the key `first` on."""
    ended = Case(
        When(state__in=UNFINISHED, then=F("progress")),
        default=Value(1.0),
        output_field=FloatField(),
    )
    rows = (
        DocumentVersion.objects.filter(pk__gte=first, document__deleted_at=None)
        .exclude(state=State.SUPERSEDED)
        .values(visibility=F("document__collection__visibility"))
        .annotate(
            files=Count("pk"),
            unfinished=Count("pk", filter=Q(state__in=UNFINISHED)),
            bytes=Sum("size"),
            read=Sum(F("size") * ended),
        )
    )
    counted = list(rows)
    public = [row for row in counted if row["visibility"] == Visibility.PUBLIC]
    return {"all": _summed(counted), "public": _summed(public)}


def _summed(rows: Sequence[Mapping[str, Any]]) -> UnderWay | None:
    if not any(row["unfinished"] for row in rows):
        return None
    size = sum(row["bytes"] for row in rows)
    share = sum(row["read"] for row in rows) / size if size else 0.0
    return UnderWay(files=sum(row["files"] for row in rows), share=min(share, 1.0))
