"""What is in a watched folder now; a folder that cannot be trusted raises, and nothing follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ingestion.models import WatchedFolder
from ingestion.walking import Seen, shown, walk
from ingestion.watching.patterns import wanted


@dataclass(frozen=True, slots=True)
class Look:
    """Files by the path that people read; what cannot be read, with the reason.

    Of what lies at or below a path in `unreadable` nothing is known: it is not missing.
    """

    seen: dict[str, Seen] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


class FolderTrouble(Exception):
    """The folder itself cannot be looked through; its state, and what to do about it."""

    def __init__(self, state: WatchedFolder.State, message: str) -> None:
        super().__init__(message)
        self.state = state


def look_through(folder: WatchedFolder) -> Look:
    """The folder's files that its patterns want. Raises FolderTrouble."""
    root = Path(folder.path)
    found = Look()
    try:
        if root.resolve() != root:
            raise FolderTrouble(
                WatchedFolder.State.ERROR,
                "The path has become a link. Enter the folder that is meant.",
            )
        for file in walk(root, recursive=folder.recursive):
            path = shown(file.path)
            if not wanted(path, folder.include, folder.exclude):
                continue
            if isinstance(file, Seen):
                found.seen[path] = file
            else:
                found.unreadable[path] = file.reason
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FolderTrouble(
            WatchedFolder.State.MISSING,
            "The folder is not there. Its documents stay as they are. Mount the disk, or enter "
            "the folder's new path.",
        ) from error
    except OSError as error:
        raise FolderTrouble(
            WatchedFolder.State.ERROR,
            f"The folder cannot be read: {error.strerror or error}. Its documents stay as they "
            "are. Give the worker's user the right to read it.",
        ) from error
    return found
