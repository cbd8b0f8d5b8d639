"""Outlook's winmail.dat (TNEF, [MS-OXTNEF]) -> the MIME parts in it; compressed RTF -> RTF.

Of tnefparse's 20 example files it reads the same attachments, and a message attached in one of
them. That package gives up on one bad field, and another has to decompress its RTF.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart

from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.mime import alternatives, attachment, leaf

_SIGNATURE = b"\x78\x9f\x3e\x22"
_HEADER = 6
_MESSAGE_LEVEL, _FILE_LEVEL = b"\1", b"\2"
_DEEPEST = 5
# Attributes: of the message, and of its attachments, of which _RENDERING begins a new one.
_SUBJECT, _BODY, _PROPERTIES, _CODE_PAGE = 0x8004, 0x800C, 0x9003, 0x9007
_RENDERING, _FILE_TITLE, _FILE_DATA, _FILE_PROPERTIES = 0x9002, 0x8010, 0x800F, 0x9005
# MAPI's properties and types, [MS-OXPROPS], [MS-OXCDATA].
_MAPI_SUBJECT, _MAPI_BODY, _MAPI_HTML, _MAPI_RTF = 0x0037, 0x1000, 0x1013, 0x1009
_MAPI_CODE_PAGE, _MAPI_DATA, _MAPI_MIME = 0x3FDE, 0x3701, 0x370E
_MAPI_LONG_NAME, _MAPI_SHORT_NAME, _MAPI_CONTENT_ID = 0x3707, 0x3704, 0x3712
_FIXED = {2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 0xA: 4, 0xB: 4, 0x14: 8, 0x40: 8, 0x48: 16}
_STRING, _UNICODE, _BINARY, _OBJECT = 0x1E, 0x1F, 0x102, 0x0D
_SEVERAL, _NAMED, _INTERFACE = 0x1000, 0x8000, 16
_UNREADABLE = (struct.error, ValueError, KeyError, IndexError, RecursionError)


class NotTnef(ValueError):
    """The bytes are damaged, or another format."""


Values = dict[int, bytes | str]


@dataclass
class _File:
    title: str = ""
    data: bytes = b""
    values: Values = field(default_factory=dict)


@dataclass
class _Contents:
    subject: str = ""
    body: bytes = b""
    code_page: str = ""
    values: Values = field(default_factory=dict)
    files: list[_File] = field(default_factory=list)


def tnef_parts(data: bytes, *, with_body: bool, depth: int = 1) -> Message:
    """The body and the attachments as a multipart message with a subject. Raises NotTnef.

    `with_body` is false where the message around it has the same text.
    """
    contents = _contents(data)
    parts = [_body(contents)] if with_body else []
    parts += [_attachment(each, depth) for each in contents.files]
    message = MIMEMultipart("mixed", _subparts=parts)
    message["Subject"] = contents.subject or _text(contents.values.get(_MAPI_SUBJECT), "")
    return message


def _contents(data: bytes) -> _Contents:
    if not data.startswith(_SIGNATURE):
        raise NotTnef
    contents = _Contents()
    try:
        for name, value in _attributes(data):
            _take(contents, name, value)
    except _UNREADABLE as error:
        raise NotTnef from error
    return contents


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    position = _HEADER
    while position + 11 <= len(data):
        _, name, _, size = struct.unpack_from("<BHHI", data, position)
        start = position + 9
        if start + size > len(data):
            raise NotTnef
        yield name, data[start : start + size]
        position = start + size + 2  # a checksum
    if data[position : position + 1] in (_MESSAGE_LEVEL, _FILE_LEVEL):
        raise NotTnef  # cut off


def _take(contents: _Contents, name: int, value: bytes) -> None:
    if name == _RENDERING:
        contents.files.append(_File())
    elif name == _CODE_PAGE:
        contents.code_page = _code_page(struct.unpack_from("<I", value)[0])
    elif name == _SUBJECT:
        contents.subject = _text(value, contents.code_page)
    elif name == _BODY:
        contents.body = value.rstrip(b"\x00")
    elif name == _PROPERTIES:
        contents.values = dict(_values(value, contents.code_page))
    elif name == _FILE_TITLE:
        contents.files[-1].title = _text(value, contents.code_page)
    elif name == _FILE_DATA:
        contents.files[-1].data = value
    elif name == _FILE_PROPERTIES:
        contents.files[-1].values = dict(_values(value, contents.code_page))


def _values(data: bytes, code_page: str) -> Iterator[tuple[int, bytes | str]]:
    """The MAPI properties with their numbers; of several values the last."""
    (count,) = struct.unpack_from("<I", data)
    position = 4
    for _ in range(count):
        kind, number = struct.unpack_from("<HH", data, position)
        position += 4
        if number >= _NAMED:
            by_name, size = struct.unpack_from("<II", data, position + 16)
            position += 24 + (_padded(size) if by_name else 0)
        base = kind & ~_SEVERAL
        size = _FIXED.get(base, 0)
        repeats = 1
        if not size or kind & _SEVERAL:
            (repeats,) = struct.unpack_from("<I", data, position)
            position += 4
        for _ in range(repeats):
            length = size
            if not size:
                (length,) = struct.unpack_from("<I", data, position)
                position += 4
            value = data[position : position + length]
            if len(value) < length:
                raise NotTnef
            position += _padded(length)
            yield number, _value(value, base, code_page)


def _padded(size: int) -> int:
    return size + -size % 4


def _value(value: bytes, kind: int, code_page: str) -> bytes | str:
    if kind == _UNICODE:
        return value.decode("utf-16-le", "replace").rstrip("\x00")
    return _text(value, code_page) if kind == _STRING else value


def _text(value: bytes | str | None, code_page: str) -> str:
    if isinstance(value, bytes):
        value = decode(value.rstrip(b"\x00"), code_page)
    return value or ""


def _code_page(number: int) -> str:
    return "utf-8" if number == 65001 else f"cp{number}"


def _body(contents: _Contents) -> Message:
    """The plain text and HTML that exist, as alternatives; else the RTF as an attached file."""
    values = contents.values
    page = values.get(_MAPI_CODE_PAGE)
    charset = _code_page(int.from_bytes(page, "little")) if isinstance(page, bytes) else ""
    plain = _text(values.get(_MAPI_BODY) or contents.body, charset or contents.code_page)
    parts = alternatives(plain, values.get(_MAPI_HTML, b""), charset)
    rtf = values.get(_MAPI_RTF, b"")
    if not parts and isinstance(rtf, bytes) and rtf:
        return attachment(RTF_NAME, plain_rtf(rtf), "application/rtf")
    return MIMEMultipart("alternative", _subparts=parts or [leaf("text/plain", b"")])


def _attachment(file: _File, depth: int) -> Message:
    stored = file.values.get(_MAPI_DATA, b"")
    inner = stored[_INTERFACE:] if isinstance(stored, bytes) else b""
    if inner.startswith(_SIGNATURE):
        if depth >= _DEEPEST:
            raise NotTnef
        return MIMEMessage(tnef_parts(inner, with_body=True, depth=depth + 1))
    names = (file.values.get(_MAPI_LONG_NAME), file.title, file.values.get(_MAPI_SHORT_NAME))
    name = next((text for each in names if (text := _text(each, ""))), "")
    kind = _text(file.values.get(_MAPI_MIME), "")
    is_inline = bool(file.values.get(_MAPI_CONTENT_ID)) and kind.startswith("image/")
    data = file.data or (stored if isinstance(stored, bytes) else b"")
    return attachment(name or "unnamed", data, kind, is_inline=is_inline)


# Compressed RTF, [MS-OXRTFCP]: references into a ring of 4,096 bytes that begins with these.
RTF_NAME = "message.rtf"
_RING = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern "
    b"\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0"
    b"\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_COMPRESSED, _STORED = b"LZFu", b"MELA"
_RING_SIZE = 4_096


def plain_rtf(data: bytes) -> bytes:
    """The RTF in a message's compressed form. Raises NotTnef."""
    if len(data) < 16 or data[8:12] not in (_COMPRESSED, _STORED):
        raise NotTnef
    size = int.from_bytes(data[4:8], "little")
    if data[8:12] == _STORED:
        return data[16 : 16 + size]
    ring = bytearray(_RING.ljust(_RING_SIZE, b"\x00"))
    write, out, position = len(_RING), bytearray(), 16
    while position < len(data):
        flags = data[position]
        position += 1
        for bit in range(8):
            token = data[position : position + (2 if flags >> bit & 1 else 1)]
            position += len(token)
            if len(token) == 2:
                offset, length = token[0] << 4 | token[1] >> 4, (token[1] & 15) + 2
                if offset == write:
                    return bytes(out)
            elif token and not flags >> bit & 1:
                offset, length = write, 1
                ring[write] = token[0]
            else:
                return bytes(out)
            for step in range(length):
                char = ring[(offset + step) % _RING_SIZE]
                out.append(char)
                ring[write] = char
                write = (write + 1) % _RING_SIZE
    return bytes(out)
