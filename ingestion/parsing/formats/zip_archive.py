"""ZIP -> a table of its members, and the members as parts.

A nested archive is unpacked with it ("inner.zip/reports/q3.pdf"), so that one count of bytes,
entries and ratio limits them all.
"""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from ingestion.domain import Block, Completeness, Unit
from ingestion.errors import DamagedFile, EncryptedFile, NoText, ParseLimitExceeded
from ingestion.files.filetypes import HEAD_BYTES
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.inner_files import PartKeeper, Refusal, is_archive
from ingestion.parsing.formats.office_counts import note_parts
from ingestion.parsing.formats.zip_safety import RATIO_COUNTS_FROM, UNREADABLE, members_of
from ingestion.parsing.limits import MIB
from ingestion.parsing.protocol import Extraction, Source

DEEPEST = 2
"""Levels of nested archives that are unpacked, including the uploaded one."""

_UTF8_NAME = 0x800
_ENCRYPTED = 0x1
# Files that operating systems add; nobody packed them deliberately.
_SYSTEM_FOLDERS = frozenset({"__MACOSX"})
_SYSTEM_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    size: int
    refusal: Refusal | None


class ZipParser:
    """The listing is the archive's text; its members become separate documents."""

    name = "zip"

    def extract(self, source: Source) -> Extraction:
        reader = _ZipReader(source)
        reader.unpack(source.path, "", 1)
        if not reader.entries:
            raise NoText("This archive contains no files. Check that the right one was uploaded.")
        if all(entry.refusal is Refusal.ENCRYPTED for entry in reader.entries):
            raise EncryptedFile(
                "This archive is protected by a password. Pack it again without one."
            )
        completeness = Completeness(Unit.FILE)
        note_parts(completeness, reader.keeper)
        return Extraction(
            _listing(reader.entries),
            warnings=reader.keeper.warnings(),
            parts=reader.keeper.parts,
            completeness=completeness,
        )


class _ZipReader:
    def __init__(self, source: Source) -> None:
        self.keeper = PartKeeper(source.scratch, source.limits)
        self.entries: list[_Entry] = []
        self._source = source
        self._packed = max(source.path.stat().st_size, 1)

    def unpack(self, file: Path, prefix: str, depth: int) -> None:
        """Unpack the members of one archive. Raises DamagedFile if it cannot be opened."""
        try:
            archive = zipfile.ZipFile(file)
            members = members_of(archive)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise DamagedFile(
                "This archive is damaged and cannot be opened. It was probably cut off in "
                "transfer; upload it again from the original."
            ) from error
        with archive:
            if len(members) > self._source.limits.archive_entries:
                raise ParseLimitExceeded(
                    f"This archive contains {len(members):,} entries; at most "
                    f"{self._source.limits.archive_entries:,} are unpacked. Split it."
                )
            names = member_names(members)
            for member, name in zip(members, names, strict=True):
                if not member.is_dir() and not is_of_the_system(name):
                    self._member(archive, member, self.keeper.place(prefix + name), depth)

    def _member(
        self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str, depth: int
    ) -> None:
        refusal = _unopened(member)
        if refusal is None:
            try:
                with archive.open(member) as stream:
                    refusal = self._read(stream, path, depth)
            except UNREADABLE:
                refusal = Refusal.DAMAGED
                self.keeper.refuse(path, refusal)
        else:
            self.keeper.refuse(path, refusal)
        self._check_ratio()
        self.entries.append(_Entry(path, member.file_size, refusal))

    def _read(self, stream: IO[bytes], path: str, depth: int) -> Refusal | None:
        head = stream.peek(HEAD_BYTES) if isinstance(stream, zipfile.ZipExtFile) else b""
        if not is_archive(head, path):
            return self.keeper.keep(path, stream)
        if depth == DEEPEST:
            self.keeper.refuse(path, Refusal.NESTED)
            return Refusal.NESTED
        inner = self._source.scratch / f"inner-{len(self.entries):06}.zip"
        self.keeper.copy(b"", stream, inner)
        try:
            self.unpack(inner, f"{path}/", depth + 1)
        except DamagedFile:
            self.keeper.refuse(path, Refusal.DAMAGED)
            return Refusal.DAMAGED
        finally:
            inner.unlink()
        return None

    def _check_ratio(self) -> None:
        inflated = self.keeper.bytes
        most = self._source.limits.archive_ratio
        if inflated > RATIO_COUNTS_FROM and inflated > most * self._packed:
            raise ParseLimitExceeded(
                f"Unpacked, this archive grows to more than {most} times its size, which ordinary "
                "files never do. Upload its files individually."
            )


def _unopened(member: zipfile.ZipInfo) -> Refusal | None:
    """The reason to refuse a member before opening it; None to open it."""
    if member.flag_bits & _ENCRYPTED:
        return Refusal.ENCRYPTED
    return Refusal.LINK if stat.S_ISLNK(member.external_attr >> 16) else None


def member_names(members: list[zipfile.ZipInfo]) -> list[str]:
    """The members' names; names without a stated encoding are decoded together.

    zipfile decodes such names as DOS Latin; programs use the encoding of their country.
    """
    legacy = [
        index
        for index, member in enumerate(members)
        if not member.flag_bits & _UTF8_NAME and not member.filename.isascii()
    ]
    names = [member.filename for member in members]
    if legacy:
        together = b"\n".join(names[index].encode("cp437", "replace") for index in legacy)
        decoded = decode(together).split("\n")
        if len(decoded) == len(legacy):
            for index, name in zip(legacy, decoded, strict=True):
                names[index] = name
    return names


def is_of_the_system(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.name in _SYSTEM_FILES or bool(_SYSTEM_FOLDERS & set(path.parts))


def _listing(entries: list[_Entry]) -> Iterator[Block]:
    """One table: each member's path and size, and a note if it is not read."""
    with_notes = any(entry.refusal for entry in entries)
    rows: list[tuple[str, ...]] = [("File", "Size", "Note") if with_notes else ("File", "Size")]
    for entry in entries:
        row = (entry.path, _size(entry.size))
        note = f"not read: {entry.refusal.note}" if entry.refusal else ""
        rows.append((*row, note) if with_notes else row)
    yield Block.table(rows, has_header=True)


def _size(size: int) -> str:
    """A size for people: "12 bytes", "3 KB", "1.5 MB"."""
    if size < 1024:
        return f"{size} bytes"
    return f"{round(size / 1024):,} KB" if size < MIB else f"{size / MIB:,.1f} MB"


PARSER = ZipParser()
