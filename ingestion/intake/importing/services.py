"""Start, stop, resume and count imports."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from common.jobs import enqueue, revoke
from ingestion.audit import log
from ingestion.errors import FileTooLarge, StateConflict
from ingestion.files.storage import display_name
from ingestion.intake.importing.folders import HERE
from ingestion.intake.importing.manifests import source_for
from ingestion.intake.importing.protocol import METADATA, ImportRefused
from ingestion.metadata import check_metadata
from ingestion.models import Collection, Import, ImportItem
from ingestion.models.library import UNFINISHED

if TYPE_CHECKING:
    from common.accounts.models import User


S = ImportItem.State


@dataclass(frozen=True, slots=True)
class Counts:
    """Items by state, and how many of their documents are not searchable yet."""

    by_state: dict[str, int]
    processing: int = 0

    @property
    def total(self) -> int:
        return sum(self.by_state.values())

    @property
    def done(self) -> int:
        return self.total - self.by_state.get(S.WAITING, 0)

    @property
    def share(self) -> float:
        """The share that was taken, 0 to 1; 0 for none found yet."""
        return self.done / self.total if self.total else 0.0

    @property
    def failed(self) -> int:
        return self.by_state.get(S.FAILED, 0)

    def __str__(self) -> str:
        """Such as “120 added, 3 failed”; "" for nothing."""
        words = (f"{self.by_state[s]:,} {s.label.lower()}" for s in S if self.by_state.get(s))
        return ", ".join(words)


def counts_of(imports: Iterable[Import]) -> dict[int, Counts]:
    """The counts of each import by its number; one query."""
    ids = [of.pk for of in imports]
    found: dict[int, dict[str, int]] = {pk: {} for pk in ids}
    processing = dict.fromkeys(ids, 0)
    rows = (
        ImportItem.objects.filter(of__in=ids)
        .order_by()
        .values("of", "state")
        .annotate(
            items=Count("pk"),
            unfinished=Count("pk", filter=Q(document__latest__state__in=UNFINISHED)),
        )
    )
    for row in rows:
        found[row["of"]][row["state"]] = row["items"]
        processing[row["of"]] += row["unfinished"]
    return {pk: Counts(found[pk], processing[pk]) for pk in ids}


FOLDER = "imports"
# Guess: time enough to look at what failed and to try it again.
KEPT = timedelta(days=7)


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
    by_command: bool = False,
) -> Import:
    """The import, queued for the workers; `by_command`: the caller runs it and tells of it.

    `metadata` is that of all its documents. `file` is an archive or manifest that was sent along
    and is kept until all of it is taken. Raises IngestionError, and leaves nothing, for what can
    never work.
    """
    given = dict(options or {})
    if metadata:
        given[METADATA] = check_metadata(metadata)
    if by_command:
        given[HERE] = platform.node()
    made = Import(
        collection=collection,
        kind=kind,
        origin=display_name(origin) if file else origin,
        options=given,
        language=language,
        added_by=acting_user,
    )
    if file is not None:
        made.file.name = _store(file)
    try:
        source_for(made).check()
        with transaction.atomic():
            made.save()
            log(acting_user, made, ADDITION, f"Import of {made.origin} into {collection}")
            if not by_command:
                enqueue(Import, made.pk)
    except BaseException:
        remove_file(made)
        raise
    return made


def stop(of: Import, *, acting_user: User | None) -> bool:
    """True when the import was under way and now is not: at most the item in hand is still taken.

    What it took stays. It can go on later.
    """
    with transaction.atomic():
        under_way = Import.objects.filter(pk=of.pk, state__in=Import.OPEN)
        stopped = revoke(under_way, state=Import.State.CANCELLED, finished=timezone.now())
        if stopped:
            log(acting_user, of, CHANGE, "Stopped")
    return bool(stopped)


def resume(of: Import, *, acting_user: User | None, by_command: bool = False) -> bool:
    """True when the import was stopped, by a person or an error, and now goes on."""
    _check_place(of, by_command)
    ended = (Import.State.CANCELLED, Import.State.FAILED)
    with transaction.atomic():
        resumed = Import.objects.filter(pk=of.pk, state__in=ended).update(**_AGAIN)
        if resumed:
            log(acting_user, of, CHANGE, "Goes on")
            enqueue(Import, of.pk)
    return bool(resumed)


def retry(of: Import, *, acting_user: User | None, by_command: bool = False) -> int:
    """How many failed items wait to be taken again; the import goes on with them."""
    _check_place(of, by_command)
    with transaction.atomic():
        # Before its items, as in the runner.
        Import.objects.select_for_update(no_key=True).get(pk=of.pk)
        failed = ImportItem.objects.filter(of=of, state=ImportItem.State.FAILED)
        count = failed.update(state=ImportItem.State.WAITING, message="", attempts=0)
        if count:
            Import.objects.filter(pk=of.pk).exclude(state__in=Import.OPEN).update(**_AGAIN)
            log(acting_user, of, CHANGE, f"{count} item(s) to be tried again")
            enqueue(Import, of.pk)
    return count


def remove(of: Import, *, acting_user: User | None) -> None:
    """Removes an import with its items and its file; the documents that it took stay."""
    with transaction.atomic():
        log(acting_user, of, DELETION, f"Import of {of.origin} removed")
        of.delete()


def _check_place(of: Import, by_command: bool) -> None:
    """Raises StateConflict for what a command reads from its own machine."""
    if HERE in of.options and not by_command:
        raise StateConflict(
            f"This import reads files on “{of.options[HERE]}”. Resume it there: "
            f"manage.py import_documents --resume {of.pk}"
        )


def remove_file(of: Import) -> None:
    """Deletes the archive or manifest that was sent along."""
    if of.file:
        default_storage.delete(str(of.file.name))


def remove_with_row(instance: Import, **_signal: Any) -> None:
    """Deletes the file of an import whose row goes, be it with its whole collection."""
    transaction.on_commit(partial(remove_file, instance))


def forget_files() -> int:
    """How many imports that ended long ago, with something left over, gave up their file.

    What was in it may have been deleted from the library meanwhile, for good.
    """
    ended = Import.objects.filter(finished__lt=timezone.now() - KEPT).exclude(file="")
    count = 0
    for of in ended.exclude(state__in=Import.OPEN)[:100]:
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
            f"The file is larger than {limit:,} MB. Split it, or raise IMPORT_MAX_MB."
        )
    if not file.tell():
        raise ImportRefused("The file is empty. Check that it was saved, and send it again.")
    file.seek(0)
    return default_storage.save(f"{FOLDER}/{uuid.uuid4().hex}", File(file))
