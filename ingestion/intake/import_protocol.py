"""The interface between the import runner and the kinds of import.

A source has no state that must survive a restart. The runner creates one per slice of work, stores
discovered items as ImportItem rows and ingests them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Any, Self

from ingestion.errors import IngestionError
from ingestion.models import Import, ImportItem, SourceKind

MANIFEST_ENDS = (".csv", ".tsv", ".jsonl", ".ndjson")
"""Suffixes of manifests. Any other imported file must be a ZIP archive."""
METADATA, STATED = "metadata", "stated"
"""The option of an import with the metadata of all its documents; in an item, its own."""


@dataclass(frozen=True, slots=True)
class ItemDraft:
    """A discovered item: its path or address, its depth in links, its metadata.

    `reference` is unique within the import: the runner ignores known ones. `metadata` is JSON,
    passed to `take` as `item.metadata`. Its "collection" overrides that of the import; its "error"
    makes the item fail with that message.
    """

    reference: str
    depth: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ItemFile:
    """The bytes of an item as a seekable file, and the data of its document.

    A file from a `source` that the collection knows becomes that document's next version, which
    keeps the document's metadata if `metadata` is None; `stated` are its currency values.
    `items` are further items that were discovered in it, for instance the links of a page.
    """

    file: IO[bytes]
    file_name: str
    source: str = ""
    source_kind: SourceKind = SourceKind.UPLOAD
    title: str = ""
    language: str = ""
    metadata: Mapping[str, Any] | None = None
    stated: Mapping[str, Any] | None = None
    items: Iterable[ItemDraft] = ()


class Skip(Exception):
    """An item is skipped without being a failure; the message says why.

    `items` are items that were discovered in it nevertheless.
    """

    def __init__(self, reason: str, items: Iterable[ItemDraft] = ()) -> None:
        super().__init__(reason)
        self.items = tuple(items)


class ImportSource:
    """Base of the sources: created for one import, open for a slice of work.

    All methods may raise IngestionError, with a message for the user: `take`, if the item failed;
    the others, if the import cannot continue.
    """

    skips_unsupported: bool = False
    """True if no person named the items: unsupported files are then skipped, not failures."""

    def __init__(self, of: Import) -> None:
        self.of = of

    def __enter__(self) -> Self:
        """Open what all items share, such as an archive or a connection pool."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close what `__enter__` opened."""

    def check(self) -> None:
        """Raise IngestionError if the import can never work: disabled, an invalid address.

        Called before the import is created, within the user's request: must be fast.
        """

    def discover(self) -> Iterable[ItemDraft]:
        """The items in order, as a stream: there may be many thousands."""
        raise NotImplementedError

    def take(self, item: ImportItem) -> AbstractContextManager[ItemFile]:
        """A context manager with the open file of an item, which it closes and removes.

        Raises IngestionError (the item failed) or Skip on entry; after RetryLater the whole import
        pauses, and the item is tried again, up to MAX_ATTEMPTS times.
        """
        raise NotImplementedError


class ImportRefused(IngestionError):
    """The import cannot be created or continued; the message says what to change."""

    code = "import_refused"
