"""The readers of a document, where they are fewer than those of its collection (ADR 120).

restrict -> only some groups and people may read a document and its parts; or all again
restrict_known -> the same for a document whose file is uploaded again with readers
place    -> the passages and their statistics follow

Readers are a row of `Collection` within the document's: one for all documents with the same ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.contrib.admin.models import CHANGE
from django.contrib.auth.models import Group
from django.contrib.postgres.expressions import ArraySubquery
from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.documents import activation, versions
from ingestion.documents.deletion import keep_out_of_bin
from ingestion.documents.purging import family_of
from ingestion.errors import IngestionError, StateConflict
from ingestion.events import log
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, Collection, Document, DocumentVersion, Import, Visibility
from ingestion.models.versions import UNFINISHED
from ingestion.parsing.file_titles import with_file_name


class UnknownReader(IngestionError):
    """The name is neither a group nor a user."""

    code = "unknown_reader"


@dataclass(frozen=True, slots=True)
class Readers:
    """The only readers of a document, besides superusers. None in their place: all readers of its
    collection. Without groups and people (they may have been deleted) nobody else may read it.
    """

    groups: Sequence[Group] = ()
    people: Sequence[User] = ()

    @classmethod
    def of(cls, row: Document | Import) -> Self | None:
        """The own readers of a document or an import. Two queries if it has some, else none."""
        if row.audience is None:
            return None
        groups, people = row.audience.groups.all(), row.audience.people.all()
        return cls(
            sorted(groups, key=lambda group: group.name),
            sorted(people, key=lambda user: user.username),
        )

    @classmethod
    def named(cls, groups: Iterable[str], people: Iterable[str]) -> Self | None:
        """The readers with these names; None if there are no names. Raises UnknownReader."""
        rows: list[Any] = []
        for model, field, names in ((Group, "name", groups), (User, "username", people)):
            known = model._default_manager.in_bulk(sorted(set(names)), field_name=field)
            if unknown := next((name for name in names if name not in known), None):
                text = gettext("There is no group or user with the name “%(name)s”.")
                raise UnknownReader(text % {"name": unknown})
            rows.append([known[name] for name in sorted(known)])
        return cls(*rows) if any(rows) else None

    def as_names(self) -> dict[str, list[str]]:
        """The names of `groups` and `people`."""
        return {
            "groups": [group.name for group in self.groups],
            "people": [user.username for user in self.people],
        }

    def __str__(self) -> str:
        names = self.as_names()
        return ", ".join([*names["groups"], *names["people"]]) or gettext("Superusers only")

    def problem(self, viewer: User | None) -> str:
        """The reason why `viewer` may not set these readers; empty if they may."""
        if viewer is None or viewer.is_superuser or viewer in self.people:
            return ""
        own = viewer.groups.values_list("pk", flat=True)
        if set(own) & {group.pk for group in self.groups}:
            return ""
        return gettext(
            "You are not among these readers and would lose access to the document. Add yourself "
            "or one of your own groups."
        )

    @staticmethod
    def check(readers: Readers | None, viewer: User | None) -> None:
        """Raise StateConflict if `viewer` may not set these readers."""
        if readers and (problem := readers.problem(viewer)):
            raise StateConflict(problem)

    def within(self, collection: Collection) -> Collection:
        """The audience within the collection with these readers; created if it is missing."""
        groups = sorted(group.pk for group in self.groups)
        people = sorted(user.pk for user in self.people)
        same = Collection.audiences.filter(within=collection).alias(
            of_groups=_members(Collection.groups.through, "group"),
            of_people=_members(Collection.people.through, "user"),
        )
        audience = same.filter(of_groups=groups, of_people=people).order_by("pk").first()
        if audience is None:
            # It is not displayed, and cannot collide with the name or address of a collection.
            name = f"readers-{uuid.uuid4().hex}"
            audience = Collection.audiences.create(
                name=name, slug=name, within=collection, visibility=Visibility.GROUPS
            )
            audience.groups.set(groups)
            audience.people.set(people)
        return audience


def _members(through: Any, name: str) -> ArraySubquery:
    rows: QuerySet[Any] = through.objects.filter(collection=OuterRef("pk")).order_by(name)
    return ArraySubquery(rows.values(name))


@dataclass(frozen=True, slots=True)
class Arranged:
    """The number of changed documents, and the reason why each other document was not changed."""

    count: int
    refused: tuple[str, ...] = ()


def restrict(
    documents: Iterable[Document], readers: Readers | None, *, acting_user: User | None
) -> Arranged:
    """Set who may read documents with their parts; None: all readers of their collections.

    Each is changed in a transaction of its own, and refused if it is a part, or if the user, not
    among the readers, would lose it. What is being processed is processed again. The caller checks
    that the user may change the documents.
    """
    return each_by_itself(documents, lambda document: restrict_one(document, readers, acting_user))


def restrict_known(
    document: Document, readers: Readers | None, *, is_own: bool, acting_user: User | None
) -> None:
    """Apply the readers that an upload names to a document that has its file or its source.

    `readers` None keeps those that it has. Whoever added a document and may read it may change
    them, as may users who may change documents. Runs in the caller's transaction. Raises
    StateConflict if they are others than the present ones and the user may not change these, or
    the document is not the upload's own but another one with the same file.
    """
    present = Readers.of(document)
    if readers is None or (present and present.as_names() == readers.as_names()):
        return
    if not is_own:
        text = gettext(
            "The collection has this file already, as “%(document)s”, with other readers. Change "
            "the readers of that document, or delete it, and try again."
        )
        raise StateConflict(text % {"document": document.title})
    if acting_user is not None:
        may = document.added_by_id == acting_user.pk or acting_user.has_perm(
            "ingestion.change_document"
        )
        readable = Document.objects.filter(pk=document.pk).open_to(acting_user)
        if not may or not readable.exists():
            text = gettext(
                "The collection has this document already, with other readers, and you may not "
                "change these. Ask somebody who may."
            )
            raise StateConflict(text)
    restrict_one(document, readers, acting_user)


def each_by_itself(documents: Iterable[Document], change: Any) -> Arranged:
    """Change each document in its own transaction; a refusal does not affect the others."""
    count = 0
    refused: list[str] = []
    for document in documents:
        try:
            with transaction.atomic():
                count += change(document)
        except IngestionError as error:
            refused.append(str(error))
        except (Document.DoesNotExist, IntegrityError):
            refused.append(changed_meanwhile(document))
    return Arranged(count, tuple(refused))


def changed_meanwhile(document: Document) -> str:
    return gettext("“%(document)s” was changed meanwhile: try again.") % {"document": document}


def restrict_one(original: Document, readers: Readers | None, acting_user: User | None) -> bool:
    """Set who may read a document, as `restrict` does; return whether that changed.

    Runs in the caller's transaction. Raises StateConflict, and DoesNotExist if it was moved.
    """
    Readers.check(readers, acting_user)
    keep_out_of_bin(original.collection)
    document = versions.locked(original.pk)
    if document.collection_id != original.collection_id:
        raise Document.DoesNotExist
    if document.parent_id is not None:
        text = gettext("“%(document)s” is a part of another document: restrict that one.")
        raise StateConflict(text % {"document": document.title})
    before = Readers.of(document)
    audience = readers.within(document.collection) if readers else None
    if audience == document.audience:
        return False
    family = family_of(document)
    waiting = unfinished(family)
    place(family, document.collection, audience)
    for version in waiting:
        # Its worker would otherwise write passages for the previous readers.
        versions.add_version(version.document, versions.file_of(version))
    everyone = "all of the collection"
    message = f"Changed readers: {before or everyone} → {readers or everyone}"
    log(acting_user, document, CHANGE, message)
    return True


def unfinished(family: Iterable[Document]) -> list[DocumentVersion]:
    """The unfinished versions of the documents, all locked, so that none is retried meanwhile."""
    rows = DocumentVersion.objects.select_for_update(of=("self",)).filter(document__in=family)
    rows = rows.defer("text").select_related("document")
    return [version for version in rows if version.state in UNFINISHED]


def place(family: Sequence[Document], collection: Collection, audience: Collection | None) -> None:
    """Move locked documents into a collection, for an audience within it or for all its readers.

    Raises StateConflict if a document is there already with the same file or source.
    """
    _check_place(family[0], collection, audience)
    pks = [member.pk for member in family]
    present = [member for member in family if member.deleted_at is None]
    for member in present:
        activation.hide(member)
    # `updated` invalidates cached pages of administrators with the previous readers.
    changes = {"collection": collection, "audience": audience, "updated": timezone.now()}
    Document.objects.filter(pk__in=pks).update(**changes)
    Chunk.objects.filter(document__in=pks).update(collection=audience or collection)
    for member in present:
        _read_again(member)
        activation.show(member)


def _check_place(document: Document, to: Collection, audience: Collection | None) -> None:
    names = {"document": document.title, "collection": to.name}
    others = Document.objects.beside(Document(collection=to, audience=audience))
    if versions.by_hash(others, document.content_hash) is not None:
        raise StateConflict(
            gettext("“%(document)s”: “%(collection)s” already contains the same file.") % names
        )
    if document.source and others.filter(source=document.source).exists():
        raise StateConflict(
            gettext("“%(document)s”: “%(collection)s” has a document from the same source already.")
            % names
        )


def _read_again(document: Document) -> None:
    """Recompute the passages' term weights with the average length in their new collection."""
    rows = DocumentVersion.objects.defer("text").filter(document=document)
    version = rows.filter(document__current=F("pk")).first()
    if version is not None:
        bm25_weights.read_terms(version.pk, title=with_file_name(version.title, version.file_name))
