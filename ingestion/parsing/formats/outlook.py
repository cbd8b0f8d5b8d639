"""Outlook's MSG -> an equivalent MIME message, which `mail` reads.

python-oxmsg opens the container. Its convenience properties fail on a message whose encoding
differs from the stated one, so the properties are read one by one here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from ingestion.domain import Unit, Why
from ingestion.errors import DamagedFile, ParseLimitExceeded
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.mail import read_message
from ingestion.parsing.formats.mime import alternatives, attachment, leaf
from ingestion.parsing.formats.tnef import RTF_NAME, NotTnef, plain_rtf
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source

# MAPI's numbers of properties, [MS-OXPROPS].
_SUBJECT, _BODY, _HTML, _HTML_STRING, _RTF = 0x0037, 0x1000, 0x1013, 0x1013, 0x1009
_CLASS, _HEADERS, _SENT, _DELIVERED = 0x001A, 0x007D, 0x0039, 0x0E06
_SENDER_NAME, _SENDER_SMTP, _SENDER_ADDRESS = 0x0C1A, 0x5D01, 0x0C1F
_ORIGINATOR_NAME, _ORIGINATOR_ADDRESS = 0x0042, 0x0065
_NAME, _SMTP, _ADDRESS, _RECIPIENT_KIND = 0x3001, 0x39FE, 0x3003, 0x0C15
_ATTACHMENT_DATA, _LONG_NAME, _SHORT_NAME, _MIME, _CONTENT_ID, _HIDDEN = (
    *(0x3701, 0x3707, 0x3704, 0x370E, 0x3712, 0x7FFE),
)
_RECIPIENT_FIELDS = {1: "To", 2: "Cc"}
# Offset of the properties in the top message, an embedded message, recipients and attachments.
_TOP, _EMBEDDED, _PART = 32, 24, 8
_DEEPEST = 10
_PROPERTIES = "__properties_version1.0"

_UNREADABLE = (
    *(OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError),
    *(struct.error, OverflowError, LookupError),
)
"""Errors of olefile and oxmsg for a damaged container."""


class OutlookParser:
    """The same blocks as for other e-mail: subject, header lines, the best body, attachments."""

    name = "oxmsg"

    def extract(self, source: Source) -> Extraction:
        notes = Extraction(iter(()))
        try:
            root = _root(source.path, notes)
            message = _message(_Properties(root, _TOP), source.limits, notes, 1)
        except _UNREADABLE as error:
            raise DamagedFile(
                "This Outlook message is damaged and cannot be opened. Open it in Outlook, save "
                "it again and upload the new file."
            ) from error
        extraction = read_message(message, source)
        extraction.warnings += notes.warnings
        extraction.completeness.gaps += notes.completeness.gaps
        return extraction


def _root(path: Path, notes: Extraction) -> Any:
    from olefile import OleFileIO
    from oxmsg.storage import Storage

    with OleFileIO(str(path)) as container:
        if not container.exists(_PROPERTIES) and not container.parsing_issues:
            raise DamagedFile(
                "This file has the extension of an Outlook message but is not one. Open it in the "
                "program it was made with, and save it with the right extension."
            )
        if container.parsing_issues:
            notes.completeness.add(Unit.MESSAGE, Why.CUT_OFF, count=1)
            notes.warnings.append(
                "The message is damaged, probably cut off: some of it could not be read. Save it "
                "again in Outlook and upload the new file."
            )
        return Storage.from_ole(container)


class _Properties:
    """The properties of a message, a recipient or an attachment; missing ones are empty."""

    def __init__(self, storage: Any, offset: int) -> None:
        from oxmsg.properties import Properties

        self.storage = storage
        self._properties = Properties(storage, properties_header_offset=offset)

    def text(self, *numbers: int) -> str:
        """The first of these properties that is a non-empty text."""
        for number in numbers:
            if (data := self._stream(number, 0x001F)) is not None:
                text = data.decode("utf-16-le", "replace")
            elif (data := self._stream(number, 0x001E)) is not None:
                text = decode(data, self.encoding)
            else:
                continue
            if text := text.rstrip("\x00"):
                return text
        return ""

    def data(self, number: int) -> bytes:
        return self._stream(number, 0x0102) or b""

    def number(self, number: int) -> int:
        try:
            return int(self._properties.int_prop_value(number) or 0)
        except _UNREADABLE:
            return 0

    def date(self, *numbers: int) -> str:
        """The first of these dates in the format of mail headers."""
        for number in numbers:
            try:
                if moment := self._properties.date_prop_value(number):
                    return format_datetime(moment)
            except _UNREADABLE:
                continue
        return ""

    @property
    def encoding(self) -> str:
        """The encoding of texts that are not Unicode; empty if unknown."""
        try:
            return str(self._properties.body_encoding)
        except Exception:  # its errors share no narrower base class
            return ""

    def _stream(self, number: int, kind: int) -> bytes | None:
        try:
            data = self.storage.property_stream_bytes(number, kind)
        except KeyError:
            return None
        return data if isinstance(data, bytes) else None


def _message(
    properties: _Properties, limits: ParseLimits, notes: Extraction, depth: int
) -> Message:
    if depth > _DEEPEST:
        raise ParseLimitExceeded(
            "Messages are nested too deeply in this one. Save them as separate files."
        )
    message = Message()
    for name, value in _headers(properties):
        message[name] = " ".join(value.split())
    message["Content-Type"] = "multipart/mixed"
    message.attach(_body(properties, notes))
    for storage in properties.storage.iter_attachment_storages():
        attachment = _Properties(storage, _PART)
        message.attach(_attachment(attachment, limits, notes, depth))
    return message


def _headers(properties: _Properties) -> Iterator[tuple[str, str]]:
    yield "Subject", properties.text(_SUBJECT)
    yield "From", _sender(properties)
    recipients: dict[str, list[str]] = {}
    for storage in properties.storage.iter_recipient_storages():
        recipient = _Properties(storage, _PART)
        field = _RECIPIENT_FIELDS.get(recipient.number(_RECIPIENT_KIND))
        if field:
            address = _address(recipient.text(_NAME), recipient.text(_SMTP, _ADDRESS))
            recipients.setdefault(field, []).append(address)
    for field, addresses in sorted(recipients.items(), reverse=True):
        yield field, ", ".join(addresses)
    yield "Date", properties.date(_SENT, _DELIVERED)


def _sender(properties: _Properties) -> str:
    name = properties.text(_SENDER_NAME, _ORIGINATOR_NAME)
    return _address(name, properties.text(_SENDER_SMTP, _SENDER_ADDRESS, _ORIGINATOR_ADDRESS))


def _address(name: str, address: str) -> str:
    """ "Ada Weigher <ada@example.org>", or the name alone for Exchange's "/O=…" addresses."""
    if "@" not in address or address == name:
        return name or address
    return f"{name} <{address}>" if name else address


