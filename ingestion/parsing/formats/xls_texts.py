"""The texts beside the cells of an XLS, which anydoc leaves out: comments, boxes, titles of charts.

The stream of a workbook is a list of records ([MS-XLS] 2.4), those of its sheets one after another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import unpack_from

from ingestion.parsing.formats.asides import comment_text
from ingestion.parsing.formats.doc_margins import DAMAGES

_STREAM = "Workbook"
_BEGIN, _END, _SHEET, _OBJECT, _TEXT, _CONTINUED = 0x809, 0x0A, 0x85, 0x5D, 0x1B6, 0x3C
_NOTE, _TITLE = 0x1C, 0x100D


def texts_of(path: Path) -> dict[str, list[str]]:
    """The texts beside the cells by sheet, each once, comments with their author.

    Of a damaged file those before the damage.
    """
    import olefile

    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    with suppress(*DAMAGES), olefile.OleFileIO(str(path)) as container:
        for sheet, text in _texts(container.openstream(_STREAM).read()):
            if text := " ".join(text.split()):
                texts[sheet][text] = None
    return {sheet: list(each) for sheet, each in texts.items()}


def _texts(workbook: bytes) -> Iterator[tuple[str, str]]:
    """Yield each text with its sheet's name."""
    names: dict[int, str] = {}
    boxes: dict[int, str] = {}  # by the number of their object
    sheet, number, left = "", 0, 0
    for place, code, data in _records(workbook):
        if code == _SHEET:
            names[unpack_from("<I", data)[0]] = _decoded(data[7:])
        elif code == _BEGIN:
            sheet = names.get(place, sheet)
        elif code == _OBJECT:
            (number,) = unpack_from("<H", data, 6)
        elif code == _TEXT:
            (left,) = unpack_from("<H", data, 10)
            boxes[number] = ""
        elif code == _CONTINUED and left > 0:
            boxes[number] += (piece := _decoded(data))
            left -= len(piece)
        elif code == _NOTE:
            box, length = unpack_from("<2H", data, 6)
            yield sheet, comment_text(_decoded(data[10:])[:length], boxes.pop(box, ""))
        elif code == _TITLE:
            yield sheet, _decoded(data[3:])
        elif code == _END:
            yield from ((sheet, text) for text in boxes.values())
            boxes.clear()


def _records(workbook: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the place, the kind and the content of each record."""
    place = 0
    while place + 4 <= len(workbook):
        code, length = unpack_from("<2H", workbook, place)
        yield place, code, workbook[place + 4 : place + 4 + length]
        place += 4 + length


def _decoded(text: bytes) -> str:
    """A text behind the byte that says whether its characters have two bytes."""
    return text[1:].decode("utf-16-le" if text[:1] == b"\1" else "cp1252", "replace")
