"""Archive -> collection: each document in a transaction of its own, under the id it had.

Killed, it goes on where it was when it is called again; called twice, it changes nothing. The
documents are then read anew by the workers, with their hand edits: the same bytes under the same
settings make the same passages.
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

from common.jobs import enqueue
from ingestion.documents.versions import add_version
from ingestion.exporting import format as written
from ingestion.exporting.format import attached, moment, read_lines, read_manifest
from ingestion.exporting.writing import COLLECTION_FIELDS, EDIT_FIELDS
from ingestion.files import storage
from ingestion.intake.importing.archives import copy_counted, open_archive
from ingestion.intake.importing.protocol import ImportRefused
from ingestion.lexical import terms
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
from ingestion.parsing.archive import UNREADABLE
from ingestion.parsing.titles import with_file_name
from ingestion.spaces import active_space

IN_MEMORY_BYTES = 1024 * 1024
# Until its parts and its edits are there, too, no worker reads a document: it would make parts
# of its own. Where the restore ends before, the workers begin all the same after this.
HELD_BACK = timedelta(hours=6)
NotARow = (
    KeyError, TypeError, ValueError, AttributeError, ValidationError, ObjectDoesNotExist,
)  # fmt: skip


@dataclass(slots=True)
class Restored:
    """What became of an archive: rows made and rows that were there, by kind; words of caution."""

    collection: Collection
    made: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)


def restore(
    path: Path, *, name: str = "", check: Callable[[str], None] = lambda kind: None
) -> Restored:
    """The collection that an export holds, under its own name or `name`; made or completed.

    `check` is called after each row with its kind. Raises ImportRefused for an archive that is
    none, of another format, damaged, or in conflict with what is here; what was restored before
    stays, and is passed over the next time.
    """
    with open_archive(path) as archive:
        manifest = read_manifest(_read_whole(archive, written.MANIFEST))
        with _collection(manifest["collection"], name) as collection:
            done = Restored(collection)
            done.warnings += _cautions(manifest)
            _fill(archive, done, check)
    _release(done.collection)
    return done


def _fill(archive: zipfile.ZipFile, done: Restored, check: Callable[[str], None]) -> None:
    """Restores every row that is not there yet, and counts it."""
    for row in _rows(archive, written.DOCUMENTS):
        _count(done, "documents", _document(archive, done.collection, row))
        check("documents")
    for row in _rows(archive, written.EDITS):
        _count(done, "edits", _edit(done.collection, row))
        check("edits")
    for part in attached():
        for row in _rows(archive, f"{part.name}.jsonl"):
            with _told(part.name), transaction.atomic():
                _count(done, part.name, part.restore(done.collection, row))
            check(part.name)


def _release(collection: Collection) -> None:
    """Lets the workers have what was held back."""
    held = DocumentVersion.objects.filter(
        document__collection=collection, state=State.QUEUED, not_before__gt=timezone.now()
    )
    pks = list(held.order_by("pk").values_list("pk", flat=True))
    with transaction.atomic():
        held.update(not_before=None)
        for pk in pks:
            enqueue(DocumentVersion, pk)


def _count(done: Restored, kind: str, made: bool) -> None:
    (done.made if made else done.there)[kind] += 1


@contextmanager
def _told(kind: str) -> Iterator[None]:
    """Makes an ImportRefused of what a row that is none of its kind raises."""
    try:
        yield
    except NotARow as error:
        raise ImportRefused(f"{kind}: a row cannot be read ({error!r}).") from error
    except IntegrityError as error:
        raise ImportRefused(
            f"{kind}: a row does not go with what this collection holds already. Restore the "
            "archive under another name: --name."
        ) from error


@contextmanager
def _opened(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    try:
        with archive.open(name) as file:
            yield file
    except KeyError as error:
        raise ImportRefused(f"{name} is missing in it: it is no complete export.") from error
    except UNREADABLE as error:
        raise ImportRefused(f"{name} is damaged in it. Copy the archive anew.") from error


def _read_whole(archive: zipfile.ZipFile, name: str) -> bytes:
    with _opened(archive, name) as file:
        return file.read(written.LARGEST_MANIFEST)


def _rows(archive: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    if name not in archive.NameToInfo and name not in (written.DOCUMENTS, written.EDITS):
        return  # written where no application kept such rows
    with _opened(archive, name) as file:
        yield from read_lines(file, name)


@contextmanager
def _collection(given: dict[str, Any], name: str) -> Iterator[Collection]:
    """The collection of that name; made where there is none.

    One that was made goes again when the restore is refused before a document is in it.
    """
    wanted = name or given["name"]
    held = Collection.objects.kept().filter(name=wanted).first()
    if held is not None:
        yield held
        return
    made = _made(given, name, wanted)
    try:
        yield made
    except ImportRefused:
        if not made.documents.exists():
            made.delete()
        raise


def _made(given: dict[str, Any], name: str, wanted: str) -> Collection:
    """A new collection with the settings of the export."""
    with _told("collection"), transaction.atomic():
        fields = {key: given[key] for key in COLLECTION_FIELDS if key in given}
        collection = Collection(**{**fields, "name": wanted})
        if name or Collection.objects.kept().filter(slug=collection.slug).exists():
            collection.slug = ""
        collection.clean_fields(exclude=["slug"])
        collection.save()
        # Nobody is in a group that is made here: it opens the collection to no one.
        names = [str(group) for group in given.get("groups", ())]
        collection.groups.set(Group.objects.get_or_create(name=group)[0] for group in names)
    return collection


def _cautions(manifest: dict[str, Any]) -> Iterator[str]:
    space, model = active_space(), manifest.get("embedding") or {}
    if space and model and model.get("model") != space.fingerprint:
        yield (
            f"It was searched with the model {model.get('model')}; here it is "
            f"{space.fingerprint}, so that results may differ."
        )


def _document(archive: zipfile.ZipFile, collection: Collection, row: dict[str, Any]) -> bool:
    """True when the document was made; False when it was there."""
    with _told("documents"):
        public_id, sha256 = uuid.UUID(row["id"]), str(row["file"]["sha256"])
        if (known := Document.objects.filter(public_id=public_id).first()) is not None:
            if known.collection_id != collection.pk or known.deleted_at is not None:
                raise ImportRefused(
                    f"The document “{known.title}” is here already, in another collection or in "
                    "the bin. Documents keep their ids: remove that one for good first."
                )
            return False
    with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file:
        with _opened(archive, f"{written.FILES}{sha256}") as packed:
            copy_counted(packed, file, settings.MAX_UPLOAD_BYTES)
        examined = storage.examine(file, str(row["file"]["name"]))
        if examined.sha256 != sha256:
            raise ImportRefused(f"The file {sha256} is not what it was. Copy the archive anew.")
        with _told("documents"), transaction.atomic():
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
        content_hash=stored.sha256,
        created=moment(row["created"]),
    )
    document.clean_fields(exclude=["title_terms", "content_hash"])
    document.save()
    terms.read_title(
        document.pk, with_file_name(document.title, stored.file_name), document.language
    )
    version = add_version(document, stored, lane=Lane.BULK)
    DocumentVersion.objects.filter(pk=version.pk).update(
        created=moment(row["file"]["added"]), not_before=timezone.now() + HELD_BACK
    )


def _edit(collection: Collection, row: dict[str, Any]) -> bool:
    with _told("edits"), transaction.atomic():
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
