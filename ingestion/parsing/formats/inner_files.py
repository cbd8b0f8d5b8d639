"""Files within a file -> files in the scratch directory: counted, sniffed, with safe labels.

No name and no stated size is trusted: names become labels and are never used as paths, and
bytes are counted while they are copied.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import IO

from ingestion.domain import Part
from ingestion.errors import EmptyFile, ParseLimitExceeded, TypeMismatch, UnsupportedType
from ingestion.files.filetypes import HEAD_BYTES, ZIP, sniff
from ingestion.parsing.limits import MIB, ParseLimits

PARTS_FOLDER = "parts"
LONGEST_PATH = 900
"""Characters of a part's path; the column takes 1,000, and duplicates get a number."""

_BLOCK = MIB
_LONGEST_NAME = 200
_MAX_NAMES = 20
_DRIVE = re.compile(r"^[A-Za-z]:")


class Refusal(Enum):
    """A reason not to read a part: the note in the listing, and the advice."""

    EMPTY = ("empty", "Check the originals.")
    UNSUPPORTED = (
        "of an unsupported type",
        "Convert what matters to PDF or plain text and add it again.",
    )
    MISMATCH = (
        "of another type than its name says",
        "Open them in their own program, save them with the right extension and add them again.",
    )
    ENCRYPTED = ("protected by a password", "Pack them again without one.")
    DAMAGED = ("damaged", "Pack them again from the originals.")
    LINK = ("a link to another file", "Pack the files themselves.")
    NESTED = ("an archive nested too deeply", "Unpack it and upload its files.")

    @property
    def note(self) -> str:
        return self.value[0]

    @property
    def advice(self) -> str:
        return self.value[1]


class PartKeeper:
    """Collects the parts of one file, in order.

    `parts` are the readable ones, `refused` the paths of the others by reason.
    """

    def __init__(self, scratch: Path, limits: ParseLimits) -> None:
        self.parts: list[Part] = []
        self.refused: dict[Refusal, list[str]] = {}
        self._folder = scratch / PARTS_FOLDER
        self._limits = limits
        self._paths: set[str] = set()
        self._bytes = 0
        self._count = 0

    def place(self, name: str) -> str:
        """Count the next part and return its path, which is safe and unique in this file."""
        self._count += 1
        if self._count > self._limits.archive_entries:
            raise ParseLimitExceeded(
                f"This file contains more than {self._limits.archive_entries:,} others. Split "
                "it into several."
            )
        path = unique_path(safe_path(name), self._paths)
        self._paths.add(path)
        return path

    def keep(self, path: str, stream: IO[bytes]) -> Refusal | None:
        """Copy a part, or return why it is refused; of a refused part only the head is read."""
        head = stream.read(HEAD_BYTES)
        self.count(len(head))
        refusal = refusal_of(head, path)
        if refusal is None:
            self._folder.mkdir(exist_ok=True)
            file = self._folder / f"{len(self.parts):06}"
            size = self.copy(head, stream, file)
            self.parts.append(Part(path, file, size))
        else:
            self.refuse(path, refusal)
        return refusal

    def copy(self, head: bytes, stream: IO[bytes], target: Path) -> int:
        """Write a part to `target`; return its size. The head has been counted already."""
        size = len(head)
        try:
            with target.open("wb") as file:
                file.write(head)
                while block := stream.read(_BLOCK):
                    self.count(len(block))
                    size += file.write(block)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return size

    def count(self, size: int) -> None:
        """Count inflated bytes. Raises ParseLimitExceeded above the limit."""
        self._bytes += size
        if self._bytes > self._limits.archive_bytes:
            raise ParseLimitExceeded(
                f"Unpacked, this file takes more than {self._limits.archive_bytes // MIB:,} MB. "
                "Split it into several."
            )

    @property
    def bytes(self) -> int:
        """The number of bytes inflated so far."""
        return self._bytes

    def refuse(self, path: str, refusal: Refusal) -> None:
        self.refused.setdefault(refusal, []).append(path)

    def warnings(self) -> list[str]:
        """One warning for each reason, with the names and what to do."""
        return [left_out(paths, refusal) for refusal, paths in self.refused.items()]


def left_out(paths: list[str], refusal: Refusal) -> str:
    """The warning about the parts refused for one reason."""
    listed = ", ".join(paths[:_MAX_NAMES])
    more = f" and {len(paths) - _MAX_NAMES:,} more" if len(paths) > _MAX_NAMES else ""
    return f"Not read ({refusal.note}): {listed}{more}. {refusal.advice}"


def refusal_of(head: bytes, path: str) -> Refusal | None:
    """The reason not to read a file with this head and name; None if it can be read."""
    try:
        sniff(head, PurePosixPath(path).name)
    except EmptyFile:
        return Refusal.EMPTY
    except UnsupportedType:
        return Refusal.UNSUPPORTED
    except TypeMismatch:
        return Refusal.MISMATCH
    return None


def is_archive(head: bytes, path: str) -> bool:
    """Whether a file with this head is a plain ZIP archive, rather than an office document."""
    try:
        return sniff(head, PurePosixPath(path).name) is ZIP
    except (EmptyFile, UnsupportedType, TypeMismatch):
        return False


def safe_path(name: str) -> str:
    """A member's name as a relative path without "..", drives and invisible characters."""
    names = (_clean(part) for part in re.split(r"[/\\]+", _DRIVE.sub("", name)))
    path = "/".join(_shortened(part) for part in names if part) or "unnamed"
    if len(path) <= LONGEST_PATH:
        return path
    # The end is the most specific part; the digest keeps two long paths apart.
    digest = hashlib.sha256(path.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{digest}/{path[-(LONGEST_PATH - 9) :].lstrip('/')}"


def unique_path(path: str, others: Iterable[str]) -> str:
    """The path; if it is taken, with a number before its extension."""
    candidate, number = path, 1
    pure = PurePosixPath(path)
    while candidate in others:
        number += 1
        candidate = str(pure.with_name(f"{pure.stem} ({number}){pure.suffix}"))
    return candidate


def _clean(part: str) -> str:
    """One name of a path without control, bidi or surrogate characters; "" for dots."""
    clean = "".join(char for char in part if unicodedata.category(char)[0] != "C").strip()
    return "" if clean.strip(".") == "" else clean


def _shortened(part: str) -> str:
    if len(part) <= _LONGEST_NAME:
        return part
    suffix = PurePosixPath(part).suffix[:20]
    return part[: _LONGEST_NAME - len(suffix)] + suffix
