"""The interface between the import runner and the kinds of import; the simplest kind, a folder.

A source has no state that must survive a restart. The runner creates one per slice of work,
stores discovered items as ImportItem rows and ingests them one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self
from urllib.parse import quote_from_bytes, unquote_to_bytes

from django.conf import settings
from django.utils.translation import gettext

from ingestion.errors import IngestionError
from ingestion.intake.folder_and_ignored_files import Entry, open_below, path_text, walk
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


class TryLater(Exception):
    """The whole import pauses, as a server requested; the item is retried afterwards.

    After `runner.MAX_ATTEMPTS` attempts, the item fails with the message.
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


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

        Raises IngestionError (the item failed), Skip or TryLater on entry.
        """
        raise NotImplementedError


class ImportRefused(IngestionError):
    """The import cannot be created or continued; the message says what to change."""

    code = "import_refused"


HERE = "host"
"""The import option with the host whose files it reads: only that host runs it."""
NAME_BYTES = "name"
"""The key of an item's file name in hexadecimal, if it is not valid UTF-8."""
FILES = "files"
"""The import option with files below the folder: only these, even if hidden."""


def file_option(paths: Iterable[Path]) -> dict[str, list[str]]:
    """The import option for files at relative paths, quoted since names may not be UTF-8."""
    return {FILES: [quote_from_bytes(os.fsencode(path)) for path in paths]}


class FolderSource(ImportSource):
    """The files below a folder, or those named by the options."""

    def __init__(self, of: Import) -> None:
        super().__init__(of)
        files = of.options.get(FILES, ())
        self._named = [os.fsdecode(unquote_to_bytes(path)) for path in files]
        self.skips_unsupported = not self._named

    def check(self) -> None:
        root = allowed(self.of, Path(self.of.origin))
        if not root.is_dir():
            raise ImportRefused(
                gettext("There is no folder %(path)s on this server.") % {"path": self.of.origin}
            )

    def discover(self) -> Iterator[ItemDraft]:
        root = allowed(self.of, Path(self.of.origin))
        if self._named:
            yield from map(_item_of, self._named)
            return
        try:
            for entry in walk(root, recursive=self.of.options.get("recursive", True)):
                if isinstance(entry, Entry):
                    yield _item_of(entry.path)
                else:
                    yield ItemDraft(path_text(entry.path), metadata={"error": entry.reason})
        except OSError as error:
            raise ImportRefused(
                gettext(
                    "The folder %(path)s cannot be read: %(error)s. Resume the import once fixed."
                )
                % {"path": root, "error": error.strerror}
            ) from error

    @contextmanager
    def take(self, item: ImportItem) -> Iterator[ItemFile]:
        root = allowed(self.of, Path(self.of.origin))
        raw = item.metadata.get(NAME_BYTES)
        path = os.fsdecode(bytes.fromhex(raw)) if raw else item.reference
        with opened(root, path) as file:
            yield file


def _item_of(path: str) -> ItemDraft:
    """The item for a path below the folder."""
    name = path_text(path)
    extra = {} if name == path else {NAME_BYTES: os.fsencode(path).hex()}
    return ItemDraft(name, metadata=extra)


@contextmanager
def opened(root: Path, path: str) -> Iterator[ItemFile]:
    """Open a file below a folder. Raises ImportRefused if it cannot be read, Skip if missing."""
    try:
        file = open_below(root, path)
    except FileNotFoundError as error:
        raise Skip(gettext("The file no longer exists.")) from error
    except OSError as error:
        raise ImportRefused(
            gettext("The file cannot be read: %(error)s.") % {"error": error.strerror}
        ) from error
    with file:
        name = path_text(PurePosixPath(path).name)
        yield ItemFile(file, name, source=path_text(root / path), source_kind=SourceKind.PATH)


def allowed(of: Import, path: Path) -> Path:
    """The resolved path, if this import may read it. Raises ImportRefused.

    Commands have the permissions of their process; through the web, only superusers may import
    files of the server, and only below IMPORT_ROOTS.
    """
    resolved = path.resolve()
    if HERE in of.options:
        return resolved
    roots = [root.resolve() for root in settings.IMPORT_ROOTS]
    if of.added_by is None or not of.added_by.is_superuser:
        raise ImportRefused(gettext("Only superusers may import files of the server."))
    if not any(resolved.is_relative_to(root) for root in roots):
        raise ImportRefused(
            gettext(
                "The path is not below IMPORT_ROOTS. Add its folder there, or use the command: "
                "manage.py import_documents."
            )
        )
    return resolved
