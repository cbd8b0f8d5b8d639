"""U: the path of an upload. Read this first.

    receive  -> a document and a version, queued          (boundary: upload, API, command)
    advance  -> parsing, chunking, embedding, ready       (a worker; `processing_steps`)
    activate -> the new chunks replace the old in one transaction    (`activation`)
    delete   -> the bin; restore undoes it (`deletion`), purge deletes permanently (`purging`)
    make_current -> a new version with the file of an older one      (`versions`)
    move -> another collection; annotate -> tags and metadata of many (`bulk_changes`)
    restrict -> fewer readers than its collection has                (`readers`)
    edit_chunk -> a passage changed by hand, in place                (`hand_edits`)

Every function here owns its transaction and enqueues on commit. The database alone records
the work left to do: a lost message costs time, never a document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from django.contrib.admin.models import ADDITION, CHANGE
from django.db import IntegrityError, transaction
from django.db.models import Case, Q, QuerySet, When
from django.utils.translation import gettext

from common.accounts import quotas, tokens
from common.accounts.models import User
from common.jobs import enqueue
from ingestion import events
from ingestion.chunking.options import LAYOUT
from ingestion.documents import editions, versions
from ingestion.documents.bulk_changes import annotate, move
from ingestion.documents.deletion import (
    delete,
    delete_collection,
    keep_out_of_bin,
    restore,
    restore_collection,
)
from ingestion.documents.hand_edits import Wish, edit_chunk, undo
from ingestion.documents.purging import purge, purge_bin, purge_collection_later, purge_later
from ingestion.documents.restricted_readers import Readers, restrict, restrict_known, restrict_one
from ingestion.documents.versions import add_version, file_of, latest_of, locked, make_current
from ingestion.errors import QuotaUsedUp, StateConflict
from ingestion.events import log
from ingestion.files import storage
from ingestion.lexical import bm25_weights
from ingestion.metadata import Metadata, check_metadata, folders_of
from ingestion.models import Collection, Document, DocumentVersion, Lane, SourceKind, State
from ingestion.models.documents import DocumentQuerySet
from ingestion.models.visibility import open_to
from ingestion.parsing.file_titles import title_from_file_name, with_file_name


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of an upload. At most one of `duplicate` and `replaced` is true.

    `duplicate`: the collection already held these bytes, in `document`, and nothing was stored.
    `unchanged`: moreover, they came from that document's own source, as in a repeated import.
    `replaced`: the document existed, and `version` is its next version.
    """

    document: Document
    version: DocumentVersion
    duplicate: bool = False
    unchanged: bool = False
    replaced: bool = False

    @property
    def outcome(self) -> str:
        """added, replaced, unchanged or duplicate."""
        if self.unchanged:
            return "unchanged"
        if self.duplicate:
            return "duplicate"
        return "replaced" if self.replaced else "added"


@dataclass(frozen=True, slots=True)
class _Origin:
    """The source of a file and the data given with it."""

    source: str
    source_kind: SourceKind
    title: str
    language: str
    lane: Lane
    metadata: Metadata | None
    readers: Readers | None
    stated: Mapping[str, Any] | None = None
    path: str = ""

    def __post_init__(self) -> None:
        # Like the name of an archive's member, which is its source.
        if self.source.startswith("sync:") and self.source_kind is not SourceKind.SYNC:
            text = gettext("Only names of synced sources may begin with “sync:”. Rename it.")
            raise StateConflict(text)


def receive(
    collection: Collection,
    file: IO[bytes],
    *,
    file_name: str,
    acting_user: User | None,
    source: str = "",
    source_kind: SourceKind = SourceKind.UPLOAD,
    title: str = "",
    language: str = "",
    lane: Lane = Lane.INTERACTIVE,
    metadata: Mapping[str, Any] | None = None,
    readers: Readers | None = None,
    stated: Mapping[str, Any] | None = None,
    path: str = "",
) -> Receipt:
    """Store `file` as a document or a new version of one, and queue it; return the receipt.

    The same bytes twice in a collection make one document, so that a retry is always safe. A file
    from a known `source` becomes a new version of that source's document. Documents in the bin
    are ignored. `metadata` replaces that of a document known by its source, even if its bytes are
    the same; None keeps it. `readers` alone may read the document, from its first row on; None:
    a known one keeps its own, a new one is for all of the collection. `stated`: see
    `ingestion.currency_dates.KEYS`. The folders of `path`, the file's place among those that it
    came with, become metadata of a new document. Nothing is stored if it raises: RefusedUpload,
    InvalidMetadata, QuotaUsedUp, StateConflict (a bin's collection, readers without the user, or
    other ones than those of a document that the user may not change).
    """
    checked = None if metadata is None else check_metadata(metadata)
    examined = storage.examine(file, file_name)
    origin = _Origin(source, source_kind, title, language, lane, checked, readers, stated, path)
    Readers.check(readers, acting_user)

    def file_it() -> Receipt:
        keep_out_of_bin(collection)
        if duplicate := versions.by_hash(_known(collection, acting_user, source), examined.sha256):
            if unchanged := bool(source) and duplicate.source == source:
                editions.restate(duplicate, stated or {})  # first, as its lock comes before rows'
                _note_metadata(duplicate, checked, acting_user)
            restrict_known(duplicate, readers, is_own=unchanged, acting_user=acting_user)
            return _duplicate(duplicate, unchanged=unchanged)
        _count(examined, acting_user)
        return _file_version(collection, storage.store(file, examined), acting_user, origin)

    return _under_lock(examined, file_it)


