"""The processing progress of versions, and its display in the admin and on a terminal.

The workers write their progress to the rows; this module only reads it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from celery import current_app
from django.db import OperationalError, connection
from django.db.models import Exists, OuterRef, QuerySet, Sum
from tqdm import tqdm

from ingestion.documents import processing_steps
from ingestion.models import Document, DocumentVersion, State
from ingestion.models.versions import UNFINISHED

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

    def failures(self) -> QuerySet[DocumentVersion]:
        """The failed versions with their documents, ordered by source."""
        failed = DocumentVersion.objects.filter(pk__in=self._ids, state=State.FAILED)
        rows = failed.select_related("document").defer("text", "document__title_terms")
        return rows.order_by("document__source", "file_name")


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
