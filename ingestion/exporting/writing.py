"""Export a collection as a stream of bytes, one block at a time."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Set
from typing import Any

from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import QuerySet, Sum
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts import quotas
from common.audit.models import Kind
from common.audit.trail import record
from ingestion import exporting as layout
from ingestion.documents.restricted_readers import Readers
from ingestion.errors import IngestionError
from ingestion.exporting import Documents, Row, attached, lines
from ingestion.models import ChunkEdit, Collection, Document
from ingestion.models.documents import DocumentQuerySet
from ingestion.models.visibility import Viewer
from ingestion.spaces import active_space

BLOCK_BYTES = 1024 * 1024
ROWS_AT_ONCE = 500

COLLECTION_FIELDS = (
    "name", "slug", "description", "visibility", "language", "chunk_tokens", "overlap_tokens",
    "metadata_keys", "icon",
)  # fmt: skip
CURRENCY_FIELDS = (
    "valid_from", "valid_until", "review_by", "reviewed", "owner", "reviewed_by",
)  # fmt: skip
EDIT_FIELDS = (
    "text", "disabled", "questions", "note", "original", "content_hash", "hash_before",
    "hash_after", "heading_path", "ordinal", "state", "reason",
)  # fmt: skip


class ExportFailed(IngestionError):
    """The collection cannot be exported; the message says what is missing."""

    code = "export_failed"


def may_export(viewer: Viewer, collection: Collection) -> bool:
    """True if the viewer may export a collection: one who may read and change it."""
    seen = Collection.objects.visible_to(viewer).filter(pk=collection.pk).exists()
    return bool(seen and viewer is not None and viewer.has_perm("ingestion.change_collection"))


def export(
    collection: Collection, documents: Documents | None = None, reader: Any = None
) -> Iterator[bytes]:
    """The blocks of the ZIP, from one snapshot of the collection, with all or only these documents.

    Successors that are not among the exported documents are left out, and of what is attached
    all that `reader` may not see; None sees all.
    """
    outside = not connection.in_atomic_block
    with transaction.atomic():
        if outside:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        every = exported_documents(collection) if documents is None else documents
        yield from _archive(_entries(collection, every, documents, reader))


def streamed(collection: Collection, reader: Any) -> StreamingHttpResponse:
    """The export as a streaming download, noted in the audit trail and counted for its reader.

    It has the documents that the reader may read; the sizes of their current files are counted.
    Raises QuotaExceeded.
    """
    documents = exported_documents(collection).open_to(reader)
    total = documents.order_by().aggregate(size=Sum("current__size"))
    quotas.spend(reader, quotas.DOWNLOADED, total["size"] or 0)
    record(Kind.EXPORTED, subject=collection, details={"documents": documents.count()})
    return StreamingHttpResponse(
        export(collection, documents, reader),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{file_name(collection)}"'},
    )


def file_name(collection: Collection) -> str:
    """The file name of the export: the slug of the collection and the date."""
    return f"{collection.slug}-{timezone.localdate():%Y-%m-%d}.zip"


class _Sink(io.RawIOBase):
    """An unseekable buffer between zipfile and the stream."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def fetch(self) -> bytes:
        """The bytes written since the last call."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


Entry = tuple[str, int, Iterable[bytes]]


def _archive(entries: Iterable[Entry]) -> Iterator[bytes]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", allowZip64=True) as archive:
        for name, method, pieces in entries:
            info = zipfile.ZipInfo(name, timezone.now().timetuple()[:6])
            info.compress_type = method
            info.external_attr = 0o600 << 16
            with archive.open(info, "w", force_zip64=True) as member:
                for piece in pieces:
                    member.write(piece)
                    if data := sink.fetch():
                        yield data
    yield sink.fetch()


def _entries(
    collection: Collection, documents: Documents, named: Documents | None, reader: Any
) -> Iterator[Entry]:
    packed, plain = zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED
    yield layout.MANIFEST, packed, [json.dumps(_manifest(collection, documents), indent=1).encode()]
    yield layout.DOCUMENTS, packed, lines(_documents(documents, named))
    yield layout.EDITS, packed, lines(_edits(documents))
    for part in attached():
        yield f"{part.name}.jsonl", packed, lines(part.rows(collection, documents, reader))
    for name, sha256 in _files(documents):
        # Mostly compressed already; and stored files keep the archive below the ratio of a bomb.
        yield f"{layout.FILES}{sha256}", plain, _read(name)


def _manifest(collection: Collection, documents: QuerySet[Document]) -> dict[str, Any]:
    space = active_space()
    is_restricted = documents.exclude(audience=None).exists()
    return {
        "format": layout.NAME,
        "version": layout.WITH_READERS if is_restricted else layout.VERSION,
        "exported": timezone.now().isoformat(),
        "documents": documents.count(),
        "collection": {
            **{name: getattr(collection, name) for name in COLLECTION_FIELDS},
            "groups": sorted(collection.groups.values_list("name", flat=True)),
            "created": collection.created.isoformat(),
        },
        "embedding": {"model": space.fingerprint, "dimensions": space.dimensions}
        if space
        else None,
    }


def exported_documents(collection: Collection) -> DocumentQuerySet:
    """The documents with a file, parents before their parts."""
    documents = Document.objects.filter(collection=collection, deleted_at=None)
    return documents.filter(latest__isnull=False).order_by("pk")


# The fields of documents that are written unchanged.
_OF_DOCUMENTS = (
    "title", "title_given", "language", "language_given", "metadata", "source", "source_kind",
    "part_path",
)  # fmt: skip


def _documents(documents: QuerySet[Document], named: QuerySet[Document] | None) -> Iterator[Row]:
    named = Document.objects.all() if named is None else named
    successors = set(named.filter(supersedes__in=documents).values_list("pk", flat=True))
    people = ("audience", "owner", "reviewed_by")
    joined = documents.select_related("parent", "current", "latest", "superseded_by", *people)
    lean = joined.defer("title_terms", "current__text", "latest__text", "parent__title_terms")
    for document in lean.iterator(ROWS_AT_ONCE):
        version = document.current or document.latest
        assert version is not None
        yield {
            "id": str(document.public_id),
            **{name: getattr(document, name) for name in _OF_DOCUMENTS},
            "parent": str(document.parent.public_id) if document.parent else None,
            "readers": readers.as_names() if (readers := Readers.of(document)) else None,
            "created": document.created.isoformat(),
            "currency": _currency(document, successors),
            "file": {
                "name": version.file_name,
                "sha256": version.sha256,
                "size": version.size,
                "media_type": version.media_type,
                "added": version.created.isoformat(),
            },
        }


def _currency(document: Document, successors: Set[int]) -> Row:
    """The data on a document's currency: days, user names, the id of its successor."""
    values: dict[str, Any] = {name: getattr(document, name) for name in CURRENCY_FIELDS}
    if document.superseded_by and document.superseded_by.pk in successors:
        values["superseded_by"] = document.superseded_by.public_id
    return {name: str(value) for name, value in values.items() if value}


