"""A folder on the server: its files as documents, their absolute paths as sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import quote_from_bytes, unquote_to_bytes

from django.conf import settings

from ingestion.intake.importing.protocol import Found, ImportRefused, Skip, Source, Taken
from ingestion.intake.walking import Seen, open_below, shown, walk
from ingestion.models import Import, ImportItem, SourceKind

HERE = "host"
"""The option that names the machine whose files an import reads: others leave it alone."""
NAME_BYTES = "name"
"""What an item's name really is, in hexadecimal, where it is no UTF-8."""
FILES = "files"
"""The option that names files below the folder: only these are imported, hidden ones included."""


def file_option(paths: Iterable[Path]) -> dict[str, list[str]]:
    """The option for files at these relative paths; quoted, since a name need not be UTF-8."""
    return {FILES: [quote_from_bytes(os.fsencode(path)) for path in paths]}


class FolderSource(Source):
    """The files below a folder, or those of them that the options name."""

    def __init__(self, of: Import) -> None:
        super().__init__(of)
        named = of.options.get(FILES, ())
        self._named = [os.fsdecode(unquote_to_bytes(path)) for path in named]
        self.takes_what_it_finds = not self._named

    def check(self) -> None:
        root = allowed(self.of, Path(self.of.origin))
        if not root.is_dir():
            raise ImportRefused(f"There is no folder {self.of.origin} on this server.")

    def discover(self) -> Iterator[Found]:
        root = allowed(self.of, Path(self.of.origin))
        if self._named:
            yield from map(_found, self._named)
            return
        try:
            for found in walk(root, recursive=self.of.options.get("recursive", True)):
                if isinstance(found, Seen):
                    yield _found(found.path)
                else:
                    yield Found(shown(found.path), metadata={"error": found.reason})
        except OSError as error:
            raise ImportRefused(
                f"The folder {root} cannot be read: {error.strerror}. Mend that, then let the "
                "import go on."
            ) from error

    @contextmanager
    def take(self, item: ImportItem) -> Iterator[Taken]:
        root = allowed(self.of, Path(self.of.origin))
        raw = item.metadata.get(NAME_BYTES)
        path = os.fsdecode(bytes.fromhex(raw)) if raw else item.reference
        with opened(root, path) as taken:
            yield taken


def _found(path: str) -> Found:
    """The item of a path below the folder."""
    name = shown(path)
    known = {} if name == path else {NAME_BYTES: os.fsencode(path).hex()}
    return Found(name, metadata=known)


@contextmanager
def opened(root: Path, path: str) -> Iterator[Taken]:
    """A file below a folder, open. Raises ImportRefused with the reason why it cannot be."""
    try:
        file = open_below(root, path)
    except FileNotFoundError as error:
        raise Skip("It is no longer there.") from error
    except OSError as error:
        raise ImportRefused(f"It cannot be read: {error.strerror}.") from error
    with file:
        name = shown(PurePosixPath(path).name)
        yield Taken(file, name, source=shown(root / path), source_kind=SourceKind.PATH)


def allowed(of: Import, path: Path) -> Path:
    """The path without links, if this import may read it. Raises ImportRefused.

    A command reads what the one who runs it may; through the web only superusers do, and only
    below IMPORT_ROOTS.
    """
    resolved = path.resolve()
    if HERE in of.options:
        return resolved
    roots = [root.resolve() for root in settings.IMPORT_ROOTS]
    if of.added_by is None or not of.added_by.is_superuser:
        raise ImportRefused("Only superusers may import files that lie on the server.")
    if not any(resolved.is_relative_to(root) for root in roots):
        raise ImportRefused(
            "That path is not among those that may be imported. Add its folder to IMPORT_ROOTS, or "
            "use the command: manage.py import_documents."
        )
    return resolved
