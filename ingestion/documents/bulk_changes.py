"""Arrange documents in bulk: move them to another collection, change their tags and metadata.

move      -> searchable in the new collection alone, with its readers, or those of them that the
             document is restricted to; statistics follow
annotate  -> tags and keys added and removed; no passage changes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.admin.models import CHANGE
from django.db import transaction
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.documents import versions
from ingestion.documents.deletion import keep_out_of_bin
from ingestion.documents.purging import family_of
from ingestion.documents.restricted_readers import (
    Arranged,
    Readers,
    changed_meanwhile,
    each_by_itself,
    place,
    unfinished,
)
from ingestion.errors import InvalidMetadata, StateConflict
from ingestion.events import log
from ingestion.metadata import MAX_FACET_KEYS, TAGS, edited
from ingestion.models import Collection, Document

# A move reads every passage's terms again, in one request: about 500 documents in a minute.
MOST_MOVED = 500


def move(documents: Iterable[Document], to: Collection, *, acting_user: User) -> Arranged:
    """Move documents with their parts to another collection.

    Each is moved in a transaction of its own, and refused if it is a part, is being processed,
    comes from a watched folder or a program that syncs, or if the collection holds its file or one
    from its source.
    The caller checks that the user may read both collections and change documents.
    """
    return each_by_itself(documents, lambda document: _move(document, to, acting_user))


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
            refused.append(changed_meanwhile(each))
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
    _check(document)
    family = family_of(document)
    if unfinished(family):
        text = gettext("“%(document)s” is being processed: move it when it is ready.")
        raise StateConflict(text % {"document": document.title})
    readers = Readers.of(document)
    place(family, to, readers.within(to) if readers else None)
    log(acting_user, document, CHANGE, f"Moved to another collection: {origin} → {to}")
    return True


def _check(document: Document) -> None:
    """Raise StateConflict if the document cannot leave its collection."""
    names = {"document": document.title}
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
        text = gettext(
            "“%(document)s” comes from the source “%(source)s”, whose program would add it "
            "again. Have it sync into the other collection instead."
        )
        raise StateConflict(text % {**names, "source": item.source.name})