def _edits(documents: QuerySet[Document]) -> Iterator[Row]:
    edits = ChunkEdit.objects.filter(document__in=documents).order_by("document", "pk")
    for edit in edits.select_related("document").defer("document__title_terms").iterator(100):
        yield {
            "document": str(edit.document.public_id),
            "created": edit.created.isoformat(),
            **{name: getattr(edit, name) for name in EDIT_FIELDS},
        }


def _files(documents: QuerySet[Document]) -> Iterator[tuple[str, str]]:
    """The stored files, each once, with their hashes."""
    seen: set[bytes] = set()
    names = documents.values_list(
        "current__file", "current__sha256", "latest__file", "latest__sha256"
    )
    for current, current_sha, latest, latest_sha in names.iterator(ROWS_AT_ONCE):
        name, sha256 = (current, current_sha) if current_sha else (latest, latest_sha)
        # As bytes, since this set grows with the collection.
        if (key := bytes.fromhex(sha256)) not in seen:
            seen.add(key)
            yield name, sha256


def _read(name: str) -> Iterator[bytes]:
    try:
        with default_storage.open(name) as file:
            while block := file.read(BLOCK_BYTES):
                yield block
    except OSError as error:
        raise ExportFailed(
            gettext(
                "The stored file %(name)s cannot be read (%(error)s). Restore it from a backup or "
                "delete its document, then export again."
            )
            % {"name": name, "error": error.strerror or error}
        ) from error
