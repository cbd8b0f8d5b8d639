"""Run an import in time slices: discover its items, then ingest them one by one.

discover -> waiting ImportItem rows; an interrupted discovery starts again from the beginning
take     -> each waiting row in its own transaction, which writes the document and the item's
            result together, so that a crash at any time duplicates nothing
slice    -> after some seconds the worker releases the import and turns to documents
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext

from common.jobs import MAX_ATTEMPTS, Lease, enqueue, work_on
from ingestion.documents.restricted_readers import Readers
from ingestion.errors import EmptyFile, IngestionError, NotStored, RetryLater, UnsupportedType
from ingestion.intake.import_kinds import SOURCES
from ingestion.intake.import_protocol import (
    METADATA,
    ImportRefused,
    ImportSource,
    ItemDraft,
    ItemFile,
    Skip,
)
from ingestion.intake.imports import remove_file
from ingestion.models import Collection, Document, Import, ImportItem, Lane
from ingestion.services import Receipt, receive

logger = logging.getLogger(__name__)

# Guesses: long enough that reopening the origin costs little, short enough for the documents that
# share the worker.
SLICE_SECONDS = 10.0
PAUSE_SECONDS = 1.0
DISCOVERY_BATCH = 500
# A unique index takes at most 2704 bytes, of which some are the import's ID.
LONGEST_REFERENCE_BYTES = 2_000
LONGEST_SOURCE = Document._meta.get_field("source").max_length or 1_000

S = ImportItem.State
_HAVE_FOLDERS = (Import.Kind.ARCHIVE, Import.Kind.FOLDER)


def run(
    import_id: int,
    *,
    seconds: float = SLICE_SECONDS,
    by_command: bool = False,
    check: Callable[[], None] = lambda: None,
) -> bool:
    """Run an import for `seconds`; False if it is finished, leased, not due or not ours.

    An unfinished import is enqueued again, unless a command runs it. `check` is called between
    two items and may raise to end the run.
    """
    # A command reads files of its own machine, which may have no worker.
    rows = Import.on_any_machine() if by_command else Import.open_jobs()

    def work(lease: Lease[Import]) -> tuple[float | None]:
        return (_Run(lease, time.monotonic() + seconds, check).work(),)

    worked = work_on(Import, import_id, work, rows=rows, state=Import.State.RUNNING)
    if worked is None:
        return False
    (remaining,) = worked
    if remaining is not None and not by_command:
        enqueue(Import, import_id, seconds=remaining)
    return True


@dataclass(frozen=True, slots=True)
class _Run:
    """One slice of an import."""

    lease: Lease[Import]
    deadline: float
    check: Callable[[], None]

    @property
    def of(self) -> Import:
        return self.lease.row

    def work(self) -> float | None:
        """Run the slice; return the seconds until the next, or None if the import has ended."""
        try:
            if self.lease.crashes_repeatedly:
                raise ImportRefused(
                    gettext(
                        "Reading it crashed the worker repeatedly. Check the worker's log, then "
                        "resume the import, or import smaller parts."
                    )
                )
            with SOURCES[self.of.kind](self.of) as source:
                if self.of.discovered is None:
                    self._discover(source)
                return self._take_some(source)
        except RetryLater as later:
            # Failed discoveries count as attempts of the import; items count their own.
            changes = {} if self.of.discovered is None else {"attempts": 0}
            self.lease.postpone(timedelta(seconds=later.seconds), **changes)
            return later.seconds
        except IngestionError as error:
            self._end(Import.State.FAILED, str(error))
        except OSError as error:
            logger.exception("Import %s was stopped", self.of.pk)
            self._end(
                Import.State.FAILED,
                gettext(
                    "The server could not read or store a file (%(reason)s). Fix that, then "
                    "resume the import."
                )
                % {"reason": error.strerror or error},
            )
        return None

    def _discover(self, source: ImportSource) -> None:
        for batch in _batches(source.discover(), DISCOVERY_BATCH):
            self.check()
            with self.lease.writing():
                self._note(batch)
        self.lease.update(discovered=timezone.now(), attempts=0)

    def _note(self, source_items: Iterable[ItemDraft]) -> None:
        """Append the items that are not recorded yet."""
        items = ImportItem.objects.filter(of=self.of)
        first = (items.aggregate(last=Max("position"))["last"] or 0) + 1
        rows = [_item(self.of, one, first + place) for place, one in enumerate(source_items)]
        ImportItem.objects.bulk_create(rows, ignore_conflicts=True)

    def _take_some(self, source: ImportSource) -> float | None:
        waiting = ImportItem.objects.filter(of=self.of, state=S.WAITING).order_by("position", "pk")
        while (item := waiting.first()) is not None:
            self.check()
            if time.monotonic() > self.deadline:
                self.lease.update(attempts=0)
                return PAUSE_SECONDS
            self._take(source, item)
        self._end(Import.State.DONE)
        return None

    def _take(self, source: ImportSource, item: ImportItem) -> None:
        """Ingest one item and record its result. Raises RetryLater if the import must wait."""
        item.attempts += 1
        item.save(update_fields=["attempts"])
        try:
            if error := item.metadata.get("error"):
                raise ImportRefused(str(error))
            if item.attempts > MAX_ATTEMPTS:
                raise ImportRefused(
                    gettext(
                        "Processing it crashed the worker repeatedly. Check the file, then retry."
                    )
                )
            with source.take(item) as file, self.lease.writing():
                receipt = self._file(file, item)
                state = S.DUPLICATE if receipt.duplicate else S(receipt.outcome)
                self._write(item, state, _message(receipt), receipt.document)
                self._note(file.items)
        except Skip as skip:
            self._note_end(item, S.SKIPPED, str(skip), skip.items)
        except RetryLater as later:
            if item.attempts < MAX_ATTEMPTS:
                raise
            self._note_end(item, S.FAILED, str(later))
        except NotStored:
            raise  # a full disk is not the item's fault: the import waits for a person
        except (UnsupportedType, EmptyFile) as error:
            self._note_end(item, S.SKIPPED if source.skips_unsupported else S.FAILED, str(error))
        except IngestionError as error:
            self._note_end(item, S.FAILED, str(error))

    def _file(self, file: ItemFile, item: ImportItem) -> Receipt:
        if len(file.source) > LONGEST_SOURCE or len(file.source.encode()) > 2_500:
            raise ImportRefused(
                gettext(
                    "Its path or address is longer than %(longest_source)s characters. Give it a "
                    "shorter one."
                )
                % {"longest_source": f"{LONGEST_SOURCE:,}"}
            )
        return receive(
            self._collection(item),
            file.file,
            file_name=file.file_name,
            source=file.source,
            source_kind=file.source_kind,
            title=file.title,
            language=file.language or self.of.language,
            acting_user=self.of.added_by,
            lane=Lane.BULK,
            metadata={**self.of.options.get(METADATA, {}), **(file.metadata or {})} or None,
            readers=Readers.of(self.of),
            stated=file.stated,
            path=item.reference if self.of.kind in _HAVE_FOLDERS else "",
        )

    def _collection(self, item: ImportItem) -> Collection:
        """The import's collection, or the one named in a manifest's line."""
        name = str(item.metadata.get("collection") or "")
        if not name or name in (self.of.collection.name, self.of.collection.slug):
            return self.of.collection
        collections = Collection.objects.undeleted()
        if self.of.added_by is not None:
            collections = collections.visible_to(self.of.added_by)
        collection = collections.filter(name=name).first() or collections.filter(slug=name).first()
        if collection is None:
            raise ImportRefused(
                gettext("There is no collection “%(name)s”. Create it first, or correct the name.")
                % {"name": name}
            )
        return collection

    def _note_end(
        self,
        item: ImportItem,
        state: ImportItem.State,
        message: str,
        items: Iterable[ItemDraft] = (),
    ) -> None:
        with self.lease.writing():
            self._write(item, state, message)
            self._note(items)

    def _write(
        self,
        item: ImportItem,
        state: ImportItem.State,
        message: str = "",
        document: Document | None = None,
    ) -> None:
        ImportItem.objects.filter(pk=item.pk).update(
            state=state, message=message, document=document
        )

    def _end(self, state: Import.State, error: str = "") -> None:
        self.lease.finish(state, error=error, finished=timezone.now(), attempts=0)
        failed = ImportItem.objects.filter(of=self.of, state=S.FAILED)
        if state == Import.State.DONE and not failed.exists():
            remove_file(self.of)
            Import.objects.filter(pk=self.of.pk).update(file="")


def _item(of: Import, source_item: ItemDraft, position: int) -> ImportItem:
    reference, metadata = source_item.reference, dict(source_item.metadata)
    if len(reference.encode()) > LONGEST_REFERENCE_BYTES:
        # Made unique by its digest; no document can have so long a source.
        digest = hashlib.sha256(reference.encode()).hexdigest()[:12]
        reference = f"{reference[:400]}… ({digest})"
        metadata = {"error": gettext("Its path or address is too long. Give it a shorter one.")}
    return ImportItem(
        of=of, reference=reference, position=position, depth=source_item.depth, metadata=metadata
    )


def _message(receipt: Receipt) -> str:
    if receipt.unchanged or not receipt.duplicate:
        return ""
    return gettext("The collection already contains this file, as “%(title)s”.") % {
        "title": receipt.document.title
    }


def _batches(items: Iterable[ItemDraft], size: int) -> Iterator[list[ItemDraft]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
