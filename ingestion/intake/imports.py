"""Imports of many files or pages: from an archive, a manifest, a folder or the web.

import_protocol -> the interface between the runner and the kinds
import_folders, import_archives, manifests, import_web -> the kinds; import_kinds: by their names
here          -> start, stop, resume and remove imports
import_runner -> discovers the items and ingests them one by one; can be interrupted and resumed
"""

from __future__ import annotations

import platform
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import IO, Any

from django.conf import settings
from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from common.jobs import enqueue, revoke
from ingestion.documents.restricted_readers import Readers
from ingestion.errors import FileTooLarge, StateConflict
from ingestion.events import log
from ingestion.files.storage import display_name
from ingestion.intake.import_folders import HERE
from ingestion.intake.import_kinds import SOURCES
from ingestion.intake.import_protocol import METADATA, ImportRefused
from ingestion.metadata import check_metadata
from ingestion.models import Collection, Import, ImportItem
from ingestion.models.versions import UNFINISHED

S = ImportItem.State


@dataclass(frozen=True, slots=True)
class Counts:
    """Items by state, and the number of their documents that are still being processed.

    `incomplete`: documents of which something is not searchable.
    """

    by_state: dict[str, int]
    processing: int = 0
    incomplete: int = 0

    @property
    def total(self) -> int:
        return sum(self.by_state.values())

    @property
    def done(self) -> int:
        return self.total - self.by_state.get(S.WAITING, 0)

    @property
    def share(self) -> float:
        """The share of processed items, 0 to 1; 0 without items."""
        return self.done / self.total if self.total else 0.0

    @property
    def failed(self) -> int:
        return self.by_state.get(S.FAILED, 0)

    def __str__(self) -> str:
        """A summary such as “120 added, 3 failed”; empty without items."""
        words = [f"{self.by_state[s]:,} {s.label.lower()}" for s in S if self.by_state.get(s)]
        if self.incomplete:
            words.append(gettext("%(count)s incomplete") % {"count": f"{self.incomplete:,}"})
        return ", ".join(words)


def counts_of(imports: Iterable[Import]) -> dict[int, Counts]:
    """The counts by import id; one query."""
    ids = [of.pk for of in imports]
    counts: dict[int, dict[str, int]] = {pk: {} for pk in ids}
    processing, incomplete = dict.fromkeys(ids, 0), dict.fromkeys(ids, 0)
    rows = (
        ImportItem.objects.filter(of__in=ids)
        .order_by()
        .values("of", "state")
        .annotate(
            items=Count("pk"),
            unfinished=Count("pk", filter=Q(document__latest__state__in=UNFINISHED)),
            incomplete=Count("pk", filter=Q(document__current__completeness__missing__gt=0)),
        )
    )
    for row in rows:
        counts[row["of"]][row["state"]] = row["items"]
        processing[row["of"]] += row["unfinished"]
        incomplete[row["of"]] += row["incomplete"]
    return {pk: Counts(counts[pk], processing[pk], incomplete[pk]) for pk in ids}


FOLDER = "imports"
# Guess: enough time to examine and retry failed items.
RETENTION = timedelta(days=7)


def start(
    collection: Collection,
    kind: Import.Kind,
    origin: str,
    *,
    acting_user: User | None,
    file: IO[bytes] | None = None,
    options: Mapping[str, Any] | None = None,
    language: str = "",
    metadata: Mapping[str, Any] | None = None,
    readers: Readers | None = None,
    by_command: bool = False,
) -> Import:
    """Create an import and queue it; with `by_command`, the caller runs it.

    `metadata` applies to all documents, and so do `readers`, who alone see the import. `file` is an
    uploaded archive or manifest, kept until all its items are processed. Raises IngestionError,
    without side effects, if the import can never work.
    """
    Readers.check(readers, acting_user)
    chosen_options = dict(options or {})
    if metadata:
        chosen_options[METADATA] = check_metadata(metadata)
    if by_command:
        chosen_options[HERE] = platform.node()
    row = Import(
        collection=collection,
        kind=kind,
        origin=display_name(origin) if file else origin,
        options=chosen_options,
        language=language,
        added_by=acting_user,
    )
    if file is not None:
        row.file.name = _store(file)
    try:
        SOURCES[row.kind](row).check()
        with transaction.atomic():
            row.audience = readers.within(collection) if readers else None
            row.save()
            log(acting_user, row, ADDITION, f"Import of {row.origin} into {collection}")
            if not by_command:
                enqueue(Import, row.pk)
    except BaseException:
        remove_file(row)
        raise
    return row


