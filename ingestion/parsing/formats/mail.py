"""E-mail (EML) -> subject as title, sender and date, the best body, attachments as parts."""

from __future__ import annotations

import codecs
import email
import io
import mimetypes
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from email.errors import CloseBoundaryNotFoundDefect, HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from ingestion.domain import Block, BlockKind, Unit, Why
from ingestion.errors import ParseFailed, ParseLimitExceeded
from ingestion.files.filetypes import HEAD_BYTES, unmarked_codec
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.inner_files import PartKeeper
from ingestion.parsing.formats.markup import HtmlParser, decode_html
from ingestion.parsing.formats.office_counts import note_parts
from ingestion.parsing.formats.pandoc_tree import strip_tags
from ingestion.parsing.formats.subtitles import unfolded
from ingestion.parsing.formats.text import paragraph_blocks
from ingestion.parsing.formats.tnef import NotTnef, tnef_parts
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source, StatedMetadata

_HEADERS = ("From", "To", "Cc", "Date")
_DEEPEST = 50
# Shares of words that one form of a message has and the other lacks: guesses.
_LITTLE, _MUCH = 0.1, 0.5
_ADDRESS = re.compile(r"://|mailto:|cid:")
_CONTEXT_BYTES = 20_000
# 7-bit encodings look like ASCII, so their declaration must be trusted.
_SEVEN_BIT = {"utf-7": "utf-7", "unicode-1-1-utf-7": "utf-7", "hz-gb-2312": "hz"}
_SIGNATURE = "-- "
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PAGE_FILES = ("text/css", "text/xml")  # of a page saved as one file
_TNEF = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_ENCRYPTED = frozenset(
    {"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"}
)


_SIGNATURES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)


class MailParser:
    """One message; attached messages become sections, other attachments parts."""

    name = "email"

    def extract(self, source: Source) -> Extraction:
        data = source.path.read_bytes()
        if data.startswith(_UTF16) or unmarked_codec(data[:HEAD_BYTES]):
            data = decode(data).encode("utf-8", "replace")
        # A byte order mark before the first header would turn all headers into text.
        return read_message(email.message_from_bytes(data.removeprefix(codecs.BOM_UTF8)), source)


def read_message(message: Message, source: Source) -> Extraction:
    """The blocks, metadata and attachments of a parsed message."""
    extraction = Extraction(iter(()), _metadata(message))
    reader = _MessageReader(source, extraction)
    extraction.blocks = reader.blocks(message)
    return extraction


def header(message: Message, name: str) -> str:
    """A decoded header field in one line; empty if it is missing."""
    for key, raw in message.raw_items():
        if key.lower() == name.lower():
            return " ".join(_decoded(str(raw), message).split())
    return ""


def _decoded(raw: str, message: Message) -> str:
    data = raw.encode("utf-8", "surrogateescape")
    if not data.isascii() or b"\x1b" in data:
        return _undeclared(data.replace(b"\r", b" ").replace(b"\n", b" "), message)
    try:
        # It drops the space that begins a folded line before an encoded word.
        parts = decode_header(raw.replace("\r", "").replace("\n", ""))
    except (HeaderParseError, ValueError):
        return raw
    return "".join(
        part if isinstance(part, str) else _text(part, charset or "") for part, charset in parts
    )


def _undeclared(data: bytes, message: Message) -> str:
    """A header of raw non-ASCII bytes, decoded: a common violation of the standard.

    A subject is too short for detection, so the message's text is taken as context.
    """
    if b"\x1b" not in data:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    texts = (part for part in message.walk() if part.get_content_maintype() == "text")
    part = next(texts, message)
    body = part.get_payload(decode=True)
    context = body[:_CONTEXT_BYTES] if isinstance(body, bytes) else b""
    return decode(data + b"\n" + context, part.get_content_charset("")).split("\n")[0]


def _text(data: bytes, charset: str) -> str:
    if codec := _SEVEN_BIT.get(charset.lower()):
        return data.decode(codec, "replace").replace("\r\n", "\n")
    return decode(data, charset)


def _metadata(message: Message) -> StatedMetadata:
    try:
        created = parsedate_to_datetime(header(message, "Date")).isoformat()
    except (TypeError, ValueError, OverflowError):
        created = ""
    return StatedMetadata(
        title=header(message, "Subject"),
        author=header(message, "From"),
        language=header(message, "Content-Language").split(",")[0],
        created=created,
    )