def _body(properties: _Properties, notes: Extraction) -> Message:
    """The plain text and HTML that exist, as alternatives."""
    if properties.text(_CLASS).upper().startswith("IPM.NOTE.SMIME"):
        notes.completeness.add(Unit.MESSAGE, Why.ENCRYPTED, count=1)
        notes.warnings.append(
            "The message is encrypted, or signed in a way that hides its text: only its headers "
            "were indexed. Save it decrypted to make its text searchable."
        )
    html = properties.data(_HTML)
    page = html if html.strip() else properties.text(_HTML_STRING)
    if parts := alternatives(properties.text(_BODY), page, properties.encoding):
        return MIMEMultipart("alternative", _subparts=parts)
    rtf = properties.data(_RTF)
    with suppress(NotTnef):
        return attachment(RTF_NAME, plain_rtf(rtf), "application/rtf")
    if rtf:
        notes.completeness.add(Unit.MESSAGE, Why.UNSUPPORTED, count=1)
        notes.warnings.append(
            "The text of this message exists as rich text (RTF) only and was not read. In "
            "Outlook, change its format to HTML or plain text and save it again."
        )
    return leaf("text/plain", b"", "utf-8")


def _attachment(
    properties: _Properties, limits: ParseLimits, notes: Extraction, depth: int
) -> Message:
    """An attached message, or an attached file."""
    for storage in properties.storage.storages:
        if storage.name == f"__substg1.0_{_ATTACHMENT_DATA:04X}000D":
            inner = _Properties(storage, _EMBEDDED)
            if inner.text(_CLASS) or inner.text(_SUBJECT, _BODY):
                return MIMEMessage(_message(inner, limits, notes, depth + 1))
    kind = properties.text(_MIME)
    name = properties.text(_LONG_NAME, _SHORT_NAME)
    decorates = bool(properties.text(_CONTENT_ID) or properties.number(_HIDDEN))
    is_inline = decorates and kind.startswith("image/")
    return attachment(name, properties.data(_ATTACHMENT_DATA), kind, is_inline=is_inline)


PARSER = OutlookParser()
