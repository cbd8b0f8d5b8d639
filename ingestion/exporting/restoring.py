"""Restore an exported collection: each document in its own transaction, under its old id.

Restoring is idempotent: after an interruption, run it again. The workers then process the documents
and apply the hand edits; the same bytes under the same settings give the same passages.
"""

from __future__ import annotations

import tempfile
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from common.jobs import enqueue
from ingestion import exporting as layout
from ingestion.documents.restricted_readers import Readers
from ingestion.documents.versions import add_version
from ingestion.events import tell_of_currency
from ingestion.exporting import attached, currency, moment, read_lines, read_manifest
from ingestion.exporting.writing import COLLECTION_FIELDS, EDIT_FIELDS
from ingestion.files import storage
from ingestion.intake.import_archives import copy_counted, open_archive
from ingestion.intake.import_protocol import ImportRefused
from ingestion.lexical import bm25_weights
from ingestion.metadata import check_metadata
from ingestion.models import (
    ChunkEdit,
    Collection,
    Document,
    DocumentVersion,
    Lane,
    SourceKind,
    State,
)
from ingestion.parsing.file_titles import with_file_name
from ingestion.parsing.formats.zip_safety import UNREADABLE

IN_MEMORY_BYTES = 1024 * 1024
# Workers must not process a document before its parts and edits are restored: they would create
# parts of their own. After an interrupted restore, they start after this time.
START_DELAY = timedelta(hours=6)
NotARow = (
    KeyError, TypeError, ValueError, AttributeError, ValidationError, ObjectDoesNotExist,
)  # fmt: skip


@dataclass(slots=True)
class Restored:
    """The outcome: rows created and rows that existed, by kind."""

    collection: Collection
    created: Counter[str] = field(default_factory=Counter)
    existing: Counter[str] = field(default_factory=Counter)


def restore(
    path: Path, *, name: str = "", check: Callable[[str], None] = lambda kind: None
) -> Restored:
    """Create or complete the exported collection, under its own name or `name`.

    `check` is called after each row with its kind. Raises ImportRefused for an archive that is
    invalid, damaged, of another format or in conflict with existing data; restored rows are kept.
    """
    with open_archive(path) as archive:
        with _opened(archive, layout.MANIFEST) as file:
            manifest = read_manifest(file.read(layout.LARGEST_MANIFEST))
        with _collection(manifest["collection"], name) as collection:
            outcome = Restored(collection)
            _fill(archive, outcome, check)
    _release(outcome.collection)
    return outcome


def _fill(archive: zipfile.ZipFile, outcome: Restored, check: Callable[[str], None]) -> None:
    """Restore every missing row, and count all."""
    for row in _rows(archive, layout.DOCUMENTS):
        _count(outcome, "documents", _document(archive, outcome.collection, row))
        check("documents")
    for row in _rows(archive, layout.DOCUMENTS):  # a successor may come after its document
        if newer := row.get("currency", {}).get("superseded_by"):
            with _row_errors("documents"):
                older = Document.objects.filter(public_id=row["id"], superseded_by=None)
                older.update(superseded_by=Document.objects.filter(public_id=newer).first())
    for row in _rows(archive, layout.EDITS):
        _count(outcome, "edits", _edit(outcome.collection, row))
        check("edits")
    for part in attached():
        for row in _rows(archive, f"{part.name}.jsonl"):
            with _row_errors(part.name), transaction.atomic():
                _count(outcome, part.name, part.restore(outcome.collection, row))
            check(part.name)


def _release(collection: Collection) -> None:
    """Release the restored documents to the workers."""
    rows = DocumentVersion.objects.filter(document__collection=collection, state=State.QUEUED)
    waiting = rows.filter(not_before__gt=timezone.now())
    pks = list(waiting.order_by("pk").values_list("pk", flat=True))
    with transaction.atomic():
        tell_of_currency()
        waiting.update(not_before=None)
        for pk in pks:
            enqueue(DocumentVersion, pk)


def _count(outcome: Restored, kind: str, is_new: bool) -> None:
    (outcome.created if is_new else outcome.existing)[kind] += 1


@contextmanager
def _row_errors(kind: str) -> Iterator[None]:
    """Translate the errors of an invalid row into ImportRefused."""
    try:
        yield
    except NotARow as error:
        text = gettext("%(kind)s: a row is not valid (%(error)r).")
        raise ImportRefused(text % {"kind": kind, "error": error}) from error
    except IntegrityError as error:
        text = gettext(
            "%(kind)s: a row conflicts with existing data of this collection. Restore the "
            "archive under another name: --name."
        )
        raise ImportRefused(text % {"kind": kind}) from error