def replace(
    document: Document,
    file: IO[bytes],
    *,
    file_name: str,
    acting_user: User | None,
    lane: Lane = Lane.INTERACTIVE,
    metadata: Mapping[str, Any] | None = None,
    readers: Readers | None = None,
) -> Receipt:
    """Queue a new version of the document; the current one stays searchable until it is ready.

    `metadata` and `readers` replace the document's; None keeps them. Raises IngestionError for a
    refused file, InvalidMetadata, StateConflict as `restrict_one` does, and Document.DoesNotExist
    if the document was deleted.
    """
    checked = None if metadata is None else check_metadata(metadata)
    examined = storage.examine(file, file_name)

    def replace_it() -> Receipt:
        if readers:
            restrict_one(document, readers, acting_user)
            document.refresh_from_db(fields=["audience"])
        if duplicate := versions.by_hash(Document.objects.beside(document), examined.sha256):
            if unchanged := duplicate.pk == document.pk:
                _note_metadata(duplicate, checked, acting_user)
            return _duplicate(duplicate, unchanged=unchanged)
        _count(examined, acting_user)
        stored = storage.store(file, examined)
        row = locked(document.pk)
        _note_metadata(row, checked, acting_user)
        version = add_version(row, stored, lane=lane)
        log(acting_user, row, CHANGE, f"New version {version.number}: {stored.file_name}")
        return Receipt(row, version, replaced=True)

    return _under_lock(examined, replace_it)


def retry(documents: Iterable[Document], *, acting_user: User | None) -> int:
    """Queue the failed documents among these again; return the number."""
    count = 0
    for document in documents:
        if document.latest_id is None:
            continue
        with transaction.atomic():
            failed = DocumentVersion.objects.filter(pk=document.latest_id, state=State.FAILED)
            queued = failed.update(
                state=State.QUEUED,
                progress=0,
                attempts=0,
                error="",
                error_code="",
                not_before=None,
                finished=None,
            )
            if queued:
                log(acting_user, document, CHANGE, "Retried")
                enqueue(DocumentVersion, document.latest_id)
                count += 1
    return count


def outdated() -> QuerySet[Document]:
    """The documents whose searchable chunks were made by an earlier release in another layout."""
    return Document.objects.undeleted().filter(current__chunk_layout__lt=LAYOUT)


def reprocess(documents: Iterable[Document], *, acting_user: User | None) -> int:
    """Queue documents to be parsed, chunked and embedded again; return how many.

    Each gets a new version of the same file, so that search keeps the current chunks until the
    new ones are ready. Recent uploads are processed first. Unfinished documents are skipped, and
    those that were deleted meanwhile.
    """
    count = 0
    for each in documents:
        with transaction.atomic(), suppress(Document.DoesNotExist):
            document = locked(each.pk)
            latest = latest_of(document)
            if latest is None or latest.is_open:
                continue
            version = add_version(document, file_of(latest), lane=Lane.BULK)
            log(acting_user, document, CHANGE, f"Reprocessed as version {version.number}")
            count += 1
    return count


def read_words(documents: Iterable[Document]) -> int:
    """Index the words of the documents' passages by today's rules; return how many documents.

    Nothing is parsed or embedded: the passages stay as they are, and searchable.
    """
    count = 0
    for each in documents:
        with transaction.atomic(), suppress(Document.DoesNotExist):
            document = locked(each.pk)
            if document.current_id is None:
                continue
            version = DocumentVersion.objects.defer("text").get(pk=document.current_id)
            names = with_file_name(version.title, version.file_name)
            bm25_weights.count_out(version.pk)
            bm25_weights.read_terms(version.pk, title=names)
            bm25_weights.count_in(version.pk)
            names = with_file_name(document.title, version.file_name)
            bm25_weights.read_title(document.pk, names, document.language)
            events.tell_of_index(version.pk)
            count += 1
    bm25_weights.fold()
    return count


