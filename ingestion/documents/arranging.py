"""Arrange documents in bulk: move them to another collection, change their tags and metadata.

move      -> searchable in the new collection alone, with its readers; statistics follow
annotate  -> tags and keys added and removed; no passage changes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.models import CHANGE
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.documents import activation, versions
from ingestion.documents.deletion import keep_out_of_bin
from ingestion.documents.purging import family_of
from ingestion.errors import IngestionError, InvalidMetadata, StateConflict
from ingestion.events import log
from ingestion.lexical import terms
from ingestion.metadata import MAX_FACET_KEYS, TAGS, edited
from ingestion.models import Chunk, Collection, Document, DocumentVersion
from ingestion.models.versions import UNFINISHED
from ingestion.parsing.protocol import with_file_name

# A move reads every passage's terms again, in one request: about 500 documents in a minute.
MOST_MOVED = 500


@dataclass(frozen=True, slots=True)
class Arranged:
    """The number of documents that changed, and why each other one did not."""

    count: int
    refused: tuple[str, ...] = ()


def move(documents: Iterable[Document], to: Collection, *, acting_user: User) -> Arranged:
    """Move documents with their parts to another collection.

    Each is moved in a transaction of its own, and refused if it is a part, is being processed,
    comes from a watched folder or a program that syncs, or if the collection holds its file or one
    from its source.
    The caller checks that the user may read both collections and change documents.
    """
    count = 0
    refused: list[str] = []
    for document in documents:
        try:
            with transaction.atomic():
                count += _move(document, to, acting_user)
        except IngestionError as error:
            refused.append(str(error))
        except (Document.DoesNotExist, IntegrityError):
            refused.append(_changed_meanwhile(document))
    return Arranged(count, tuple(refused))


def annotate(
    documents: Iterable[Document],
    *,
    acting_user: User,
    add_tags: Iterable[str] = (),
    remove_tags: Iterable[str] = (),
    give: Mapping[str, Any] | None = None,
    drop: Iterable[str] = (),
) -> Arranged:
    """Change the tags and metadata of documents, each in a transaction of its own.

    A collection whose documents get tags offers them as filters from then on, if it has room.
    Documents whose metadata would become invalid are refused.
    """
    changes = {"add_tags": list(add_tags), "remove_tags": list(remove_tags), "drop": list(drop)}
    count = 0
    refused: list[str] = []
    tagged: set[int] = set()
    for each in documents:
        try:
            with transaction.atomic():
                document = versions.locked(each.pk)
                metadata = edited(document.metadata, give=give, **changes)
                if metadata == document.metadata:
                    continue
                document.metadata = metadata
                document.save(update_fields=["metadata", "updated"])
                log(acting_user, document, CHANGE, "Changed metadata")
        except InvalidMetadata as error:
            refused.append(f"{each}: {error}")
        except Document.DoesNotExist:
            refused.append(_changed_meanwhile(each))
        else:
            count += 1
            if TAGS in metadata:
                tagged.add(document.collection_id)
    _offer_tags(tagged)
    return Arranged(count, tuple(refused))


def _offer_tags(collections: Iterable[int]) -> None:
    with transaction.atomic():
        rows = Collection.objects.select_for_update(of=("self",), no_key=True)
        for collection in rows.filter(pk__in=collections).order_by("pk"):
            keys = collection.metadata_keys
            if TAGS not in keys and len(keys) < MAX_FACET_KEYS:
                collection.metadata_keys = [*keys, TAGS]
                collection.save(update_fields=["metadata_keys"])


def _move(original: Document, to: Collection, acting_user: User) -> bool:
    """Move one document; return False if it is there already.

    Raises StateConflict. The collection is locked first, then the document, as everywhere.
    """
    keep_out_of_bin(to)
    document = versions.locked(original.pk)
    origin = document.collection
    if origin.pk == to.pk:
        return False
    _check(document, to)
    family = family_of(document)
    pks = [member.pk for member in family]
    _check_idle(document, pks)
    not_deleted = [member for member in family if member.deleted_at is None]
    for member in not_deleted:
        activation.hide(member)
    Document.objects.filter(pk__in=pks).update(collection=to)
    Chunk.objects.filter(document__in=pks).update(collection=to)
    for member in not_deleted:
        _read_again(member)
        activation.show(member)
    log(acting_user, document, CHANGE, f"Moved to another collection: {origin} → {to}")
    return True


def _read_again(document: Document) -> None:
    """Weigh the terms of the passages by the average length of their new collection."""
    rows = DocumentVersion.objects.defer("text").filter(document=document)
    version = rows.filter(document__current=F("pk")).first()
    if version is not None:
        terms.read_terms(version.pk, title=with_file_name(version.title, version.file_name))


def _check(document: Document, to: Collection) -> None:
    """Raise StateConflict if the document cannot stand in the collection."""
    names = {"document": document.title, "collection": to.name}
    if document.parent_id is not None:
        raise StateConflict(
            gettext("“%(document)s” is a part of another document: move that one.") % names
        )
    if document.watched_files.exists():
        raise StateConflict(
            gettext(
                "“%(document)s” comes from a watched folder, which would add it again. Change the "
                "folder's collection instead."
            )
            % names
        )
    if item := document.sync_items.select_related("source").first():
        raise StateConflict(
            gettext(
                "“%(document)s” comes from the source “%(source)s”, whose program would add it "
                "again. Have it sync into the other collection instead."
            )
            % {**names, "source": item.source.name}
        )
    if versions.held(to.pk, document.content_hash) is not None:
        raise StateConflict(
            gettext("“%(document)s”: “%(collection)s” already contains the same file.") % names
        )
    same = Document.objects.kept().filter(collection=to, source=document.source)
    if document.source and same.exists():
        raise StateConflict(
            gettext("“%(document)s”: “%(collection)s” has a document from the same source already.")
            % names
        )


def _check_idle(document: Document, pks: list[int]) -> None:
    """Raise StateConflict while one is processed: its worker writes into the old collection."""
    # Locked: a retry of a failed version would otherwise begin in between.
    rows = DocumentVersion.objects.select_for_update(of=("self",)).filter(document__in=pks)
    if set(rows.values_list("state", flat=True)) & set(UNFINISHED):
        raise StateConflict(
            gettext("“%(document)s” is being processed: move it when it is ready.")
            % {"document": document.title}
        )


def _changed_meanwhile(document: Document) -> str:
    return gettext("“%(document)s” was changed meanwhile: try again.") % {"document": document}
