"""Move documents to another collection.

They are searchable in it alone, with its readers, or those of them that the document is restricted
to; statistics follow.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.admin.models import CHANGE
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.documents import versions
from ingestion.documents.deletion import keep_out_of_bin
from ingestion.documents.purging import family_of
from ingestion.documents.restricted_readers import (
    Arranged,
    Readers,
    each_by_itself,
    place,
    unfinished,
)
from ingestion.errors import StateConflict
from ingestion.events import log
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