@contextmanager
def _opened(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    try:
        with archive.open(name) as file:
            yield file
    except KeyError as error:
        raise ImportRefused(
            gettext("The archive is incomplete: %(name)s is missing.") % {"name": name}
        ) from error
    except UNREADABLE as error:
        raise ImportRefused(
            gettext("The archive is damaged: %(name)s. Copy it again.") % {"name": name}
        ) from error


def _rows(archive: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    if name not in archive.NameToInfo and name not in (layout.DOCUMENTS, layout.EDITS):
        return  # exported without the app that has such rows
    with _opened(archive, name) as file:
        yield from read_lines(file, name)


@contextmanager
def _collection(settings_row: dict[str, Any], name: str) -> Iterator[Collection]:
    """The collection of that name, created if missing.

    A new collection is deleted again if the restore is refused before it has documents.
    """
    own_name = name or settings_row["name"]
    collection = Collection.objects.undeleted().filter(name=own_name).first()
    if collection is not None:
        yield collection
        return
    collection = _create_collection(settings_row, name, own_name)
    try:
        yield collection
    except ImportRefused:
        if not collection.documents.exists():
            collection.delete()
        raise


def _create_collection(settings_row: dict[str, Any], name: str, own_name: str) -> Collection:
    """A new collection with the settings of the export."""
    with _row_errors("collection"), transaction.atomic():
        fields = {key: settings_row[key] for key in COLLECTION_FIELDS if key in settings_row}
        collection = Collection(**{**fields, "name": own_name})
        if name or Collection.objects.undeleted().filter(slug=collection.slug).exists():
            collection.slug = ""
        collection.clean_fields(exclude=["slug"])
        collection.save()
        # New groups have no members, so that they grant access to nobody.
        names = [str(group) for group in settings_row.get("groups", ())]
        collection.groups.set(Group.objects.get_or_create(name=group)[0] for group in names)
    return collection


def _document(archive: zipfile.ZipFile, collection: Collection, row: dict[str, Any]) -> bool:
    """Create the document; return False if it existed."""
    with _row_errors("documents"):
        public_id, sha256 = uuid.UUID(row["id"]), str(row["file"]["sha256"])
        if (existing := Document.objects.filter(public_id=public_id).first()) is not None:
            if existing.collection_id != collection.pk or existing.deleted_at is not None:
                raise ImportRefused(
                    gettext(
                        "The document “%(title)s” already exists in another collection or in the "
                        "bin. Delete it permanently first: documents keep their ids."
                    )
                    % {"title": existing.title}
                )
            return False
    with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file:
        with _opened(archive, f"{layout.FILES}{sha256}") as packed:
            copy_counted(packed, file, settings.MAX_UPLOAD_BYTES)
        examined = storage.examine(file, str(row["file"]["name"]))
        if examined.sha256 != sha256:
            raise ImportRefused(
                gettext("The file %(sha256)s has changed. Copy the archive again.")
                % {"sha256": sha256}
            )
        with _row_errors("documents"), transaction.atomic():
            storage.hold(sha256)
            stored = storage.store(file, examined)
            _create(collection, row, public_id, stored)
    return True


def _create(
    collection: Collection, row: dict[str, Any], public_id: uuid.UUID, stored: storage.StoredFile
) -> None:
    parent = None
    if row.get("parent"):
        parent = Document.objects.get(public_id=row["parent"], collection=collection)
    document = Document(
        public_id=public_id,
        collection=collection,
        title=str(row["title"])[:500],
        title_given=bool(row["title_given"]),
        language=str(row["language"]),
        language_given=bool(row["language_given"]),
        metadata=check_metadata(row.get("metadata", {})),
        source=str(row["source"]),
        source_kind=SourceKind(row["source_kind"]),
        parent=parent,
        part_path=str(row["part_path"]),
        audience=parent.audience if parent else _audience(collection, row.get("readers")),
        content_hash=stored.sha256,
        created=moment(row["created"]),
        **currency(row.get("currency", {})),
    )
    document.clean_fields(exclude=["title_terms", "content_hash"])
    document.save()
    bm25_weights.read_title(
        document.pk, with_file_name(document.title, stored.file_name), document.language
    )
    version = add_version(document, stored, lane=Lane.BULK)
    DocumentVersion.objects.filter(pk=version.pk).update(
        created=moment(row["file"]["added"]), not_before=timezone.now() + START_DELAY
    )


def _audience(collection: Collection, row: dict[str, Any] | None) -> Collection | None:
    """The audience of a document: unknown people are left out, missing groups are created empty."""
    if row is None:
        return None
    groups = [Group.objects.get_or_create(name=str(name))[0] for name in row["groups"]]
    people = User.objects.filter(username__in=[str(name) for name in row["people"]])
    return Readers(groups, list(people)).within(collection)


def _edit(collection: Collection, row: dict[str, Any]) -> bool:
    with _row_errors("edits"), transaction.atomic():
        document = Document.objects.select_for_update().get(
            public_id=row["document"], collection=collection
        )
        fields = {name: row[name] for name in EDIT_FIELDS}
        created = moment(row["created"])
        if ChunkEdit.objects.filter(document=document, created=created).exists():
            return False
        edit = ChunkEdit(document=document, created=created, **fields)
        edit.clean_fields()
        edit.save()
    return True
