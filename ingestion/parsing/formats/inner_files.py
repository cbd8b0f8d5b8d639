"""Files within a file -> files in the scratch directory: counted, sniffed, with safe labels.

No name and no stated size is trusted: names become labels and are never used as paths, and
bytes are counted while they are copied.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import IO

from ingestion.domain import Block, BlockKind, Part
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


# Guesses, chosen so that a price list or a table of figures is kept.
FEWEST_ENTRIES = 3
LONGEST_ENTRY = 160
LONGEST_BLOCK = 20_000

_NAMES = re.compile(
    r"(?:table of )?contents?|list of (?:figures|tables|illustrations)|(?:inhalts|abbildungs|"
    r"tabellen)verzeichnis|inhalt|table des mati[eè]res|sommaire|[ií]ndice(?: general)?|contenido|"
    r"sommario|inhoud(?:sopgave)?|sum[aá]rio|innehåll|indhold|innhold|sis[aä]llys|spis treści|"
    r"obsah|tartalom|содержание|оглавление|περιεχόμενα|目次|目录|目錄|차례",
    re.IGNORECASE,
)
_PAGE = r"(?P<page>\d{1,4}|[ivxlc]{1,6})(?=\s|$)"
_TITLE = rf"(?=\S)[^\n\t]{{1,{LONGEST_ENTRY}}}?"
# "1.2 History ........ 7", "History<tab>7"
_LED = re.compile(rf"\s*{_TITLE}\s*(?:(?:\s*[.·…_]){{3,}}|…+|\t+)\s*{_PAGE}")
# "1.2 History 7": accepted only below a heading that announces a table of contents.
_LOOSE = re.compile(rf"\s*(?:[\dA-Z]+(?:\.\d+)*\.?\s+)?(?=\D*[^\W\d_]){_TITLE}\s+{_PAGE}")
# "Chapter 1 7": only the last number of a line is a page.
_LOOSE_LINE = re.compile(
    rf"\s*(?=[^\n]*[^\W\d_])(?=\S)[^\n]{{1,{LONGEST_ENTRY}}}[ \t]{_PAGE}(?=[ \t]*(?:\n|$))"
)


def without_contents(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks in order, without tables of contents and the headings above them.

    A table of contents is a run of entries that end in page numbers that never decrease.
    """
    run: list[Block] = []
    pages: list[int] = []
    is_named = False
    for block in blocks:
        numbers = _entry_pages(block, is_named=is_named)
        if numbers is not None and _continues(pages, numbers):
            run.append(block)
            pages += numbers
            continue
        yield from _unless_contents(run, pages)
        is_named = _names_contents(block)
        numbers = None if is_named else _entry_pages(block, is_named=False)
        run, pages = ([block], numbers or []) if is_named or numbers is not None else ([], [])
        if not run:
            yield block
    yield from _unless_contents(run, pages)


def _unless_contents(run: list[Block], pages: list[int]) -> Iterator[Block]:
    """The blocks of a run that is too short to be a table of contents; else none."""
    if len(pages) < FEWEST_ENTRIES:
        yield from run


def _continues(pages: list[int], numbers: list[int]) -> bool:
    together = [*pages[-1:], *numbers]
    return all(before <= after for before, after in pairwise(together))


def _names_contents(block: Block) -> bool:
    """Whether the block is a heading that announces a table of contents."""
    text = block.text.strip().rstrip(":").strip()
    is_line = block.kind in (BlockKind.HEADING, BlockKind.PARAGRAPH)
    return is_line and _NAMES.fullmatch(" ".join(text.split())) is not None


def _entry_pages(block: Block, *, is_named: bool) -> list[int] | None:
    """The page numbers of a block that consists of entries alone, roman ones as 0; else None."""
    if block.kind is BlockKind.CODE or len(block.text) > LONGEST_BLOCK:
        return None
    if block.kind is BlockKind.TABLE:
        return _row_pages(block) if is_named else None
    pages = _read(_LED, block.text)
    if pages is None and is_named:
        return _read(_LOOSE, block.text) or _read(_LOOSE_LINE, block.text)
    return pages


def _row_pages(block: Block) -> list[int] | None:
    pages = []
    for row in block.rows:
        cells = [cell for cell in row if cell.strip()]
        if not cells or not cells[-1].strip(" .").isdecimal():
            return None
        pages.append(int(cells[-1].strip(" .")))
    return pages or None


def _read(entry: re.Pattern[str], text: str) -> list[int] | None:
    pages, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = entry.match(text, position)
        if match is None:
            return None
        page = match["page"]
        pages.append(int(page) if page.isdecimal() else 0)
        position = match.end()
    return pages or None
