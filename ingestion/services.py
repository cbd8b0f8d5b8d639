"""U: the upload story. Read this first.

    receive  -> a document and a version, queued          (boundary: upload, API, command)
    advance  -> parsing, chunking, embedding, ready       (a worker; see `steps`)
    activate -> the new chunks replace the old in one transaction    (`activation`)

Every function here owns its transaction and enqueues on commit. The database is the only
truth about what is left to do: a lost message costs time, never a document.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.db import IntegrityError, transaction

from ingestion import storage, terms
from ingestion.activation import finish
from ingestion.models import Collection, Document, DocumentVersion, State
from ingestion.models.library import UNFINISHED
from ingestion.queueing import enqueue
from ingestion.titles import title_from_file_name, with_file_name

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an upload. At most one of `duplicate` and `replaced` is true.

    `duplicate`: the collection already held these bytes, and nothing was stored.
    `replaced`: the document existed, and this is its next version.
    """

    document: Document
    version: DocumentVersion
    duplicate: bool = False
    replaced: bool = False


def receive(
    collection: Collection,
    file: IO[bytes],
    *,
    file_name: str,
    acting_user: User | None,
    source: str = "",
    title: str = "",
    language: str = "",
) -> Receipt:
    """The document that `file` is or becomes, queued for the workers.

    The same bytes twice in a collection make one document. A file from a `source` that the
    collection knows becomes a new version of that source's document. Raises IngestionError for
    a file turned away (empty, too large, of no type we read, not what its name says), of which
    nothing is stored.
    """
    examined = storage.examine(file, file_name)

    def file_it() -> Receipt:
        held = _held(collection, examined.sha256)
        if held:
            return _duplicate(held)
        stored = storage.store(file, examined)
        return _file_version(collection, stored, acting_user, source, title, language)

    return _while_holding(examined, file_it)


def replace(
    document: Document, file: IO[bytes], *, file_name: str, acting_user: User | None
) -> Receipt:
    """The document with a new version queued; its present version stays searchable until then."""
    examined = storage.examine(file, file_name)

    def replace_it() -> Receipt:
        held = _held(document.collection, examined.sha256)
        if held:
            return _duplicate(held)
        stored = storage.store(file, examined)
        row = Document.objects.select_for_update().get(pk=document.pk)
        version = _add_version(row, stored)
        _log(acting_user, row, CHANGE, f"New version {version.number}: {stored.file_name}")
        return Receipt(row, version, replaced=True)

    return _while_holding(examined, replace_it)


def retry(documents: Iterable[Document], *, acting_user: User | None) -> int:
    """How many failed documents were queued again; those that did not fail are left alone."""
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
                _log(acting_user, document, CHANGE, "Retried")
                enqueue(document.latest_id)
                count += 1
    return count


def reprocess(documents: Iterable[Document], *, acting_user: User | None) -> int:
    """How many documents were queued to be parsed, chunked and embedded again from their file.

    Each gets a new version of the same file, so that search keeps the present chunks until
    the new ones are ready.
    """
    count = 0
    for given in documents:
        with transaction.atomic():
            document = Document.objects.select_for_update().get(pk=given.pk)
            latest = _latest(document)
            if latest is None or latest.is_unfinished:
                continue
            version = _add_version(document, _file_of(latest))
            _log(acting_user, document, CHANGE, f"Reprocessed as version {version.number}")
            count += 1
    return count


def describe(
    document: Document,
    *,
    acting_user: User | None,
    title: str | None = None,
    language: str | None = None,
) -> Document:
    """The document under the title and language that a person gave it; None leaves one alone.

    Empty takes a choice back: the file's own title, the detected language. The title is shown
    and matched at once. The chunks hold it in their lexemes and embeddings, so that the file
    is processed again, in place of a version under way that still holds the old title.
    """
    with transaction.atomic():
        document = Document.objects.select_for_update().get(pk=document.pk)
        latest = _latest(document)
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
        terms.read_title(document.pk, named_as, document.language)
        named = " and ".join(name for name in ("title", "language") if name in fields)
        _log(acting_user, document, CHANGE, f"Changed {named}")
        if latest is not None:
            _add_version(document, _file_of(latest))
    return document


