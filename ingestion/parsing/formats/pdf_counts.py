"""The contents of a PDF, counted in its bytes, because libraries drop parts without notice.

Regular expressions suffice: a count may be slightly wrong, and only decides about a warning.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection

from ingestion.domain import Completeness, Unit, Why
from ingestion.parsing.limits import MIB
from ingestion.parsing.protocol import Source

_IMAGE = re.compile(rb"/Subtype\s*/Image\b")
_MASK = re.compile(rb"/SMask\s+\d+\s+\d+\s+R")
_OBJECT = re.compile(rb"(?<!\d)(\d{1,8})\s+\d{1,5}\s+obj\b")
_CONTENTS = re.compile(rb"/Contents\s*(?:\[([^\]]{0,9999})\]|(\d{1,8}\s+\d{1,5}\s+R))")
_REFERENCE = re.compile(rb"(\d{1,8})\s+\d{1,5}\s+R")
_OBJECT_STREAM = re.compile(rb"/Type\s*/ObjStm\b")
_OTHER_FILTER = re.compile(rb"/(?:ASCII85|ASCIIHex|LZW|RunLength|Crypt)")
# Of a dictionary, and of an inflated stream: guesses. A larger file is not examined.
_LONGEST_HEAD, _MOST_INFLATED, _LARGEST_PDF = 2_000, 16 * MIB, 100 * MIB


def has_damaged_contents(data: bytes) -> bool:
    """Whether a stream that a page of a PDF names as its contents is missing or broken.

    False of an encrypted file, whose streams cannot be examined.
    """
    if b"/Encrypt" in data or len(data) > _LARGEST_PDF:
        return False
    places = {int(match[1]): match.end() for match in _OBJECT.finditer(data)}
    streams = (match.start() for match in _OBJECT_STREAM.finditer(data))
    packed = [_stream(data, data.rfind(b"obj", 0, place) + 3) or b"" for place in streams]
    named = {
        int(number)
        for text in (data, *packed)
        for several, one in _CONTENTS.findall(text)
        for number in _REFERENCE.findall(several or one)
    }
    return any(_stream(data, places.get(number, -1)) is None for number in named)


def _stream(data: bytes, place: int) -> bytes | None:
    """The inflated stream of the object at `place`, empty if it has none or another filter.

    None if it is missing or broken.
    """
    if place < 0:
        return None
    head, stream, _ = data[place : place + _LONGEST_HEAD].partition(b"stream")
    if not stream or b"endobj" in head or b"/FlateDecode" not in head or _OTHER_FILTER.search(head):
        return b""
    start = place + len(head) + len(stream)
    end = data.find(b"endstream", start)
    if end < 0:
        return None
    try:
        inflater = zlib.decompressobj()
        text = inflater.decompress(data[start:end].lstrip(b"\r\n"), _MOST_INFLATED)
        return text if text or inflater.eof else None
    except zlib.error:
        return None


def note_pages(
    completeness: Completeness, source: Source, read: Collection[int], gaps: tuple[list[int], ...]
) -> None:
    """Record a PDF's pages without text, and its pictures.

    `read` are the readable pages. `gaps` are the readable pages without text, and those of them
    with an image that OCR did not read. PDFium shows a page with damaged contents as blank, so it
    is not known which pages are damaged.
    """
    (empty, scanned), ocr, data = gaps, source.ocr, source.path.read_bytes()
    completeness.pictures = len(_IMAGE.findall(data)) - len(_MASK.findall(data))
    blank = [number for number in empty if number not in {*scanned, *ocr.wanted}]
    missing = [number for number in range(1, completeness.total + 1) if number not in read]
    if blank and has_damaged_contents(data):
        blank, missing = [], sorted(missing + blank)
    why = Why.OCR_LIMIT if ocr.wanted else Why.OCR_FAILED if ocr.languages else Why.NO_OCR
    completeness.add(Unit.PAGE, Why.DAMAGED, missing)
    completeness.add(Unit.PAGE, Why.BLANK, blank)
    for number in empty:
        if number in scanned:
            is_beyond = number not in ocr.wanted
            completeness.add(Unit.PAGE, why if is_beyond else Why.OCR_FAILED, [number])
        elif number in ocr.wanted:
            completeness.add(Unit.PAGE, Why.WORDLESS, [number])
