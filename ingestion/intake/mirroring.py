"""Mirrors of external sources: the files of a watched folder, the documents a program syncs.

    Mirror  -> its rows; documents follow when things change, move or go
    put     -> a program's document, by its id and etag there
    keep    -> the ids that a source still has; the documents of others go to the bin

Both kinds share the guard: if over half is missing, the source may be half lost (an empty mount, a
listing that broke off), and a person confirms the deletion.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import IO, Any

from django.contrib.admin.models import ADDITION, CHANGE
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from common.database import hold_name
from ingestion import models
from ingestion.documents.deletion import keep_out_of_bin
from ingestion.documents.restricted_readers import Readers, restrict_known
from ingestion.errors import StateConflict
from ingestion.events import log
from ingestion.files import storage
from ingestion.lexical import bm25_weights
from ingestion.metadata import FOLDER, folders_of
from ingestion.models import Document, Lane, Mirrored, SourceKind, SyncItem, SyncSource, WatchedFile
from ingestion.parsing.file_titles import title_from_file_name, with_file_name
from ingestion.services import Receipt, delete, describe, receive, restore

logger = logging.getLogger(__name__)

# Or given another id, by one call of `keep`: each takes some hundredths of a second. A guess, as
# MOST_MOVED.
MOST_DELETED = 500
# What went within this time counts as missing: programs sync once a day or more often. A guess.
GUARDED = timedelta(days=1)
BATCH = 500


def half_lost(gone: int, total: int) -> bool:
    """Whether so much is missing that a person must confirm its deletion: over half."""
    return gone * 2 > total


def confirm(of: Model, rows: QuerySet[Any], *, acting_user: User | None) -> int:
    """Confirm the deletion of the missing rows, for the next scan; return their number.

    Rows that go missing later are not confirmed.
    """
    with transaction.atomic():
        count = rows.filter(missing_since__isnull=False).update(deletion_confirmed=True)
        if count:
            log(acting_user, of, CHANGE, f"Confirmed the deletion of {count} document(s)")
    return count


class Mirror:
    """The rows of one folder or source during a scan, and the changes to their documents."""

    counts: Counter[str]
    acting_user: User | None = None
    bins = True  # whether documents of what is gone go to the bin

    def rows(self) -> QuerySet[Any]:
        """All rows of this folder or source."""
        raise NotImplementedError

    def writing(self) -> AbstractContextManager[Any]:
        """A transaction for one row and its document."""
        return transaction.atomic()

    def missing(self) -> QuerySet[Any]:
        return self.rows().filter(missing_since__isnull=False)

    def gone(self) -> tuple[int, int]:
        """The numbers of rows with a document: those missing and unconfirmed, and all."""
        rows = self.rows().filter(document__isnull=False)
        gone = rows.filter(missing_since__isnull=False, deletion_confirmed=False)
        return gone.count(), rows.count()

    def file(self, row: Mirrored, receipt: Receipt, **values: Any) -> None:
        """Record the document of a row; move its earlier one to the bin if no row has it now."""
        document, before = receipt.document, row.document
        self.counts["changed" if receipt.replaced else receipt.outcome] += not receipt.unchanged
        sha256 = receipt.version.sha256
        self.rows().filter(pk=row.pk).update(sha256=sha256, document=document, **values)
        if receipt.replaced:
            # Others with the old bytes become separate documents.
            for rows in _holders(document):
                rows.exclude(sha256=sha256).update(**rows.model.AFRESH)
        if before is not None and before.pk != document.pk and before.source == row.origin:
            self._drop(before, row)

    def settle_moved(self, most: int | None = None) -> None:
        """Assign documents of missing rows (at most `most`) to other rows with the same bytes."""
        same = {"document": OuterRef("document"), "missing_since": None}
        by_file = Exists(WatchedFile.objects.filter(**same))
        by_item = Exists(SyncItem.objects.filter(**same))
        alike = self.missing().filter(by_file | by_item, document__deleted_at=None)
        for row in alike.select_related("document"):
            if self.counts["moved"] == most:
                break
            document = row.document
            if document.source != row.origin or (heir := _heir(document, row)) is None:
                continue
            with self.writing():
                path = heir.path if isinstance(heir, WatchedFile) else ""
                if rehome(document, heir.origin, heir.name, path):
                    type(heir)._default_manager.filter(pk=heir.pk).update(**heir.OWN)
                row.delete()
            self.counts["moved"] += 1
            # The other one was counted as a duplicate.
            self.counts["duplicate"] -= self.counts["duplicate"] > 0

    def remove(self, rows: QuerySet[Any]) -> None:
        """Delete the documents of these rows, whose files or records no longer exist."""
        for row in rows.select_related("document"):
            with self.writing():
                if row.document is not None and row.document.source == row.origin:
                    self._drop(row.document, row)
                row.delete()

    def _drop(self, document: Document, row: Mirrored) -> None:
        """Move a document that no other row has to the bin, if the mirror is set to do so."""
        if self.bins and document.deleted_at is None and _heir(document, row) is None:
            self.counts["deleted"] += delete([document], acting_user=self.acting_user)


def _holders(document: Document) -> tuple[QuerySet[Any], ...]:
    """The rows of either kind that have the document."""
    files = WatchedFile.objects.filter(document=document)
    items = SyncItem.objects.filter(document=document)
    return files.select_related("folder"), items.select_related("source")


def _heir(document: Document, row: Mirrored) -> Mirrored | None:
    """Another row that is not missing and has the document's bytes, or None."""
    for rows in _holders(document):
        others = rows.filter(missing_since=None)
        other: Mirrored | None = next((one for one in others[:2] if one != row), None)
        if other is not None:
            return other
    return None


