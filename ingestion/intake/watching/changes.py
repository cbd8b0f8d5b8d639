"""What changed in a watched folder since the last scan: new, changed, moved and vanished files."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ingestion.intake.walking import Seen, shown, walk
from ingestion.lexical import terms
from ingestion.models import Document, WatchedFolder
from ingestion.parsing.titles import title_from_file_name, with_file_name


def wanted(path: str, include: str, exclude: str) -> bool:
    """True for a path below the folder that is included (no pattern: all) and not excluded."""
    return (not include.strip() or matches(path, include)) and not matches(path, exclude)


def matches(path: str, patterns: str) -> bool:
    """True when a line of `patterns` fits; letters count alike in upper and lower case.

    Without a "/" a pattern is for the name alone, at any depth. With one it is for the whole
    path; a "/" at its end takes in all below that folder. `*` and `?` stop at "/", `**` does not.
    """
    return any(rule.fullmatch(path) for rule in _rules(patterns))


@lru_cache(maxsize=256)
def _rules(patterns: str) -> tuple[re.Pattern[str], ...]:
    lines = (line.strip() for line in patterns.splitlines())
    return tuple(_rule(line) for line in lines if line)


def _rule(line: str) -> re.Pattern[str]:
    anywhere = "/" not in line.rstrip("/")
    below = line.endswith("/")
    pieces = re.split(r"(\*\*/?|\*|\?)", line.strip("/"))
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(piece, re.escape(piece)) for piece in pieces)
    head = "(?:.*/)?" if anywhere else ""
    tail = "/.*" if below else ""
    return re.compile(head + body + tail, re.IGNORECASE | re.DOTALL)


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


@dataclass(frozen=True, slots=True)
class Known:
    """A file as the last look left it. `open`: it is still to be taken in."""

    path: str
    size: int
    mtime_ns: int
    open: bool
    missing: bool


@dataclass(slots=True)
class Differences:
    """Paths by what is to be done about them; each stands in one list.

    `new` and `changed` wait until they stand still; `due` did, and are to be taken in; `gone`
    were there at the last look; `still_gone` were missing already; `back` are there again.
    """

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    due: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    still_gone: list[str] = field(default_factory=list)
    same: int = 0


def compare(
    known: Mapping[str, Known], seen: Mapping[str, Seen], unknown: Iterable[str]
) -> Differences:
    """The differences; of what lies at or below a path in `unknown` nothing is said."""
    found = Differences()
    for path, file in seen.items():
        before = known.get(path)
        if before is None:
            found.new.append(path)
        elif (before.size, before.mtime_ns) != (file.size, file.mtime_ns):
            found.changed.append(path)
        elif before.open:
            found.due.append(path)
        elif before.missing:
            found.back.append(path)
        else:
            found.same += 1
    hidden = tuple(unknown)
    for path, before in known.items():
        if path in seen or any(path == one or path.startswith(f"{one}/") for one in hidden):
            continue
        (found.still_gone if before.missing else found.gone).append(path)
    return found


logger = logging.getLogger(__name__)


def rehome(document: Document, source: str, file_name: str) -> bool:
    """True when the document now comes from `source`; False where another does already.

    Called within a transaction. Its chunks are left as they are; the file name is matched anew.
    """
    row = Document.objects.select_for_update().get(pk=document.pk)
    rivals = Document.objects.kept().filter(collection=row.collection_id, source=source)
    if row.deleted_at is not None or rivals.exclude(pk=row.pk).exists():
        return False
    latest = row.versions.filter(pk=row.latest_id or 0).only("pk", "file_name").first()
    if latest is not None:
        if not row.title_given and row.title == title_from_file_name(latest.file_name)[:500]:
            row.title = title_from_file_name(file_name)[:500]
        row.versions.filter(pk__in={latest.pk, row.current_id or latest.pk}).update(
            file_name=file_name
        )
    logger.info("%s: moved from %s to %s", row, row.source, source)
    row.source = source
    row.save(update_fields=["source", "title", "updated"])
    terms.read_title(row.pk, with_file_name(row.title, file_name), row.language)
    return True
