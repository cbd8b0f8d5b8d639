"""Import of a ZIP archive: each member becomes a document with its path as the source.

An upload of the archive would create one document with parts. An import of a later archive updates
the documents of the same paths.
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
from typing import IO, Self

from django.conf import settings
from django.utils.translation import gettext

from ingestion.errors import FileTooLarge, IngestionError
from ingestion.files.storage import local_copy
from ingestion.intake.import_protocol import (
    MANIFEST_ENDS,
    ImportRefused,
    ImportSource,
    ItemDraft,
    ItemFile,
    Skip,
)
from ingestion.models import Import, ImportItem
from ingestion.parsing.formats.inner_files import safe_path, unique_path
from ingestion.parsing.formats.zip_archive import is_of_the_system, member_names
from ingestion.parsing.formats.zip_safety import RATIO_COUNTS_FROM, UNREADABLE
from ingestion.parsing.limits import MIB, ParseLimits

PATH = "path"
"""The import option with the path of a local file, which a command reads in place."""

IN_MEMORY_BYTES = MIB
BLOCK_BYTES = MIB
# zipfile reads the directory at once: allow long names, but no directory that exhausts memory.
DIRECTORY_BYTES_A_FILE = 600
_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LONGEST_COMMENT = 65_535
_IN_END64 = 0xFFFFFFFF


class NoArchive(ImportRefused):
    """The file is not a ZIP archive, damaged or otherwise."""


class ArchiveSource(ImportSource):
    """The members of a ZIP archive."""

    skips_unsupported = True

    def __init__(self, of: Import) -> None:
        super().__init__(of)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        path = self._open.enter_context(local_file(self.of))
        try:
            self._archive = open_archive(path)
        except NoArchive as error:
            raise ImportRefused(
                gettext(
                    "%(error)s Imports accept a ZIP archive, or a manifest whose name ends in "
                    "%(ends)s. Upload other files directly."
                )
                % {"error": error, "ends": ", ".join(MANIFEST_ENDS)}
            ) from error
        self._open.callback(self._archive.close)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def check(self) -> None:
        with self:
            if not any(True for _ in self.discover()):
                raise ImportRefused(
                    gettext("The archive contains no files. Check that it is the right one.")
                )

    def discover(self) -> Iterator[ItemDraft]:
        names: set[str] = set()
        for index, (member, name) in enumerate(zip(self._members, self._names, strict=True)):
            if member.is_dir() or is_of_the_system(name):
                continue
            path = unique_path(safe_path(name), names)
            names.add(path)
            yield ItemDraft(path, metadata={"member": index})

    @contextmanager
    def take(self, item: ImportItem) -> Iterator[ItemFile]:
        member = self._members[int(item.metadata["member"])]
        if stat.S_ISLNK(member.external_attr >> 16):
            raise Skip(gettext("The file is a link: pack the files themselves."))
        if member.flag_bits & 1:
            raise ImportRefused(
                gettext("The file is protected by a password. Pack it again without one.")
            )
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file:
            try:
                with self._archive.open(member) as packed:
                    copy_counted(packed, file, settings.MAX_UPLOAD_BYTES)
            except UNREADABLE as error:
                raise ImportRefused(
                    gettext("The file is damaged in the archive. Pack it again from the original.")
                ) from error
            file.seek(0)
            name = PurePosixPath(item.reference).name
            yield ItemFile(file, name, source=item.reference)

    @cached_property
    def _members(self) -> list[zipfile.ZipInfo]:
        return self._archive.infolist()

    @cached_property
    def _names(self) -> list[str]:
        return member_names(self._members)


@contextmanager
def local_file(of: Import) -> Iterator[Path]:
    """The local path of the archive or manifest. Raises ImportRefused if it is missing."""
    path = of.options.get(PATH)
    with ExitStack() as stack:
        try:
            file = Path(path) if path else stack.enter_context(local_copy(str(of.file.name)))
            present = file.is_file()
        except OSError:
            present = False
        if not present:
            raise ImportRefused(
                gettext("The file %(origin)s no longer exists. Import it again.")
                % {"origin": of.origin}
            )
        yield file


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open an archive within the limits.

    Raises NoArchive for other files, ImportRefused if the archive is damaged or exceeds a limit.
    """
    most = settings.IMPORT_MAX_FILES
    try:
        if _directory_bytes(path) > most * DIRECTORY_BYTES_A_FILE:
            raise _too_many()
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
        if not isinstance(error, OSError) and not _begins_as_zip(path):
            raise NoArchive(gettext("The file is not a ZIP archive.")) from error
        raise ImportRefused(
            gettext(
                "The ZIP archive is damaged, probably by an incomplete transfer. Send it again."
            )
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
            gettext(
                "The unpacked archive is larger than %(limit)s MB, ten times IMPORT_MAX_MB. Split "
                "the archive, or raise IMPORT_MAX_MB."
            )
            % {"limit": f"{limit:,}"}
        )
    elif size > RATIO_COUNTS_FROM and size > packed * ParseLimits().archive_ratio:
        refusal = ImportRefused(
            gettext(
                "The unpacked archive is more than %(ratio)s times its size, which is rare "
                "for real files. Remove the file that expands most."
            )
            % {"ratio": ParseLimits().archive_ratio}
        )
    if refusal is not None:
        archive.close()
        raise refusal
    return archive


def copy_counted(stream: IO[bytes], target: IO[bytes], most: int) -> None:
    """Copy a member, whose stated size may be wrong. Raises FileTooLarge above `most` bytes."""
    remaining = most
    while block := stream.read(BLOCK_BYTES):
        remaining -= len(block)
        if remaining < 0:
            raise FileTooLarge(
                gettext("The file is larger than %(limit)s MB. Split it, or raise MAX_UPLOAD_MB.")
                % {"limit": f"{most // MIB:,}"}
            )
        target.write(block)


def _too_many() -> ImportRefused:
    return ImportRefused(
        gettext(
            "The archive contains more than %(most)s files. Split it, or raise IMPORT_MAX_FILES."
        )
        % {"most": f"{settings.IMPORT_MAX_FILES:,}"}
    )


def _begins_as_zip(path: Path) -> bool:
    """True if the file starts like a ZIP archive, even if the rest is damaged."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _directory_bytes(path: Path) -> int:
    """The size of the directory as stated by the end of the archive; zipfile reads it at once."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = max(size - _END.size - _LONGEST_COMMENT - _END64_LOCATOR.size, 0)
        file.seek(start)
        tail = file.read()
        at = tail.rfind(b"PK\5\6")
        if at < 0:
            raise zipfile.BadZipFile("no end of directory")
        stated_size = int(_END.unpack_from(tail, at)[5])
        locator = at - _END64_LOCATOR.size
        if locator >= 0 and tail[locator : locator + 4] == b"PK\6\7":
            file.seek(int(_END64_LOCATOR.unpack_from(tail, locator)[2]))
            stated_size = max(
                stated_size if stated_size != _IN_END64 else 0,
                int(_END64.unpack(file.read(_END64.size))[8]),
            )
        return stated_size
