"""Erase the contents of the bin permanently, in batches of one transaction each.

    purge_later            -> documents, by a worker
    purge_collection_later -> a collection with its documents, by a worker
    purge_bin              -> all that has expired, by a worker
    advance                -> a worker's slice of a Purge; the next one continues
    purge                  -> documents, now

Search excludes all of it from the first transaction on. If a worker crashes, the remaining rows
are the work left to do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.admin.models import DELETION
from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from common.jobs import MAX_ATTEMPTS, Lease, enqueue, revoke, work_on
from ingestion import events
from ingestion.documents import activation, currency
from ingestion.documents.activation import remove_unused
from ingestion.events import forget, log
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, Collection, Document, DocumentVersion, Purge
from ingestion.models.versions import UNFINISHED

# `deleted_at` of documents that are being erased: past any retention period, not restorable.
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
# Passages erased in one transaction, of a document with more of them: about a second's work, most
# of it in the indexes. A guess.
AT_ONCE = 1_000
# As for an import: long enough for progress, short enough for other jobs of the worker.
SLICE_SECONDS = 10.0


def grace() -> timedelta:
    """The time during which a deletion can be undone."""
    return timedelta(days=settings.DELETION_GRACE_DAYS)


def purge(
    documents: Iterable[Document], *, erased: Callable[[int], object] = lambda passages: None
) -> int:
    """Permanently delete documents and all data derived from them; return how many.

    They need not be in the bin. A stored file that another version refers to is kept. `erased` is
    called with the number of passages in each transaction that erases some.
    """
    count = 0
    for each in documents:
        _erase_passages(each, erased)
        with transaction.atomic():
            currency.hold_chain(each.pk)
            document = locked(each.pk)
            if document is None:
                continue
            family = family_of(document)
            files: set[tuple[str, str]] = set()
            for member in family:
                if member.deleted_at is None and member.collection.deleted_at is None:
                    events.tell_of_document(events.DOCUMENT_DELETED, member, state="deleted")
                if member.current_id is not None:
                    bm25_weights.count_out(member.current_id)
                    events.tell_of_index(member.current_id)
                files |= set(member.versions.values_list("file", "sha256"))
                currency.leave_chain(member)
                forget(member)
            erased(_passages_of(family).count())
            document.delete()
            transaction.on_commit(partial(remove_unused, files))
            count += 1
    return count


def purge_later(documents: Iterable[Document], *, acting_user: User | None) -> int:
    """Hide documents for good and have a worker purge them; return how many."""
    count = 0
    for pk in sorted({document.pk for document in documents}):
        with transaction.atomic():
            document = locked(pk)
            if document is not None:
                _condemn(document)
                log(acting_user, document, DELETION, "Deleted permanently")
                count += 1
    begin_purge(None)
    return count


def purge_collection_later(collection: Collection, *, acting_user: User | None) -> None:
    """Have a worker purge a collection in the bin now, before its grace period ends."""
    with transaction.atomic():
        rows = Collection.objects.filter(pk=collection.pk).exclude(deleted_at=None)
        if rows.update(deleted_at=LONG_AGO):
            log(acting_user, collection, DELETION, "Removed for good with its documents")
            begin_purge(collection)


def purge_bin() -> None:
    """Have workers purge what has been in the bin for the grace period."""
    limit = timezone.now() - grace()
    expired = Document.objects.filter(deleted_at__lte=limit).exclude(deleted_at=LONG_AGO)
    # Parts go with their whole.
    purge_later(expired.exclude(parent__deleted_at__lte=limit).only("pk"), acting_user=None)
    for collection in Collection.objects.filter(deleted_at__lte=limit):
        begin_purge(collection)


def advance(purge_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Erase for `seconds`; True if nothing of this Purge is left, and its row is deleted."""
    ends = time.monotonic() + seconds
    done = work_on(Purge, purge_id, partial(_work, ends=ends), state=Purge.State.RUNNING)
    if done is None:
        return False
    if not done:
        enqueue(Purge, purge_id)
        return False
    bm25_weights.fold()
    return True


def stop_purge(collection: Collection) -> None:
    """End the Purge of a collection that is restored: its worker stops at its next write.

    A document of which a part was already erased is erased entirely.
    """
    Purge.objects.filter(collection=collection).delete()
    begin_purge(None)


def locked(pk: int, **conditions: object) -> Document | None:
    """The document, locked until the transaction ends; None if it does not match `conditions`."""
    rows = Document.objects.select_for_update(of=("self",)).select_related("collection")
    return rows.filter(pk=pk, **conditions).first()


