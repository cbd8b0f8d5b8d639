"""The processing progress of versions, and its display on a terminal.

The workers write their progress to the rows; this module only reads it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from celery import current_app
from django.db import OperationalError, connection
from django.db.models import Exists, OuterRef, QuerySet
from tqdm import tqdm

from ingestion.documents import steps, vectors
from ingestion.lexical import terms
from ingestion.models import Document, DocumentVersion, State
from ingestion.models.versions import UNFINISHED

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
                    embedded = (progress - vectors.CHUNKED) / (1 - vectors.CHUNKED)
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
    kept = Document.objects.kept().filter(pk=OuterRef("document_id"))
    return DocumentVersion.objects.filter(Exists(kept))


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
