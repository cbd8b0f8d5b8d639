"""A PowerPoint 97-2003 deck made by code: the fewest records in the plainest OLE container.

No library of the project writes this format.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_SECTOR = 512
# Smaller streams would need a container inside the container.
_SMALLEST_STREAM = 4096
_END, _FAT_SECTOR, _FREE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF


def make_ole(streams: Mapping[str, bytes]) -> bytes:
    """An OLE compound file ([MS-CFB], version 3) of at most three streams; short ones grow."""
    fat = [_FAT_SECTOR, _END]
    entries = [_entry("Root Entry", 5, _END, 0, child=1 if streams else _FREE)]
    body = b""
    for number, (name, content) in enumerate(streams.items(), 1):
        content = content.ljust(_SMALLEST_STREAM, b"\0")
        count = -(-len(content) // _SECTOR)
        right = number + 1 if number < len(streams) else _FREE
        entries.append(_entry(name, 2, len(fat), len(content), right=right))
        fat += [*range(len(fat) + 1, len(fat) + count), _END]
        body += content.ljust(count * _SECTOR, b"\0")
    header = struct.pack(
        "<8s16s5H6x10I",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"",
        *(0x3E, 3, 0xFFFE, 9, 6),
        *(0, 1, 1, 0, _SMALLEST_STREAM, _END, 0, _END, 0, 0),
    )
    table = struct.pack("<128I", *fat, *[_FREE] * (128 - len(fat)))
    directory = b"".join(entries).ljust(_SECTOR, b"\0")
    return header.ljust(_SECTOR, b"\xff") + table + directory + body


def _entry(
    name: str, kind: int, start: int, size: int, *, right: int = _FREE, child: int = _FREE
) -> bytes:
    encoded = name.encode("utf-16-le")
    tree = struct.pack("<HBB3I", len(encoded) + 2, kind, 1, _FREE, right, child)
    return encoded.ljust(64, b"\0") + tree + bytes(36) + struct.pack("<IQ", start, size)


def make_ppt(slides: Sequence[tuple[str, str]]) -> bytes:
    """A deck of (title, text), by [MS-PPT]."""
    outline, drawn = b"", b""
    offsets = []
    for number, (title, text) in enumerate(slides):
        outline += _record(0x3F3, struct.pack("<5I", number + 2, 4, 2, 256 + number, 0))
        for kind, part in enumerate((title, text)):
            outline += _record(0xF9F, struct.pack("<I", kind))
            outline += _record(0xFA0, part.encode("utf-16-le"))
    atom = _record(0x3E9, struct.pack("<4i2i2I2H4B", 5760, 4320, *[0] * 4, 0, 0, 1, 0, *[0] * 4), 1)
    document = _record(0x3E8, atom + _record(0xFF0, outline, 15) + _record(0x3EA, b""), 15)
    for _ in slides:
        offsets.append(len(document) + len(drawn))
        drawn += _record(0x3EE, _record(0x3EF, bytes(24), 2), 15)
    start = len(document) + len(drawn)
    count = 1 + len(slides)
    persist = _record(0x1772, struct.pack(f"<I{count}I", 1 | count << 20, 0, *offsets))
    edit = _record(0xFF5, struct.pack("<IHBB4IHH", 256, 0, 0, 3, 0, start, 1, count, 1, 0))
    place = start + len(persist)
    user = struct.pack("<3I2H4BI", 20, 0xE391C05F, place, 0, 1012, 3, 0, 0, 0, 8)
    return make_ole(
        {
            "Current User": _record(0xFF6, user),
            "PowerPoint Document": document + drawn + persist + edit,
        }
    )


def _record(kind: int, content: bytes, version: int = 0) -> bytes:
    return struct.pack("<HHI", version, kind, len(content)) + content