def stop(of: Import, *, acting_user: User | None) -> bool:
    """Stop an open import; return False if it was not open.

    At most the current item is still ingested. Documents are kept; the import can be resumed.
    """
    with transaction.atomic():
        under_way = Import.objects.filter(pk=of.pk, state__in=Import.OPEN)
        stopped = revoke(under_way, state=Import.State.CANCELLED, finished=timezone.now())
        if stopped:
            log(acting_user, of, CHANGE, "Stopped")
    return bool(stopped)


def resume(of: Import, *, acting_user: User | None, by_command: bool = False) -> bool:
    """Resume a stopped or failed import and queue failed items again; False if there is neither."""
    _check_place(of, by_command)
    with transaction.atomic():
        # Lock the import before its items, as the runner does.
        row = Import.objects.select_for_update(no_key=True).get(pk=of.pk)
        failed = ImportItem.objects.filter(of=of, state=ImportItem.State.FAILED)
        count = failed.update(state=ImportItem.State.WAITING, message="", attempts=0)
        if not count and row.state not in (Import.State.CANCELLED, Import.State.FAILED):
            return False
        Import.objects.filter(pk=of.pk).exclude(state__in=Import.OPEN).update(**_AGAIN)
        log(acting_user, of, CHANGE, "Resumed")
        enqueue(Import, of.pk)
    return True


def remove(of: Import, *, acting_user: User | None) -> None:
    """Delete an import with its items and its file, but not its documents."""
    with transaction.atomic():
        log(acting_user, of, DELETION, f"Import of {of.origin} removed")
        of.delete()


def _check_place(of: Import, by_command: bool) -> None:
    """Refuse to resume an import whose files are on another host; raises StateConflict."""
    if HERE in of.options and not by_command:
        raise StateConflict(
            gettext(
                "This import reads files on “%(host)s”. Resume it there: "
                "manage.py import_documents --resume %(id)d"
            )
            % {"host": of.options[HERE], "id": of.pk}
        )


def remove_file(of: Import) -> None:
    """Delete the uploaded archive or manifest."""
    if of.file:
        default_storage.delete(str(of.file.name))


def remove_with_row(instance: Import, **_signal: Any) -> None:
    """Delete the file of an import whose row is deleted, even with its whole collection."""
    transaction.on_commit(partial(remove_file, instance))


def forget_files() -> int:
    """Delete the files of imports that ended long ago with open items; return how many.

    They may contain documents that were permanently deleted from the library since.
    """
    finished = Import.objects.filter(finished__lt=timezone.now() - RETENTION).exclude(file="")
    count = 0
    for of in finished.exclude(state__in=Import.OPEN)[:100]:
        remove_file(of)
        count += Import.objects.filter(pk=of.pk).update(file="")
    return count


_AGAIN: dict[str, Any] = {
    "state": Import.State.QUEUED,
    "error": "",
    "attempts": 0,
    "not_before": None,
    "finished": None,
    "enqueued_at": None,
}


def _store(file: IO[bytes]) -> str:
    file.seek(0, 2)
    if file.tell() > settings.IMPORT_MAX_BYTES:
        limit = settings.IMPORT_MAX_BYTES // (1024 * 1024)
        raise FileTooLarge(
            gettext("The file is larger than %(limit)s MB. Split it, or raise IMPORT_MAX_MB.")
            % {"limit": f"{limit:,}"}
        )
    if not file.tell():
        raise ImportRefused(
            gettext("The file is empty. Check that it was saved, and send it again.")
        )
    file.seek(0)
    return default_storage.save(f"{FOLDER}/{uuid.uuid4().hex}", File(file))