def describe(
    document: Document,
    *,
    acting_user: User | None,
    title: str | None = None,
    language: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    """Set a document's title, language or metadata; None keeps one. Return the document.

    An empty value restores the default: the title from the file, the detected language, no
    metadata. A title is shown and matched at once. Since the chunks' lexemes and embeddings
    contain it, the file is processed again, superseding a version in progress. Metadata takes
    effect at once and affects no chunk. Raises InvalidMetadata.
    """
    checked = None if metadata is None else check_metadata(metadata)
    with transaction.atomic():
        document = locked(document.pk)
        _note_metadata(document, checked, acting_user)
        if title is None and language is None:
            return document
        latest = latest_of(document)
        fields: dict[str, object] = {}
        if title is not None:
            own = title_from_file_name(latest.file_name) if latest else document.title
            fields |= {"title": (title or own)[:500], "title_given": bool(title)}
        if language is not None:
            fields |= {"language": language, "language_given": bool(language)}
        for name, value in fields.items():
            setattr(document, name, value)
        document.save(update_fields=[*fields, "updated"])
        file_name = latest.file_name if latest else ""
        named_as = with_file_name(document.title, file_name)
        bm25_weights.read_title(document.pk, named_as, document.language)
        names = " and ".join(name for name in ("title", "language") if name in fields)
        log(acting_user, document, CHANGE, f"Changed {names}")
        if latest is not None:
            add_version(document, file_of(latest))
    return document


def _note_metadata(document: Document, metadata: Metadata | None, acting_user: User | None) -> None:
    """Replace the metadata, with an audit row, if it is given and differs."""
    if metadata is None or metadata == document.metadata:
        return
    document.metadata = metadata
    document.save(update_fields=["metadata", "updated"])
    log(acting_user, document, CHANGE, "Changed metadata")


def _count(examined: storage.Examined, user: User | None) -> None:
    """Count the upload for its user. Raises QuotaUsedUp."""
    try:
        quotas.spend(user, quotas.UPLOADS)
        quotas.spend(user, quotas.BYTES, examined.size)
    except quotas.QuotaExceeded as error:
        raise QuotaUsedUp(str(error), error.retry_after) from error


def _under_lock(examined: storage.Examined, work: Callable[[], Receipt]) -> Receipt:
    """The result of `work`, run in one transaction under the lock of these bytes.

    Retried once if another process created a document of the same source at the same time.
    """
    for attempt in (1, 2):
        try:
            with transaction.atomic():
                storage.hold(examined.sha256)
                return work()
        except IntegrityError:
            if attempt == 2:
                raise
    raise AssertionError("unreachable")


def _duplicate(document: Document, *, unchanged: bool) -> Receipt:
    assert document.latest is not None
    return Receipt(document, document.latest, duplicate=True, unchanged=unchanged)


def _known(collection: Collection, user: User | None, source: str) -> DocumentQuerySet:
    """The collection's documents, even in the bin, that the uploader may know; all for a command.

    Of a document that they may not read they learn nothing, and theirs becomes another one, unless
    they added it: what they import again is for its readers, too. First comes the source's own
    which they added, or which has readers of its own: nobody gets at their next version by a
    document for more readers with its source.
    """
    rows = Document.objects.filter(collection=collection)
    if user is not None:
        rows = rows.filter(Q(audience=None) | open_to(user) | Q(added_by=user))
    first = (Q(source=source), Q(added_by=user), Q(audience__isnull=False))
    return rows.order_by(*(Case(When(each, then=0), default=1) for each in first), "-pk")


def _file_version(
    collection: Collection, stored: storage.StoredFile, acting_user: User | None, origin: _Origin
) -> Receipt:
    rows = _known(collection, acting_user, origin.source).filter(source=origin.source)
    present = rows.filter(deleted_at=None).select_for_update(of=("self",))
    if origin.source and (existing := present.first()):
        restrict_known(existing, origin.readers, is_own=True, acting_user=acting_user)
        _note_metadata(existing, origin.metadata, acting_user)
        version = add_version(existing, stored, lane=origin.lane, stated=origin.stated)
        log(acting_user, existing, CHANGE, f"New version {version.number}: {stored.file_name}")
        return Receipt(existing, version, replaced=True)
    audience = origin.readers.within(collection) if origin.readers else None
    if origin.source and audience is None:
        # A document that comes back, as a file to its folder, gets its previous readers.
        before = rows.exclude(deleted_at=None).order_by("-deleted_at").first()
        audience = before.audience if before else None
    document = Document.objects.create(
        collection=collection,
        audience=audience,
        title=(origin.title or title_from_file_name(stored.file_name))[:500],
        title_given=bool(origin.title),
        language=origin.language,
        language_given=bool(origin.language),
        metadata={**folders_of(origin.path), **(origin.metadata or {})},
        source=origin.source,
        source_kind=origin.source_kind,
        content_hash=stored.sha256,
        added_by=acting_user,
    )
    version = add_version(document, stored, lane=origin.lane, stated=origin.stated)
    log(acting_user, document, ADDITION, f"Uploaded: {stored.file_name}")
    return Receipt(document, version)
