"""The headers, footers, comments and text boxes of a DOC, which anydoc leaves out.

So is what tracked changes deleted, which anydoc reads.

The file keeps them behind its body as texts of their own, and says where each header begins
([MS-DOC] 2.3, 2.4.1, 2.8.22).
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.page_margins import is_margin_text

if TYPE_CHECKING:
    import olefile

# Of the file information block: the lengths of the texts, and where two tables are.
_LENGTHS, _HEADERS, _RUNS, _PIECES = 0x4C, 0xF2, 0xFA, 0x1A2
_FLAGS, _OTHER_TABLE = 0x0A, 0x0200
# Separators of notes; then of each section headers of even and odd pages, footers of both, and a
# header and a footer of the first page.
_NO_HEADERS, _SECTION, _ARE_FOOTERS = 6, 6, (2, 3, 5)
_COMPRESSED = 0x40000000
# The properties of runs are in pages, each run's a list of codes and operands. That it is deleted
# is one of them; the length of an operand is in the first bits of its code, 6 of those one byte.
_PAGE, _DELETED = 512, (0x0800, b"\x01")
_OPERANDS = (1, 1, 2, 4, 2, 2, 0, 3)
_MOST_HEADERS = 10_000
_PAGE_NUMBER = re.compile(r"\x13\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b[^\x15]*\x15")
_INSTRUCTION = re.compile(r"\x13[^\x13\x14\x15]*[\x14\x15]")
_CONTROL = re.compile(r"[\x00-\x1f]+")
DAMAGES = (OSError, struct.error, IndexError, ValueError)
"""What olefile, and the reading of its streams, raise for a damaged Office 97-2003 file."""


def with_margins(path: Path, blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks between headers and footers, each once, and before comments and boxes."""
    headers: dict[str, bool] = {}
    others: list[str] = []
    with suppress(*DAMAGES):
        headers, others = _texts(path)
    yield from _paragraphs(text for text, is_footer in headers.items() if not is_footer)
    yield from blocks
    yield from _paragraphs([*(text for text, is_footer in headers.items() if is_footer), *others])


def _paragraphs(texts: Iterator[str] | list[str]) -> Iterator[Block]:
    return (Block(BlockKind.PARAGRAPH, text) for text in texts)


def _texts(path: Path) -> tuple[dict[str, bool], list[str]]:
    """The headers and footers, and whether each is one of the latter; comments and boxes."""
    import olefile

    with olefile.OleFileIO(str(path)) as container:
        document, table = _streams(container)
    # Places are counted in units of UTF-16, of which an emoji has two.
    units = "".join(_pieces(document, table)).encode("utf-16-le")

    def text(first: int, behind: int) -> str:
        return units[2 * first : 2 * behind].decode("utf-16-le", "replace")

    # Body, notes, headers, macros, comments, notes at the end, boxes in the body.
    lengths = unpack_from("<7I", document, _LENGTHS)
    _, _, start, end, after, last, boxes, behind = accumulate(lengths, initial=0)
    place, size = unpack_from("<2I", document, _HEADERS)
    ends = unpack_from(f"<{min(size // 4, _MOST_HEADERS)}I", table, place)
    headers: dict[str, bool] = {}
    for at, (first, behind) in enumerate(pairwise(ends[_NO_HEADERS:-1])):
        source = text(start + first, min(start + behind, end))
        without = _PAGE_NUMBER.sub("", source)
        words = _plain(without)
        if is_margin_text(words, has_page_number=without != source):
            headers.setdefault(words, at % _SECTION in _ARE_FOOTERS)
    others = [*text(after, last).split("\x05"), *text(boxes, behind).split("\r")]
    return headers, [words for words in map(_plain, others) if words]


def _streams(container: olefile.OleFileIO) -> tuple[bytes, bytes]:
    document = container.openstream("WordDocument").read()
    number = bool(unpack_from("<H", document, _FLAGS)[0] & _OTHER_TABLE)
    return document, container.openstream(f"{number:d}Table").read()


def without_deleted(data: bytes) -> bytes:
    """The file with the letters that tracked changes deleted as characters without a sign."""
    import olefile

    out = io.BytesIO(data)
    with suppress(*DAMAGES), olefile.OleFileIO(out) as container:
        document, table = _streams(container)
        letters = bytearray(document)
        for first, behind in _deleted(document, table):
            # The marks of paragraphs and cells stay.
            count = len(letters[first:behind].rstrip(b"\x00\x07\r"))
            letters[first : first + count] = bytes(count)
        if letters != document:
            container.write_stream("WordDocument", bytes(letters))
    return out.getvalue()


def _deleted(document: bytes, table: bytes) -> Iterator[tuple[int, int]]:
    """Where in the document stream the bytes of deleted runs begin and end."""
    place, size = unpack_from("<2I", document, _RUNS)
    count = (size - 4) // 8
    for number in unpack_from(f"<{count}I", table, place + 4 * (count + 1)):
        page = document[number * _PAGE : (number + 1) * _PAGE]
        runs = page[-1]
        ends = unpack_from(f"<{runs + 1}I", page)
        for span, offset in zip(pairwise(ends), page[4 * (runs + 1) :], strict=False):
            length = page[2 * offset] if offset else 0
            if _DELETED in _properties(page[2 * offset + 1 : 2 * offset + 1 + length]):
                yield span


def _properties(codes: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + 2 < len(codes):
        (code,) = unpack_from("<H", codes, place)
        length = _OPERANDS[code >> 13] or 1 + codes[place + 2]
        yield code, codes[place + 2 : place + 2 + length]
        place += 2 + length


def _pieces(document: bytes, table: bytes) -> Iterator[str]:
    """The text of the whole file, in the order of its characters."""
    (position,) = unpack_from("<I", document, _PIECES)
    while table[position] == 1:  # formats
        position += 3 + unpack_from("<H", table, position + 1)[0]
    (size,) = unpack_from("<I", table, position + 1)
    count = (size - 4) // 12
    ends = unpack_from(f"<{count + 1}I", table, position + 5)
    if list(ends) != sorted(ends) or ends[-1] > len(document):
        raise ValueError
    for at, (first, behind) in enumerate(pairwise(ends)):
        (place,) = unpack_from("<I", table, position + 5 + 4 * (count + 1) + 8 * at + 2)
        length = behind - first
        if place & _COMPRESSED:
            start = (place & ~_COMPRESSED) // 2
            yield document[start : start + length].decode("cp1252", "replace")
        else:
            yield document[place : place + 2 * length].decode("utf-16-le", "replace")


def _plain(text: str) -> str:
    return " ".join(_CONTROL.sub(" ", _INSTRUCTION.sub("", text)).split())