def rehome(document: Document, source: str, file_name: str, path: str = "") -> bool:
    """Change the source of a document; return False if another document has that source.

    `path` is its place below its folder, whose folders are its metadata. Runs in the caller's
    transaction. Chunks are unchanged; the new file name becomes searchable.
    """
    row = Document.objects.select_for_update().get(pk=document.pk)
    rivals = Document.objects.beside(row).filter(source=source)
    if row.deleted_at is not None or rivals.exclude(pk=row.pk).exists():
        return False
    latest = row.versions.filter(pk=row.latest_id or 0).only("pk", "file_name").first()
    if latest is not None:
        if not row.title_given and row.title == title_from_file_name(latest.file_name)[:500]:
            row.title = title_from_file_name(file_name)[:500]
        row.versions.filter(pk__in={latest.pk, row.current_id or latest.pk}).update(
            file_name=file_name
        )
    logger.info("Document %s: moved from %s to %s", row.pk, row.source, source)
    row.source = source
    if path:
        others = {key: value for key, value in row.metadata.items() if key != FOLDER}
        row.metadata = {**others, **folders_of(path)}
    row.save(update_fields=["source", "title", "metadata", "updated"])
    bm25_weights.read_title(row.pk, with_file_name(row.title, file_name), row.language)
    return True


class ManyMissing(StateConflict):
    """Over half of a source's documents would be deleted; nothing was deleted."""

    code = "many_missing"


@dataclass(frozen=True, slots=True)
class KeepResult:
    """The number of documents that `keep` moved to the bin, and of those left to the next call."""

    deleted: int
    missing: int


@dataclass(frozen=True)
class _Source(Mirror):
    """The mirror of a source while its program syncs."""

    source: SyncSource
    acting_user: User
    counts: Counter[str] = field(default_factory=Counter)

    def rows(self) -> QuerySet[Any]:
        return SyncItem.objects.filter(source=self.source).select_related("source")

    def binned(self) -> int:
        """The number of the source's documents that went to the bin within GUARDED.

        A listing that breaks off a bit earlier each time loses all of a source by small halves.
        """
        of_source = Document.objects.filter(
            collection=self.source.collection_id, source__startswith=self.source.prefix
        )
        return of_source.filter(deleted_at__gt=timezone.now() - GUARDED).count()

    def note(self, ids: Collection[str]) -> None:
        """Record which rows are named in `ids`, and since when the others are missing."""
        named = set(ids)
        changed: dict[bool, list[int]] = {True: [], False: []}
        known = self.rows().values_list("pk", "external_id", "missing_since")
        for pk, external_id, since in known.iterator():
            if (is_named := external_id in named) == (since is not None):
                changed[is_named].append(pk)
        gone = {"missing_since": timezone.now()}
        for is_named, pks in changed.items():
            for start in range(0, len(pks), BATCH):
                rows = SyncItem.objects.filter(pk__in=pks[start : start + BATCH])
                rows.update(**(_PRESENT if is_named else gone))


_PRESENT = {"missing_since": None, "deletion_confirmed": False}


def source_of(
    owner: User, name: str, collection: models.Collection, *, acting_user: User
) -> SyncSource:
    """The owner's source of this name, created if missing.

    Raises StateConflict if it exists for another collection.
    """
    with transaction.atomic():
        rows = SyncSource.objects
        source, is_new = rows.get_or_create(
            owner=owner, name=name, defaults={"collection": collection}
        )
        if is_new:
            log(acting_user, source, ADDITION, f"Syncs into {collection}")
    if source.collection_id != collection.pk:
        text = gettext("Your source “%(name)s” is of another collection. Choose another name.")
        raise StateConflict(text % {"name": name})
    return source


