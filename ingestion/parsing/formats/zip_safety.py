"""Safety of ZIP containers: limits on unpacking."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from ingestion.errors import DamagedFile, EncryptedFile, ParseLimitExceeded
from ingestion.parsing.limits import MIB, ParseLimits

# Text compresses well: below this size any ratio is harmless.
RATIO_COUNTS_FROM = 8 * MIB
_READ_BYTES, _INFLATE_BYTES = 64 * 1024, MIB
_LOCAL_HEADER_BYTES = 30
# In either byte order. No office program declares entities, which can expand without limit.
_ENTITY_MARKS = tuple("<!ENTITY".encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be"))
_XML_NAMES = (".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm", ".svg", ".vml")

UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Errors of zipfile for a member that is damaged, encrypted or compressed by an unknown method."""


def check_archive(path: Path, limits: ParseLimits) -> None:
    """Inflate every member and check its size against the limits; nothing is kept.

    The sizes stated in the directory can be false, and members can share their compressed bytes:
    only inflated bytes count. Afterwards the stated sizes are known to be true and libraries may
    rely on them. Raises DamagedFile, EncryptedFile or ParseLimitExceeded.
    """
    members = _directory(path)
    if any(member.flag_bits & 1 for member in members):
        raise EncryptedFile(
            "This file is protected by a password. Remove the password and upload it again."
        )
    size = sum(member.file_size for member in members)
    packed = max(sum(member.compress_size for member in members), 1)
    if (
        len(members) > limits.archive_entries
        or size > limits.archive_bytes
        or (size > RATIO_COUNTS_FROM and size / packed > limits.archive_ratio)
    ):
        raise _too_much(size, len(members))
    _refuse_overlaps(members, path.stat().st_size)
    total = 0
    with path.open("rb") as file:
        for member in members:
            before = total
            for part in _checked_parts(file, member):
                total += len(part)
                if total > limits.archive_bytes:
                    raise _too_much(total, len(members))
                if total - before > member.file_size:
                    raise _untrue(member)
            if total - before != member.file_size:
                raise _untrue(member)


def members_of(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The members listed in the directory. Raises BadZipFile if bytes before it are missing."""
    members = archive.infolist()
    if any(member.header_offset < 0 for member in members):
        raise zipfile.BadZipFile("a member starts before the beginning of the file")
    return members


def _directory(path: Path) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            return members_of(archive)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DamagedFile(
            "This file is damaged: its ZIP container cannot be opened. It was probably cut off "
            "in transfer; upload it again from the original."
        ) from error


def _refuse_overlaps(members: Sequence[zipfile.ZipInfo], file_size: int) -> None:
    """Refuse members that share bytes: they unpack to far more than the file could hold."""
    spans = sorted(
        (member.header_offset, member.header_offset + _LOCAL_HEADER_BYTES + member.compress_size)
        for member in members
    )
    overlapping = any(end > start for (_, end), (start, _) in pairwise(spans))
    if overlapping or (spans and spans[-1][1] > file_size):
        raise DamagedFile(
            "This file is damaged: members of its ZIP container overlap, which ordinary programs "
            "never produce. Save it again in the program it was made with."
        )


def _checked_parts(file: BinaryIO, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """The inflated bytes of a member, in pieces. Raises DamagedFile."""
    looks_like_xml = member.filename.lower().endswith(_XML_NAMES)
    tail = b""
    try:
        for part in _inflated(file, member):
            if looks_like_xml and any(mark in tail + part for mark in _ENTITY_MARKS):
                raise DamagedFile(
                    f"This file's part “{clean_name(member.filename)}” declares XML entities, "
                    "which can expand without limit. Save it again in the program it was made with."
                )
            tail = part[-16:]
            yield part
    except (zlib.error, EOFError) as error:
        raise DamagedFile(
            f"This file is damaged: its part “{clean_name(member.filename)}” cannot be unpacked. "
            "Upload it again from the original."
        ) from error


def _inflated(file: BinaryIO, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """The inflated bytes of a member, whatever size is stated for it."""
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER_BYTES)
    if header[:4] != b"PK\x03\x04":
        raise EOFError
    name, extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
    file.seek(name + extra, 1)
    left = member.compress_size
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DamagedFile(
            f"The part “{clean_name(member.filename)}” uses a compression method that is "
            "not supported. Pack it again as an ordinary ZIP file."
        )
    inflater = zlib.decompressobj(-15) if member.compress_type == zipfile.ZIP_DEFLATED else None
    while left > 0 and not (inflater and inflater.eof):
        packed = file.read(min(left, _READ_BYTES))
        if not packed:
            raise EOFError
        left -= len(packed)
        if inflater is None:
            yield packed
            continue
        while packed:
            yield inflater.decompress(packed, _INFLATE_BYTES)
            packed = inflater.unconsumed_tail
    if inflater is not None:
        while part := inflater.decompress(b"", _INFLATE_BYTES):
            yield part
        if not inflater.eof and member.file_size:
            raise EOFError


def clean_name(name: str) -> str:
    """The end of a member's name without control characters, for messages."""
    return "".join(c for c in name[-80:] if c.isprintable())


def _too_much(size: int, count: int) -> ParseLimitExceeded:
    return ParseLimitExceeded(
        f"Unpacked, this file takes {size // MIB:,} MB in {count:,} parts: more than is "
        "allowed for one file. Split it, or leave out large pictures."
    )


def _untrue(member: zipfile.ZipInfo) -> DamagedFile:
    return DamagedFile(
        f"This file is damaged: its part “{clean_name(member.filename)}” does not have the "
        "size that the file states. Upload it again from the original."
    )
