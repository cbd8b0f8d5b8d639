"""Outlook messages and PowerPoint 97-2003 decks made by code, in OLE containers.

No library of the project writes these formats.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_SECTOR, _MINI, _CUTOFF = 512, 64, 4096
_END, _FAT_SECTOR, _FREE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
_FOLDER, _STREAM, _ROOT = 1, 2, 5

Folder = Mapping[str, "bytes | Folder"]


@dataclass
class Attachment:
    name: str
    content: bytes
    media_type: str = "application/octet-stream"


@dataclass
class Letter:
    """What an Outlook message says.

    `html` is bytes in UTF-8, `rtf` compressed; `inner` are messages attached.
    """

    subject: str = "Beam handbook"
    sender: tuple[str, str] = ("Ada Weigher", "ada@example.org")
    to: Sequence[tuple[str, str]] = (("Bo", "bo@example.org"),)
    body: str = "A steelyard weighs."
    html: bytes = b""
    rtf: bytes = b""
    attachments: Sequence[Attachment] = ()
    inner: Sequence[Letter] = ()
    extra: Mapping[int, str] = field(default_factory=dict)


def make_msg(letter: Letter | None = None) -> bytes:
    """The message in a compound file ([MS-OXMSG] in [MS-CFB])."""
    return make_ole(_message(letter or Letter(), header=32))


def _message(letter: Letter, header: int) -> Folder:
    texts = {
        0x001A: "IPM.Note", 0x0037: letter.subject, 0x0C1A: letter.sender[0],
        0x5D01: letter.sender[1], 0x1000: letter.body, **letter.extra,
    }  # fmt: skip
    # 1 May 2024, 8:00 UTC, in tenths of microseconds since 1601; the HTML's code page is UTF-8.
    numbers = {0x0039: (0x0040, 133_590_240_000_000_000), 0x3FDE: (0x0003, 65001)}
    bodies = {0x1013: letter.html, 0x1009: letter.rtf}
    binaries = {number: body for number, body in bodies.items() if body}
    folder = dict(_properties(header, texts, numbers, binaries))
    for index, (name, address) in enumerate(letter.to):
        held = _properties(8, {0x3001: name, 0x39FE: address}, {0x0C15: (0x0003, 1)}, {})
        folder[f"__recip_version1.0_#{index:08X}"] = dict(held)
    number = 0
    for number, attachment in enumerate(letter.attachments, 1):
        names = {0x3707: attachment.name, 0x370E: attachment.media_type}
        held = _properties(8, names, {0x3705: (0x0003, 1)}, {0x3701: attachment.content})
        folder[f"__attach_version1.0_#{number:08X}"] = dict(held)
    for index, inner in enumerate(letter.inner, number + 1):
        held = _properties(8, {}, {0x3705: (0x0003, 5)}, {})
        attached = {**held, "__substg1.0_3701000D": _message(inner, header=24)}
        folder[f"__attach_version1.0_#{index:08X}"] = attached
    return folder


def _properties(
    header: int,
    texts: Mapping[int, str],
    numbers: Mapping[int, tuple[int, int]],
    binaries: Mapping[int, bytes],
) -> Folder:
    """The streams of the properties, and the stream that lists them."""
    listed = bytes(header)
    streams: dict[str, bytes | Folder] = {}
    for kind, values in (
        (0x001F, {pid: text.encode("utf-16-le") for pid, text in texts.items()}),
        (0x0102, binaries),
    ):
        for pid, data in values.items():
            listed += struct.pack("<HHIII", kind, pid, 6, len(data) + 2 * (kind == 0x001F), 0)
            streams[f"__substg1.0_{pid:04X}{kind:04X}"] = data
    for pid, (kind, number) in numbers.items():
        listed += struct.pack("<HHIQ", kind, pid, 6, number)
    streams["__properties_version1.0"] = listed
    return streams


def make_ole(root: Folder) -> bytes:
    """A compound file ([MS-CFB], version 3); short streams in a container within the container."""
    entries: list[list[object]] = []  # name, kind, content, right, child
    _enter("Root Entry", root, _ROOT, entries)
    small, mini_fat = b"", []
    body, fat = b"", [_FAT_SECTOR]
    starts: list[tuple[int, int]] = []

    def put(data: bytes) -> int:
        nonlocal body
        count = -(-len(data) // _SECTOR)
        if not count:
            return _END
        first = len(fat)
        fat.extend([*range(first + 1, first + count), _END])
        body += data.ljust(count * _SECTOR, b"\0")
        return first

    for _, kind, content, *_ in entries:
        if kind != _STREAM:
            starts.append((0, 0))
        elif len(content) >= _CUTOFF:
            starts.append((put(content), len(content)))
        else:
            count = -(-len(content) // _MINI)
            first = len(mini_fat) if count else _END
            mini_fat += [*range(len(mini_fat) + 1, len(mini_fat) + count), _END][: max(count, 0)]
            small += content.ljust(count * _MINI, b"\0")
            starts.append((first, len(content)))
    starts[0] = (put(small), len(small))
    packed_mini = struct.pack(f"<{len(mini_fat)}I", *mini_fat)
    mini_sectors = -(-len(packed_mini) // _SECTOR)
    mini_start = put(packed_mini.ljust(mini_sectors * _SECTOR, b"\xff"))
    directory = b"".join(
        _entry(name, kind, start, size, right, child)
        for (name, kind, _, right, child), (start, size) in zip(entries, starts, strict=True)
    )
    directory_start = put(directory.ljust(-(-len(directory) // _SECTOR) * _SECTOR, b"\0"))
    assert len(fat) <= 128, "larger than one sector of the table can map"
    header = struct.pack(
        "<8s16s5H6x10I",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"",
        *(0x3E, 3, 0xFFFE, 9, 6),
        *(0, 1, directory_start, 0, _CUTOFF, mini_start, mini_sectors, _END, 0, 0),
    )
    table = struct.pack("<128I", *fat, *[_FREE] * (128 - len(fat)))
    return header.ljust(_SECTOR, b"\xff") + table + body


def _enter(name: str, content: bytes | Folder, kind: int, entries: list[list[object]]) -> int:
    """Appends an entry with all that is in it; its number."""
    number = len(entries)
    entry: list[object] = [name, kind, content if kind == _STREAM else b"", _FREE, _FREE]
    entries.append(entry)
    if isinstance(content, Mapping):
        before = 0
        for inner_name, inner in content.items():
            inner_kind = _FOLDER if isinstance(inner, Mapping) else _STREAM
            inner_number = _enter(inner_name, inner, inner_kind, entries)
            # The siblings of a folder form a tree; a list to the right is one.
            if before:
                entries[before][3] = inner_number
            else:
                entry[4] = inner_number
            before = inner_number
    return number


def _entry(name: str, kind: int, start: int, size: int, right: int, child: int) -> bytes:
    encoded = name.encode("utf-16-le")
    tree = struct.pack("<HBB3I", len(encoded) + 2, kind, 1, _FREE, right, child)
    return encoded.ljust(64, b"\0") + tree + bytes(36) + struct.pack("<IQ", start, size)


def make_ppt(slides: Sequence[tuple[str, str]], table: Sequence[Sequence[str]] = ()) -> bytes:
    """A deck of (title, text), by [MS-PPT], with the table on its last slide."""
    outline, drawn = b"", b""
    offsets = []
    for number, (title, text) in enumerate(slides):
        outline += _record(0x3F3, struct.pack("<5I", number + 2, 4, 2, 256 + number, 0))
        for kind, part in enumerate((title, text)):
            outline += _record(0xF9F, struct.pack("<I", kind))
            outline += _record(0xFA0, part.encode("utf-16-le"))
    atom = _record(0x3E9, struct.pack("<4i2i2I2H4B", 5760, 4320, *[0] * 4, 0, 0, 1, 0, *[0] * 4), 1)
    document = _record(0x3E8, atom + _record(0xFF0, outline, 15) + _record(0x3EA, b""), 15)
    for number in range(len(slides)):
        offsets.append(len(document) + len(drawn))
        drawing = _drawing(table) if table and number == len(slides) - 1 else b""
        drawn += _record(0x3EE, _record(0x3EF, bytes(24), 2) + drawing, 15)
    start = len(document) + len(drawn)
    count = 1 + len(slides)
    persist = _record(0x1772, struct.pack(f"<I{count}I", 1 | count << 20, 0, *offsets))
    edit = _record(0xFF5, struct.pack("<IHBB4IHH", 256, 0, 0, 3, 0, start, 1, count, 1, 0))
    place = start + len(persist)
    user = struct.pack("<3I2H4BI", 20, 0xE391C05F, place, 0, 1012, 3, 0, 0, 0, 8)
    streams = {
        "Current User": _record(0xFF6, user),
        "PowerPoint Document": document + drawn + persist + edit,
    }
    return make_ole({name: data.ljust(_CUTOFF, b"\0") for name, data in streams.items()})


def _drawing(table: Sequence[Sequence[str]]) -> bytes:
    """A drawing with a table: a group of shapes, each with its place and text ([MS-ODRAW])."""
    is_table = struct.pack("<HI", 0x39F, 1)
    head = struct.pack("<HHI", 0x13, 0xF122, len(is_table)) + is_table
    shapes = _record(0xF004, _record(0xF009, bytes(16), 1) + head, 15)
    for row, cells in enumerate(table):
        for column, text in enumerate(cells):
            place = struct.pack("<4i", column * 9, row * 5, column * 9 + 9, row * 5 + 5)
            kind = _record(0xF9F, struct.pack("<I", 4)) + _record(0xFA0, text.encode("utf-16-le"))
            box = _record(0xF00D, kind if text else b"", 15)
            shape = struct.pack("<HHIII", 0x2 | 202 << 4, 0xF00A, 8, 1024 + 8 * row + column, 0xA00)
            shapes += _record(0xF004, shape + _record(0xF00F, place) + box, 15)
    group = _record(0xF003, _record(0xF003, shapes, 15), 15)
    return _record(0x40C, _record(0xF002, group, 15), 15)


def _record(kind: int, content: bytes, version: int = 0) -> bytes:
    return struct.pack("<HHI", version, kind, len(content)) + content