def delete(documents: Iterable[Document], *, acting_user: User | None) -> int:
    """How many documents were removed, with their chunks, statistics and stored files."""
    count = 0
    for given in documents:
        with transaction.atomic():
            document = Document.objects.select_for_update().filter(pk=given.pk).first()
            if document is None:
                continue
            _log(acting_user, document, DELETION, "Deleted")
            if document.current_id:
                terms.count_out(document.current_id)
            files = set(document.versions.values_list("file", "sha256"))
            document.delete()
            transaction.on_commit(partial(_remove_unused, files))
            count += 1
    return count


def delete_collection(collection: Collection, *, acting_user: User | None) -> None:
    """Removes a collection with everything in it."""
    delete(collection.documents.all(), acting_user=acting_user)
    with transaction.atomic():
        _log(acting_user, collection, DELETION, "Deleted")
        collection.delete()


def _while_holding(examined: storage.Examined, work: Callable[[], Receipt]) -> Receipt:
    """What `work` returns, in one transaction in which no one else stores or removes these bytes.

    Once more when another process made a document of the same source at the same moment.
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


def _held(collection: Collection, sha256: str) -> Document | None:
    documents = Document.objects.select_related("latest", "collection")
    return documents.filter(collection=collection, content_hash=sha256).first()


def _duplicate(document: Document) -> Receipt:
    assert document.latest is not None
    return Receipt(document, document.latest, duplicate=True)


def _file_version(
    collection: Collection,
    stored: storage.StoredFile,
    acting_user: User | None,
    source: str,
    title: str,
    language: str,
) -> Receipt:
    known = None
    if source:
        known = (
            Document.objects.select_for_update()
            .filter(collection=collection, source=source)
            .first()
        )
    if known is not None:
        version = _add_version(known, stored)
        _log(acting_user, known, CHANGE, f"New version {version.number}: {stored.file_name}")
        return Receipt(known, version, replaced=True)
    document = Document.objects.create(
        collection=collection,
        title=(title or title_from_file_name(stored.file_name))[:500],
        title_given=bool(title),
        language=language,
        language_given=bool(language),
        source=source,
        content_hash=stored.sha256,
        added_by=acting_user,
    )
    version = _add_version(document, stored)
    _log(acting_user, document, ADDITION, f"Uploaded {stored.file_name}")
    return Receipt(document, version)


def _add_version(document: Document, stored: storage.StoredFile) -> DocumentVersion:
    """A new, queued version; an unfinished one before it is superseded and will not be finished."""
    numbers = document.versions.values_list("number", flat=True)
    for waiting in document.versions.select_for_update().filter(state__in=UNFINISHED):
        waiting.chunks.all().delete()
        finish(waiting, State.SUPERSEDED)
    version = DocumentVersion.objects.create(
        document=document,
        number=max(numbers, default=0) + 1,
        title=document.title,
        language=document.language,
        file=stored.name,
        file_name=stored.file_name,
        media_type=stored.media_type,
        size=stored.size,
        sha256=stored.sha256,
    )
    document.latest = version
    document.content_hash = stored.sha256
    document.save(update_fields=["latest", "content_hash", "updated"])
    enqueue(version.pk)
    return version


def _latest(document: Document) -> DocumentVersion | None:
    """The newest version without its text, which may be tens of megabytes."""
    if document.latest_id is None:
        return None
    return DocumentVersion.objects.defer("text").get(pk=document.latest_id)


def _file_of(version: DocumentVersion) -> storage.StoredFile:
    return storage.StoredFile(
        str(version.file.name), version.file_name, version.size, version.sha256, version.media_type
    )


def _remove_unused(files: set[tuple[str, str]]) -> None:
    """Removes stored files that no version names any longer; `files` are names with hashes."""
    for name, sha256 in files:
        with transaction.atomic():
            # Whoever is storing these bytes just now names them before this goes on.
            storage.hold(sha256)
            if not DocumentVersion.objects.filter(file=name).exists():
                storage.remove(name)


def _log(user: User | None, target: Document | Collection, flag: int, message: str) -> None:
    """The audit row. Django's log names a user; what a command does is in the terminal's log."""
    if user is None:
        logger.info("%s: %s", target, message)
        return
    queryset = type(target)._default_manager.filter(pk=target.pk)
    LogEntry.objects.log_actions(user.pk, queryset, flag, message, single_object=True)