def family_of(document: Document, **conditions: object) -> list[Document]:
    """The document and its nested parts that match `conditions`, all locked."""
    family, level = [document], [document]
    while level:
        rows = Document.objects.select_for_update(of=("self",)).order_by("pk")
        level = list(rows.filter(parent__in=level, **conditions))
        family += level
    return family


def stop_work(versions: QuerySet[DocumentVersion]) -> None:
    """Revoke the leases of unfinished versions: their workers stop at the next write."""
    revoke(versions.filter(state__in=UNFINISHED))


def begin_purge(collection: Collection | None) -> None:
    """Create the job that erases the collection, or single documents, unless there is one."""
    inside = _inside(collection)
    if collection is None and not inside.exists():
        return
    # From the counts of their current versions.
    passages = int(inside.aggregate(total=Sum("current__chunk_count"))["total"] or 0)
    with transaction.atomic():
        row, is_new = Purge.objects.get_or_create(
            collection=collection, defaults={"passages": passages}
        )
        if is_new:
            enqueue(Purge, row.pk)
            return
        rows = Purge.objects.filter(pk=row.pk)
        # The set changes: single documents are added while a worker erases the first ones.
        rows.update(passages=F("erased") + passages)
        again = {"state": Purge.State.QUEUED, "error": "", "attempts": 0}
        if rows.filter(state=Purge.State.FAILED).update(**again):
            enqueue(Purge, row.pk)


def _work(lease: Lease[Purge], ends: float) -> bool:
    """Erase until the time `ends`; return whether nothing is left."""
    of = lease.row
    if lease.crashes_repeatedly:
        text = gettext(
            "Erasing stopped unexpectedly %(max_attempts)s times. The worker's log says why. Fix "
            "the cause, then delete it permanently once more."
        )
        lease.finish(Purge.State.FAILED, error=text % {"max_attempts": MAX_ATTEMPTS})
        return False
    collection = of.collection

    def note(passages: int) -> None:
        # In the transaction that erases them, so it is rolled back if the purge was stopped.
        lease.update(erased=F("erased") + passages, attempts=0)

    for document in _one_by_one(_inside(collection)):
        if not _erase_passages(document, note, ends, condemned=partial(note, 0)):
            return False
        purge([document], erased=note)
        if time.monotonic() >= ends:
            return False
    # Uploads into it are refused, so no document can have been added meanwhile.
    with lease.writing():
        if collection is not None:
            collection.delete()
        Purge.objects.filter(pk=of.pk).delete()
    return True


def _inside(collection: Collection | None) -> QuerySet[Document]:
    """The documents to erase: of the collection, or single ones."""
    if collection is None:
        return Document.objects.filter(deleted_at=LONG_AGO)
    return Document.objects.filter(collection=collection)


def _erase_passages(
    original: Document,
    erased: Callable[[int], object],
    ends: float = float("inf"),
    *,
    condemned: Callable[[], object] = lambda: None,
) -> bool:
    """Hide a document with many passages and its parts, and erase the passages in batches.

    False if some are left at the time `ends`. `condemned` is called in the transaction after which
    the document can no longer be restored.
    """
    with transaction.atomic():
        document = locked(original.pk)
        if document is None:
            return True
        family = family_of(document)
        if not _passages_of(family)[AT_ONCE:].exists():
            return True
        _condemn(document)
        condemned()
    while pks := list(_passages_of(family).order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        with transaction.atomic():
            # Lock it before its chunks, as everywhere; its parts can no longer be restored now.
            locked(original.pk)
            Chunk.objects.filter(pk__in=pks).delete()
            erased(len(pks))
        if time.monotonic() >= ends:
            return False
    return True


def _condemn(document: Document) -> None:
    """Remove a document and its parts from search for good, in the caller's transaction."""
    for member in family_of(document):
        if member.deleted_at is None and member.collection.deleted_at is None:
            events.tell_of_document(events.DOCUMENT_DELETED, member, state="deleted")
        activation.hide(member)
        Document.objects.filter(pk=member.pk).update(deleted_at=LONG_AGO)
        stop_work(member.versions.all())


def _passages_of(family: Iterable[Document]) -> QuerySet[Chunk]:
    return Chunk.objects.filter(document__in=[member.pk for member in family]).order_by()


def _one_by_one(documents: Any) -> Iterator[Document]:
    """The documents, read one at a time by primary key, because a purge may take hours."""
    for pk in list(documents.order_by("pk").values_list("pk", flat=True)):
        yield Document(pk=pk)