class _MessageReader:
    """Walks the parts of a message in their order."""

    def __init__(self, source: Source, extraction: Extraction) -> None:
        self._source = source
        self._limits: ParseLimits = source.limits
        self._extraction = extraction
        self._warnings = extraction.warnings
        self._completeness = extraction.completeness
        self._completeness.unit = Unit.MESSAGE
        self._parts = 0
        self._message = Message()
        self._keeper = PartKeeper(source.scratch, source.limits)

    def blocks(self, message: Message) -> Iterator[Block]:
        """All blocks; attachments and warnings are complete after the last one."""
        yield from self.message(message, 1)
        self._extraction.parts += self._keeper.parts
        self._warnings += self._keeper.warnings()
        note_parts(self._completeness, self._keeper)

    def message(self, message: Message, level: int) -> Iterator[Block]:
        """Subject, header lines, body, attached messages, then the other attachments' names."""
        self._completeness.total += 1
        subject = header(message, "Subject") or ("Attached message" if level > 1 else "")
        if subject:
            yield Block(BlockKind.HEADING, subject, level=min(level, 6))
        lines = [f"{name}: {text}" for name in _HEADERS if (text := header(message, name))]
        if lines:
            yield Block(BlockKind.PARAGRAPH, "\n".join(lines))
        attachments: list[str] = []
        attached: list[Message] = []
        self._message = message
        # Headings of the body are below the subject.
        yield from self._part(message, attachments, attached, level - (not subject))
        for inner in attached:
            yield from self.message(inner, level + 1)
        if attachments:
            yield Block(BlockKind.PARAGRAPH, f"Attachments: {', '.join(attachments)}")

    def _part(
        self, part: Message, attachments: list[str], attached: list[Message], level: int
    ) -> Iterator[Block]:
        self._count(level)
        kind = part.get_content_type()
        if any(isinstance(one, CloseBoundaryNotFoundDefect) for one in part.defects):
            self._completeness.add(Unit.MESSAGE, Why.CUT_OFF, count=1)
        if _is_encrypted(part):
            self._completeness.add(Unit.MESSAGE, Why.ENCRYPTED, count=1)
            self._warnings.append(
                "The message is encrypted: only its headers and unencrypted parts were indexed. "
                "Export it decrypted to make its text searchable."
            )
        if kind == "multipart/alternative" and _children(part):
            chosen, words = self._chosen(part)
            for child in _children(part):
                # An invitation says where and when.
                if child is chosen or child.get_content_type() == "text/calendar":
                    yield from self._part(child, attachments, attached, level)
                elif words and child.get_content_type() == "text/plain":
                    blocks = self._part(child, attachments, attached, level)
                    yield from (one for one in blocks if _lacking(_words(one.text), words))
        elif kind == "message/rfc822" and part.is_multipart():
            attached += _children(part)
        elif part.is_multipart():
            for child in _children(part):
                yield from self._part(child, attachments, attached, level)
        elif inner := self._tnef(part):
            yield from self._part(inner, attachments, attached, level + 1)
        elif name := _file_name(part):
            attachments.append(name)
            self._attached(part, name)
        elif kind == "text/html":
            yield from self._html(_payload(part), level)
        elif kind.startswith(("text/", "multipart/")) and kind not in _PAGE_FILES:
            # A multipart without a boundary is read as plain text.
            yield from paragraph_blocks(unfolded(_plain(part)))

    def _tnef(self, part: Message) -> Message | None:
        """The parts in Outlook's winmail.dat; None if the part is another, or damaged."""
        name = _file_name(part).lower()
        if part.get_content_type() not in _TNEF and name not in ("winmail.dat", "win.dat"):
            return None
        with suppress(NotTnef):
            has_text = any(_is_text(each) for each in self._message.walk())
            return tnef_parts(_payload(part), with_body=not has_text)
        return None

    def _attached(self, part: Message, name: str) -> None:
        """Keep an attachment as a part, unless it only decorates or signs the text."""
        path = self._keeper.place(_with_extension(part, name))
        payload = part.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
        if _is_decoration(part):
            self._completeness.pictures += part.get_content_maintype() == "image"
            return
        self._keeper.keep(path, io.BytesIO(data))

    def _count(self, depth: int) -> None:
        self._parts += 1
        if depth > _DEEPEST or self._parts > self._limits.archive_entries:
            raise ParseLimitExceeded(
                "This message has too many parts, or they are nested too deeply. "
                "Save the attached messages as separate files."
            )

    def _chosen(self, part: Message) -> tuple[Message, frozenset[str]]:
        """The plain text, which lacks the layout tables of HTML, if that says little more; else the
        HTML, with its words if the plain text says what it does not.
        """
        children = _children(part)
        leaves = {child.get_content_type(): child for child in children}
        plain = leaves.get("text/plain")
        rich = leaves.get("text/html") or next((c for c in children if c.is_multipart()), None)
        if plain is None or rich is None:
            return plain or rich or children[0], frozenset()
        page = next((one for one in rich.walk() if one.get_content_type() == "text/html"), None)
        words = _words(strip_tags(decode_html(_payload(page)))) if page is not None else []
        others = _words(_plain(plain))
        if (lacking := _lacking(words, others)) <= _LITTLE:
            return plain, frozenset()
        is_rich = lacking > _MUCH or _lacking(others, words) <= _LITTLE
        return rich, frozenset(() if is_rich else words)

    def _html(self, data: bytes, level: int) -> Iterator[Block]:
        path = self._source.scratch / f"body-{self._parts}.html"
        path.write_bytes(data)
        source = Source(path, self._source.file_type, self._limits, self._source.scratch)
        try:
            body = HtmlParser().extract(source)
            self._warnings += body.warnings
            for block in body.blocks:
                below = min(level + block.level, 6)
                is_heading = block.kind is BlockKind.HEADING
                yield replace(block, level=below) if is_heading else block
        except ParseLimitExceeded:
            raise
        except ParseFailed:
            yield from paragraph_blocks(strip_tags(decode_html(data)))


