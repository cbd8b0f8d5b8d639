"""The simplest kind of import: a folder of the server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import quote_from_bytes, unquote_to_bytes

from django.conf import settings
from django.utils.translation import gettext

from ingestion.intake.folder_listing import Entry, open_below, path_text, walk
from ingestion.intake.import_protocol import ImportRefused, ImportSource, ItemDraft, ItemFile, Skip
from ingestion.models import Import, ImportItem, SourceKind

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
