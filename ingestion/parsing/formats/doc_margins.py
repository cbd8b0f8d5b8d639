"""The headers, footers and comments of a DOC, which anydoc leaves out.

The file keeps them behind its body as texts of their own, and says where each header begins
([MS-DOC] 2.3, 2.4.1, 2.8.22).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from struct import unpack_from

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.page_margins import is_margin_text

# Of the file information block: the lengths of the texts, and where two tables are.
_LENGTHS, _HEADERS, _PIECES = 0x4C, 0xF2, 0x1A2
_FLAGS, _OTHER_TABLE = 0x0A, 0x0200
# Separators of notes; then of each section headers of even and odd pages, footers of both, and a
# header and a footer of the first page.
_NO_HEADERS, _SECTION, _ARE_FOOTERS = 6, 6, (2, 3, 5)
_COMPRESSED = 0x40000000
_MOST_HEADERS = 10_000
_PAGE_NUMBER = re.compile(r"\x13\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b[^\x15]*\x15")
_INSTRUCTION = re.compile(r"\x13[^\x13\x14\x15]*[\x14\x15]")
_CONTROL = re.compile(r"[\x00-\x1f]+")


def with_margins(path: Path, blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks between the headers and the footers of the pages, each once, and the comments."""
    headers: dict[str, bool] = {}
    comments: list[str] = []
    with suppress(OSError, struct.error, IndexError, ValueError):
        headers, comments = _texts(path)
    yield from _paragraphs(text for text, is_footer in headers.items() if not is_footer)
    yield from blocks
    yield from _paragraphs([*(text for text, is_footer in headers.items() if is_footer), *comments])


def _paragraphs(texts: Iterator[str] | list[str]) -> Iterator[Block]:
    return (Block(BlockKind.PARAGRAPH, text) for text in texts)


def _texts(path: Path) -> tuple[dict[str, bool], list[str]]:
    """The headers and footers, and whether each is one of the latter; the comments."""
    import olefile

    with olefile.OleFileIO(str(path)) as container:
        document = container.openstream("WordDocument").read()
        number = bool(unpack_from("<H", document, _FLAGS)[0] & _OTHER_TABLE)
        table = container.openstream(f"{number:d}Table").read()
    text = "".join(_pieces(document, table))
    # Body, notes, headers, macros, comments.
    _, _, start, end, after, last = accumulate(unpack_from("<5I", document, _LENGTHS), initial=0)
    place, size = unpack_from("<2I", document, _HEADERS)
    ends = unpack_from(f"<{min(size // 4, _MOST_HEADERS)}I", table, place)
    headers: dict[str, bool] = {}
    for at, (first, behind) in enumerate(pairwise(ends[_NO_HEADERS:-1])):
        source = text[start:end][first:behind]
        without = _PAGE_NUMBER.sub("", source)
        words = _plain(without)
        if is_margin_text(words, has_page_number=without != source):
            headers.setdefault(words, at % _SECTION in _ARE_FOOTERS)
    comments = map(_plain, text[after:last].split("\x05"))
    return headers, [comment for comment in comments if comment]


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