def put(
    source: SyncSource,
    external_id: str,
    etag: str,
    file: IO[bytes],
    *,
    file_name: str,
    acting_user: User,
    title: str = "",
    language: str = "",
    metadata: Mapping[str, Any] | None = None,
    readers: Readers | None = None,
) -> tuple[SyncItem, str]:
    """Store a document of the source; return its row, and the outcome.

    That is `unchanged` if the source put this id with this etag before, else `added`, `replaced`
    (another file), `unchanged` (the same file), `restored` (from the bin), or `duplicate`: the
    collection has the file as another document, which the source neither changes nor deletes.
    `readers` are applied in each case. Raises what `receive` raises.
    """
    with transaction.atomic():
        hold_name(f"sync:{source.pk}/{external_id}")
        rows = source.items.select_related("document", "source").filter(external_id=external_id)
        row = rows.first() or SyncItem(source=source, external_id=external_id)
        if row.etag == etag and row.is_there:
            rows.update(**_PRESENT)
            assert row.document is not None
            restrict_known(row.document, readers, is_own=row.is_own, acting_user=acting_user)
            return row, "unchanged"
        row.etag = etag
        texts = {"title": title, "language": language}
        given = {"metadata": metadata, "readers": readers}
        return row, _stored(row, file, file_name, acting_user, texts, **given)


def _stored(
    row: SyncItem,
    file: IO[bytes],
    file_name: str,
    acting_user: User,
    texts: dict[str, Any],
    **given: Any,
) -> str:
    """Store the file of a row, and the row; return the outcome."""
    is_back = _restored(row, file, file_name, acting_user)
    receipt = receive(
        row.source.collection,
        file,
        file_name=file_name,
        source=row.origin,
        source_kind=SourceKind.SYNC,
        acting_user=acting_user,
        lane=Lane.BULK,
        **texts,
        **given,
    )
    row.file_name, row.sha256 = storage.display_name(file_name), receipt.version.sha256
    row.missing_since, row.deletion_confirmed = None, False
    row.save()
    _Source(row.source, acting_user).file(row, receipt)
    row.document = document = receipt.document
    new = {name: text for name, text in texts.items() if text not in ("", getattr(document, name))}
    if new and row.is_own:
        row.document = describe(document, acting_user=acting_user, **new)
    return "restored" if is_back and receipt.unchanged else receipt.outcome


def _restored(row: SyncItem, file: IO[bytes], file_name: str, acting_user: User) -> bool:
    """Restore the row's own document if it is in the bin; return whether it was restored."""
    own = Document.objects.filter(collection=row.source.collection_id, source=row.origin)
    document = own.order_by("-deleted_at").first()  # one that is not in the bin comes first
    if document is None or document.deleted_at is None:
        return False
    storage.hold(storage.examine(file, file_name).sha256)
    keep_out_of_bin(row.source.collection)
    try:
        return bool(restore([document], acting_user=acting_user))
    except StateConflict:
        return False  # its file is in the collection again, or it is being erased


def remove(source: SyncSource, external_id: str, *, acting_user: User) -> bool:
    """Move one document of the source to the bin and forget it; return False if there is none."""
    mirror = _Source(source, acting_user)
    rows = mirror.rows().filter(external_id=external_id)
    is_there = rows.exists()
    mirror.remove(rows)
    return is_there


def keep(
    source: SyncSource, ids: Collection[str], *, acting_user: User, confirmed: int | None = None
) -> KeepResult:
    """Delete the documents of the source that `ids` does not name, at most MOST_DELETED.

    Raises ManyMissing if that is over half of them, unless `confirmed` is their number.
    """
    mirror = _Source(source, acting_user)
    mirror.note(ids)
    mirror.settle_moved(MOST_DELETED)
    if mirror.counts["moved"] == MOST_DELETED and (left := mirror.missing().count()):
        return KeepResult(0, left)  # of which more may have moved
    gone, total = mirror.gone()
    if gone and gone == confirmed:
        confirm(source, mirror.rows(), acting_user=acting_user)
    elif gone and half_lost(gone + (binned := mirror.binned()), total + binned):
        message = gettext(
            "%(gone)s of %(total)s documents are missing, so nothing is deleted. Check that the "
            "program sees all of its source. If they are gone on purpose, confirm their number."
        ) % {"gone": f"{gone:,}", "total": f"{total:,}"}
        if binned:
            more = gettext("%(count)s more went to the bin within the last day.")
            message = f"{message} {more % {'count': f'{binned:,}'}}"
        SyncSource.objects.filter(pk=source.pk).update(message=message)
        raise ManyMissing(message)
    mirror.remove(mirror.missing()[:MOST_DELETED])
    SyncSource.objects.filter(pk=source.pk).update(message="", last_sync=timezone.now())
    return KeepResult(mirror.counts["deleted"], mirror.missing().count())
