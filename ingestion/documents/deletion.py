"""The bin: documents and collections are moved there, restored, or purged.

    delete   -> removed from search and BM25's statistics; files, chunks and embeddings stay
    restore  -> searchable as before, in one transaction
    purge    -> erased: rows, files, statistics, titles in the audit (`purging`)

A document's parts share its fate. A collection is only marked: its contents become unreadable, but
its documents stay unchanged until a worker purges it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from django.conf import settings
from django.contrib.admin.models import CHANGE, DELETION
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from common.jobs import enqueue
from ingestion import events
from ingestion.documents import activation, versions
from ingestion.documents.purging import (
    LONG_AGO,
    begin_purge,
    family_of,
    locked,
    purge_later,
    stop_purge,
    stop_work,
)
from ingestion.errors import StateConflict
from ingestion.events import log
from ingestion.models import Collection, Document, DocumentVersion
from ingestion.models.versions import UNFINISHED


def delete(documents: Iterable[Document], *, acting_user: User | None) -> int:
    """Move documents and their parts to the bin, out of search; return how many documents.

    Their processing stops. With DELETION_GRACE_DAYS=0 a worker purges them at once.
    """
    count = 0
    for each in documents:
        with transaction.atomic():
            document = locked(each.pk, deleted_at=None)
            if document is None:
                continue
            now = timezone.now()
            for member in family_of(document, deleted_at=None):
                _put_away(member, now, acting_user)
            log(acting_user, document, DELETION, "Put in the bin")
            count += 1
        if not settings.DELETION_GRACE_DAYS:
            purge_later([each], acting_user=acting_user)
    return count


def restore(documents: Iterable[Document], *, acting_user: User | None) -> int:
    """Restore documents and their parts from the bin, searchable as before; return how many.

    Raises StateConflict for the first that cannot be restored: the collection now holds its file
    or another document from its source, its collection or parent document is in the bin, or it is
    being erased.
    """
    count = 0
    for each in documents:
        with _translating_conflict(str(each)), transaction.atomic():
            document = locked(each.pk)
            if document is None or document.deleted_at is None:
                continue
            if document.deleted_at == LONG_AGO:
                raise StateConflict(
                    gettext("“%(document)s” is being deleted permanently.") % {"document": document}
                )
            _check_place(document)
            for member in family_of(document, deleted_at=document.deleted_at):
                _bring_back(member)
            log(acting_user, document, CHANGE, "Restored from the bin")
            count += 1
    return count


def delete_collection(collection: Collection, *, acting_user: User | None) -> None:
    """Move a collection and its documents to the bin, by marking the collection alone."""
    with transaction.atomic():
        rows = Collection.objects.undeleted().select_for_update(of=("self",), no_key=True)
        row = rows.filter(pk=collection.pk).first()
        if row is None:
            return
        row.deleted_at, row.deleted_by = timezone.now(), acting_user
        row.save(update_fields=["deleted_at", "deleted_by"])  # signals: searches forget its profile
        stop_work(DocumentVersion.objects.filter(document__collection=collection))
        log(acting_user, collection, DELETION, "Put in the bin with its documents")
        events.tell_of_collection(events.COLLECTION_DELETED, row)
        if not settings.DELETION_GRACE_DAYS:
            begin_purge(row)


def keep_out_of_bin(collection: Collection) -> None:
    """Lock the collection against deletion until the transaction ends.

    Raises StateConflict if it is in the bin already.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM ingestion_collection WHERE id = %s AND deleted_at IS NULL FOR SHARE",
            [collection.pk],
        )
        if cursor.fetchone() is None:
            text = gettext(
                "The collection “%(collection)s” is in the bin: restore it, or choose another one."
            )
            raise StateConflict(text % {"collection": collection})


def restore_collection(collection: Collection, *, acting_user: User | None) -> None:
    """Restore a collection and its documents; during a purge, the documents not erased yet.

    Raises StateConflict if its name is taken.
    """
    with _translating_conflict(collection.name), transaction.atomic():
        rows = Collection.objects.select_for_update(of=("self",))
        row = rows.filter(pk=collection.pk).exclude(deleted_at=None).first()
        if row is None:
            return
        same = Collection.objects.undeleted().filter(Q(name=row.name) | Q(slug=row.slug))
        if same.exists():
            text = gettext(
                "Another collection now has the name “%(row)s” or the address “%(slug)s”. "
                "Rename that one first."
            )
            raise StateConflict(text % {"row": row.name, "slug": row.slug})
        stop_purge(row)
        row.deleted_at = row.deleted_by = None
        row.save(update_fields=["deleted_at", "deleted_by"])  # signals: searches may name it again
        waiting = DocumentVersion.objects.filter(
            document__collection=row, document__deleted_at=None, state__in=UNFINISHED
        )
        for pk in waiting.values_list("pk", flat=True):
            enqueue(DocumentVersion, pk)
        log(acting_user, row, CHANGE, "Restored from the bin")
        events.tell_of_collection(events.COLLECTION_RESTORED, row)


def _put_away(document: Document, now: datetime, acting_user: User | None) -> None:
    activation.hide(document)
    Document.objects.filter(pk=document.pk).update(deleted_at=now, deleted_by=acting_user)
    stop_work(document.versions.all())
    events.tell_of_document(events.DOCUMENT_DELETED, document, state="deleted")


def _bring_back(document: Document) -> None:
    Document.objects.filter(pk=document.pk).update(deleted_at=None, deleted_by=None)
    activation.show(document)
    if document.current_id is not None:
        # Without its text, which may be megabytes long.
        current = document.versions.only("number", "state").get(pk=document.current_id)
        events.tell_of_document(events.DOCUMENT_READY, document, current, state=current.state)
    for pk in document.versions.filter(state__in=UNFINISHED).values_list("pk", flat=True):
        enqueue(DocumentVersion, pk)


@contextmanager
def _translating_conflict(name: str) -> Iterator[None]:
    """Translate a lost uniqueness race into StateConflict."""
    try:
        yield
    except IntegrityError as error:
        text = gettext(
            "“%(name)s” cannot be restored: another document just took its place. Check "
            "what is there now and try again."
        )
        raise StateConflict(text % {"name": name}) from error


def _check_place(document: Document) -> None:
    """Raise StateConflict if another document has taken this one's place."""
    if document.collection.deleted_at is not None:
        text = gettext("Its collection “%(collection)s” is in the bin: restore it first.")
        raise StateConflict(text % {"collection": document.collection})
    parent = document.parent
    if parent is not None:
        if parent.deleted_at is not None:
            text = gettext("It is a part of “%(parent)s”, which is in the bin: restore that.")
            raise StateConflict(text % {"parent": parent})
        others = parent.parts.filter(part_path=document.part_path, deleted_at=None)
    else:
        others = Document.objects.beside(document)
        same_bytes = versions.by_hash(others, document.content_hash)
        if same_bytes is not None:
            text = gettext(
                "“%(document)s” cannot be restored: its file was uploaded again as "
                "“%(same_bytes)s”. Delete that one first, or leave this one in the bin."
            )
            raise StateConflict(text % {"document": document, "same_bytes": same_bytes})
        others = others.filter(source=document.source) if document.source else others.none()
    if other := others.first():
        text = gettext(
            "“%(document)s” cannot be restored: “%(other)s” has since been added from "
            "the same source. Delete that one first, or leave this one in the bin."
        )
        raise StateConflict(text % {"document": document, "other": other})
