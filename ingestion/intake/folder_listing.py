"""The files below a folder of the server, opened without following links out, and their patterns.

Hidden files are skipped.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO

_AS_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AS_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Entry:
    """A file: its path relative to the folder (with "/"), size and modification time."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file or folder that could not be read, with the reason for people."""

    path: str
    reason: str


def walk(root: Path, *, recursive: bool = True) -> Iterator[Entry | Unreadable]:
    """Yield every regular file below `root` in order of names; hidden files are skipped.

    Raises OSError if `root` itself cannot be read. Links are not followed: a target within the
    folder is listed under its own name.
    """
    yield from _listed(root, root, "", recursive)


def open_below(root: Path, path: str) -> IO[bytes]:
    """Open the file at a path that `walk` yielded; refuse if any part has become a link."""
    *folders, name = PurePosixPath(path).parts
    if not name or ".." in (*folders, name):
        raise FileNotFoundError(2, "no such file", path)
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, _AS_FOLDER, dir_fd=at)
            os.close(at)
            at = below
        file = os.open(name, _AS_FILE, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(22, "not a regular file", path)
    return os.fdopen(file, "rb")


def path_text(path: str | Path) -> str:
    """A path as text that a database accepts: invalid UTF-8 becomes U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def _listed(root: Path, folder: Path, below: str, recursive: bool) -> Iterator[Entry | Unreadable]:
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
    for entry in entries:
        path = below + entry.name
        if entry.name.startswith("."):
            continue
        try:
            if entry.is_symlink():
                if not Path(entry.path).resolve().is_relative_to(root.resolve()):
                    yield Unreadable(path, "The link points out of the folder and was skipped.")
            elif entry.is_dir(follow_symlinks=False):
                if recursive:
                    yield from _below(root, Path(entry.path), path, recursive)
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                yield Entry(path, status.st_size, status.st_mtime_ns)
        except OSError as error:
            yield Unreadable(path, _unreadable(error))


def _unreadable(error: OSError) -> str:
    return f"It cannot be read: {error.strerror or error}."


def _below(root: Path, folder: Path, path: str, recursive: bool) -> Iterator[Entry | Unreadable]:
    files = _listed(root, folder, f"{path}/", recursive)
    try:
        yield from files
    except OSError as error:
        # Its files may still exist: their state is unknown.
        yield Unreadable(path, _unreadable(error))


def is_included(path: str, include: str, exclude: str) -> bool:
    """Whether a path is included (without patterns: all are) and not excluded."""
    return (not include.strip() or _matches(path, include)) and not _matches(path, exclude)


def _matches(path: str, patterns: str) -> bool:
    """True if a line of `patterns` matches, ignoring case.

    Without a "/" a pattern applies to the name, at any depth; with one, to the whole path. A "/" at
    its end includes all below that folder. `*` and `?` do not match "/", `**` does.
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