def _children(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [one for one in payload if isinstance(one, Message)] if isinstance(payload, list) else []


def _file_name(part: Message) -> str:
    name = part.get_filename() or ""
    if not name and part.get_content_disposition() == "attachment":
        name = f"unnamed {part.get_content_type()}"
    return " ".join(_decoded(name, part).split())


def _with_extension(part: Message, name: str) -> str:
    """The name; for an unnamed attachment, a name with the extension of its type."""
    if not name.startswith("unnamed "):
        return name
    return f"attachment{mimetypes.guess_extension(part.get_content_type()) or ''}"


def _is_text(part: Message) -> bool:
    """Whether the part is a text that is shown, with a word in it."""
    is_text = part.get_content_maintype() == "text" and not part.is_multipart()
    return is_text and not _file_name(part) and bool(strip_tags(_plain(part)))


def _is_encrypted(part: Message) -> bool:
    # Opaquely signed messages share the type of encrypted ones.
    return part.get_content_type() in _ENCRYPTED and part.get_param("smime-type") != "signed-data"


def _is_decoration(part: Message) -> bool:
    """Whether a part is an inline picture, a signature, or encrypted (which has its warning)."""
    kind = part.get_content_type()
    if kind in _SIGNATURES or _is_encrypted(part):
        return True
    inline = part.get_content_disposition() == "inline" or part.get("Content-ID") is not None
    return inline and part.get_content_maintype() == "image"


def _payload(part: Message) -> bytes:
    """The part's bytes; HTML is re-encoded from the header's charset to UTF-8."""
    data = part.get_payload(decode=True)
    data = data if isinstance(data, bytes) else b""
    charset = part.get_content_charset("")
    if part.get_content_type() == "text/html" and charset:
        return _text(data, charset).encode("utf-8", "replace")
    return data


def _words(text: str) -> list[str]:
    """The words of a text without its addresses, which HTML has in its links, and its signs."""
    parts = text.casefold().replace("\u00ad", "").split()
    return re.findall(r"[^\W_]+", " ".join(one for one in parts if not _ADDRESS.search(one)))


def _lacking(words: Sequence[str], others: Iterable[str]) -> float:
    """The share of words, in [0, 1], that others do not have."""
    known = frozenset(others)
    return sum(word not in known for word in words) / max(len(words), 1)


def _plain(part: Message) -> str:
    text = _text(_payload(part), part.get_content_charset(""))
    if str(part.get_param("format")).lower() != "flowed":
        return text
    return _unfolded(text, deletes_space=str(part.get_param("delsp")).lower() == "yes")


def _unfolded(text: str, *, deletes_space: bool) -> str:
    """The paragraphs of flowed text (RFC 3676) as lines, each with its depth of quotation.

    A line that ends with a space continues on the next one of its depth. The space belongs to the
    text, unless `deletes_space`; a space that begins a line is stuffing.
    """
    lines: list[list[str]] = []
    continues = -1  # the depth of the line before, if it goes on
    for line in text.replace("\r\n", "\n").split("\n"):
        content = line.lstrip(">")
        depth, content = line[: len(line) - len(content)], content.removeprefix(" ")
        is_signature = content == _SIGNATURE
        is_soft = content.endswith(" ") and not is_signature
        content = content[:-1] if is_soft and deletes_space else content
        if continues == len(depth) and not is_signature:
            lines[-1].append(content)
        else:
            lines.append([f"{depth} {content}" if depth else content])
        continues = len(depth) if is_soft else -1
    return "\n".join(map("".join, lines))


PARSER = MailParser()
