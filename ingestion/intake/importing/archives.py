"""A ZIP archive whose members become documents of their own, their paths as sources.

An upload of the same archive as a document would make one document with parts. Here a later
archive with the same paths brings their documents up to date.
"""

from __future__ import annotations

import stat
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Self

from django.conf import settings

from ingestion.errors import FileTooLarge, IngestionError
from ingestion.files.storage import local_copy
from ingestion.intake.importing.protocol import (
    MANIFEST_ENDS,
    Found,
    ImportRefused,
    Skip,
    Source,
    Taken,
)
from ingestion.models import Import, ImportItem
from ingestion.parsing.archive import RATIO_COUNTS_FROM, UNREADABLE
from ingestion.parsing.limits import MIB
from ingestion.parsing.parts import safe_path, unique_path
from ingestion.parsing.zip_archive import is_of_the_system, member_names

PATH = "path"
"""The option that names a file on this machine, for what a command reads in place."""

IN_MEMORY_BYTES = MIB
BLOCK_BYTES = MIB
# The directory is read at once: room for long names, not for a directory that is the bomb.
DIRECTORY_BYTES_A_FILE = 600
_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LONGEST_COMMENT = 65_535
_IN_END64 = 0xFFFFFFFF


class NoArchive(ImportRefused):
    """The file is something else, and was no ZIP archive before either."""


class ArchiveSource(Source):
    """The members of a ZIP archive."""

    takes_what_it_finds = True

    def __init__(self, of: Import) -> None:
        super().__init__(of)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        path = self._open.enter_context(local_file(self.of))
        try:
            self._archive = open_archive(path)
        except NoArchive as error:
            raise ImportRefused(
                f"{error} An import takes one, or a manifest whose name ends in "
                f"{', '.join(MANIFEST_ENDS)}. Upload other files as they are."
            ) from error
        self._open.callback(self._archive.close)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def check(self) -> None:
        with self:
            if not any(True for _ in self.discover()):
                raise ImportRefused("This archive holds no files. Check that it is the right one.")

    def discover(self) -> Iterator[Found]:
        taken: set[str] = set()
        for index, (member, name) in enumerate(zip(self._members, self._names, strict=True)):
            if member.is_dir() or is_of_the_system(name):
                continue
            path = unique_path(safe_path(name), taken)
            taken.add(path)
            yield Found(path, metadata={"member": index})

    @contextmanager
    def take(self, item: ImportItem) -> Iterator[Taken]:
        member = self._members[int(item.metadata["member"])]
        if stat.S_ISLNK(member.external_attr >> 16):
            raise Skip("It is a link to another file: pack the files themselves.")
        if member.flag_bits & 1:
            raise ImportRefused("It is protected by a password. Pack it again without one.")
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file:
            try:
                with self._archive.open(member) as packed:
                    copy_counted(packed, file, settings.MAX_UPLOAD_BYTES)
            except UNREADABLE as error:
                raise ImportRefused(
                    "It is damaged in the archive. Pack it again from the original."
                ) from error
            file.seek(0)
            name = PurePosixPath(item.reference).name
            yield Taken(file, name, source=item.reference)

    @cached_property
    def _members(self) -> list[zipfile.ZipInfo]:
        return self._archive.infolist()

    @cached_property
    def _names(self) -> list[str]:
        return member_names(self._members)


@contextmanager
def local_file(of: Import) -> Iterator[Path]:
    """The archive or manifest on this machine's disk. Raises ImportRefused when it is gone."""
    path = of.options.get(PATH)
    with ExitStack() as stack:
        try:
            file = Path(path) if path else stack.enter_context(local_copy(str(of.file.name)))
            present = file.is_file()
        except OSError:
            present = False
        if not present:
            raise ImportRefused(f"The file {of.origin} is no longer there. Import it again.")
        yield file


def open_archive(path: Path) -> zipfile.ZipFile:
    """An archive within bounds.

    Raises NoArchive for another file, ImportRefused for one that is damaged or far too large.
    """
    most = settings.IMPORT_MAX_FILES
    try:
        if _directory_bytes(path) > most * DIRECTORY_BYTES_A_FILE:
            raise _too_many()
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
        if not isinstance(error, OSError) and not _begins_as_zip(path):
            raise NoArchive("This is no ZIP archive.") from error
        raise ImportRefused(
            "This is no ZIP archive, or it is damaged. It was probably cut off in transfer: "
            "send it again from the original."
        ) from error
    members = archive.infolist()
    size = sum(member.file_size for member in members)
    packed = max(path.stat().st_size, 1)
    refusal: IngestionError | None = None
    if len(members) > most:
        refusal = _too_many()
    elif size > settings.IMPORT_MAX_UNPACKED_BYTES:
        limit = settings.IMPORT_MAX_UNPACKED_BYTES // MIB
        refusal = ImportRefused(
            f"Unpacked, this archive takes more than {limit:,} MB. Split it, or raise "
            "IMPORT_MAX_UNPACKED_MB."
        )
    elif size > RATIO_COUNTS_FROM and size > packed * settings.PARSE_LIMITS["PARSE_ARCHIVE_RATIO"]:
        refusal = ImportRefused(
            f"Unpacked, this archive grows to more than "
            f"{settings.PARSE_LIMITS['PARSE_ARCHIVE_RATIO']} times its size, as real files "
            "hardly ever do. Leave out the file that grows so, or raise PARSE_ARCHIVE_RATIO."
        )
    if refusal is not None:
        archive.close()
        raise refusal
    return archive


def copy_counted(stream: IO[bytes], target: IO[bytes], most: int) -> None:
    """Copies a member whose stated size may lie. Raises FileTooLarge past so many bytes."""
    left = most
    while block := stream.read(BLOCK_BYTES):
        left -= len(block)
        if left < 0:
            raise FileTooLarge(
                f"It is larger than {most // MIB:,} MB. Split it, or raise MAX_UPLOAD_MB."
            )
        target.write(block)


def _too_many() -> ImportRefused:
    return ImportRefused(
        f"This archive holds more than {settings.IMPORT_MAX_FILES:,} files. Split it, or raise "
        "IMPORT_MAX_FILES."
    )


def _begins_as_zip(path: Path) -> bool:
    """Whether its first bytes are a ZIP archive's, however damaged the rest is."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _directory_bytes(path: Path) -> int:
    """The size that an archive's end states for its directory, which zipfile reads at once."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = max(size - _END.size - _LONGEST_COMMENT - _END64_LOCATOR.size, 0)
        file.seek(start)
        tail = file.read()
        at = tail.rfind(b"PK\5\6")
        if at < 0:
            raise zipfile.BadZipFile("no end of directory")
        stated = int(_END.unpack_from(tail, at)[5])
        locator = at - _END64_LOCATOR.size
        if locator >= 0 and tail[locator : locator + 4] == b"PK\6\7":
            file.seek(int(_END64_LOCATOR.unpack_from(tail, locator)[2]))
            stated = max(
                stated if stated != _IN_END64 else 0, int(_END64.unpack(file.read(_END64.size))[8])
            )
        return stated
