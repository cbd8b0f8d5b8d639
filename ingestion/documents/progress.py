"""How far versions have come on their way to search, and a terminal's view of it.

The workers write how far they are on the rows; this only reads, so that anyone may watch.
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
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from tqdm import tqdm

from ingestion.documents import steps
from ingestion.lexical import terms
from ingestion.models import Document, DocumentVersion, State
from ingestion.models.library import UNFINISHED

LOOK_SECONDS = 0.4
LINE_SECONDS = 5.0  # between two lines where there is no terminal to draw a bar on
RATE_SECONDS = 15.0  # chunks a second are counted over so many
PING_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a number of files stand. `share` of their bytes is done; `rate` is chunks a second."""

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
    """A version that failed, in words for people."""

    file_name: str
    source: str
    error: str


class Watch:
    """Follows versions until each is ready, failed or superseded. A deleted one is finished."""

    def __init__(self, version_ids: Iterable[int]) -> None:
        self._waiting = set(version_ids)
        self._ids = frozenset(self._waiting)
        sizes = DocumentVersion.objects.filter(pk__in=self._ids).values_list("pk", "size")
        self._sizes = dict(sizes)
        self._chunks_finished = 0
        self._moments: deque[tuple[float, int]] = deque()

    def look(self) -> Progress:
        """The progress now; one query over what is not finished yet."""
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
                    embedded = (progress - steps.CHUNKED) / (1 - steps.CHUNKED)
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
        """What failed, by source."""
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
    """The versions that are still wanted: none of what is in the bin."""
    kept = Document.objects.kept().filter(pk=OuterRef("document_id"))
    return DocumentVersion.objects.filter(Exists(kept))


class ProgressView:
    """A bar on a terminal; elsewhere a line every few seconds."""

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
        """Draws the progress, where it is time to."""
        if not self._bar.disable:
            self._bar.set_description_str(str(progress), refresh=False)
            self._bar.n = progress.share
            self._bar.refresh()
        elif time.monotonic() >= self._line_due:
            self._line_due = time.monotonic() + LINE_SECONDS
            self._write(f"{progress.share:4.0%}  {progress}")


def follow(watch: Watch, view: ProgressView, check: Callable[[], None] = lambda: None) -> Progress:
    """The progress once all is finished; `check` may raise to end the wait."""
    while True:
        check()
        progress = watch.look()
        view.show(progress)
        if progress.is_finished:
            return progress
        time.sleep(LOOK_SECONDS)


def worker_answers() -> bool:
    """True when a worker answers within a few seconds."""
    # A connection of the pool may be to a broker that was restarted since.
    with current_app.connection_for_write() as connection:
        answers = current_app.control.ping(timeout=PING_SECONDS, limit=1, connection=connection)
    return bool(answers)


class WorkHere:
    """Advances versions in a thread of this process, as a worker would, while its block lasts."""

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
        """Returns after the file that is being worked on; the rest stays queued."""
        self._stop.set()
        self._thread.join()

    def check(self) -> None:
        """Raises what ended the work."""
        if self._fault is not None:
            raise self._fault

    def _work(self) -> None:
        try:
            while not self._stop.is_set() and (waiting := self._unfinished()):
                for pk in waiting:
                    if not self._stop.is_set():
                        steps.advance(pk)
                # What is left waits for its next attempt: the model could not be reached.
                self._stop.wait(LOOK_SECONDS)
            terms.fold()
        except Exception as fault:
            self._fault = fault
        finally:
            connection.close()

    def _unfinished(self) -> list[int]:
        waiting = _kept().filter(pk__in=self._ids, state__in=UNFINISHED)
        return list(waiting.order_by("pk").values_list("pk", flat=True))
