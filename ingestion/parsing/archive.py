"""ZIP containers: their bounds, and their small XML members read with care."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from xml.parsers import expat

from ingestion.errors import DamagedFile, EncryptedFile, ParseLimitExceeded

from .limits import MIB, ParseLimits

# Text packs well: below this size any ratio is harmless.
_RATIO_COUNTS_FROM = 8 * MIB
_LARGEST_PROPERTIES = MIB

UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What zipfile raises for a member that is damaged, encrypted or packed in a strange way."""


def check_archive(path: Path, limits: ParseLimits) -> None:
    """Raises DamagedFile, EncryptedFile or ParseLimitExceeded before anything is unpacked.

    Sizes are the directory's own: a library that is lied to meets the memory limit.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DamagedFile(
            "This file is damaged: its ZIP container cannot be opened. It was probably cut off "
            "in transfer; upload it again from the original."
        ) from error
    if any(member.flag_bits & 1 for member in members):
        raise EncryptedFile(
            "This file is protected by a password. Remove the password and upload it again."
        )
    size = sum(member.file_size for member in members)
    packed = max(sum(member.compress_size for member in members), 1)
    if (
        len(members) > limits.archive_entries
        or size > limits.archive_bytes
        or (size > _RATIO_COUNTS_FROM and size / packed > limits.archive_ratio)
    ):
        raise ParseLimitExceeded(
            f"Unpacked, this file takes {size // MIB:,} MB in {len(members):,} parts: more than "
            "one file may take. Split it, or leave out large pictures."
        )


def read_properties(path: Path, member: str) -> dict[str, str]:
    """The text of each element of a container's property file, by local name; {} without one.

    The first of several elements of a name counts. Entities are refused: a property file
    needs none, and they can be made to grow without end.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            data = file.read(_LARGEST_PROPERTIES)
    except (KeyError, zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
        return {}
    return _element_texts(data)


class _EntityRefusedError(Exception):
    """Stops the XML parser at the first entity declaration."""


def _element_texts(data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    open_names: list[str] = []
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        open_names.append(name.rpartition(":")[2])

    def end(name: str) -> None:
        open_names.pop()

    def characters(text: str) -> None:
        if open_names and text.strip():
            found.setdefault(open_names[-1], text.strip())

    def refuse(*declaration: object) -> None:
        raise _EntityRefusedError

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _EntityRefusedError):
        return {}
    return found
