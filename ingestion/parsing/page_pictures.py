"""One page of a PDF, an image or a deck of slides as a picture, its words with their places.

Runs in the child process: a page is drawn by the same hostile bytes that are parsed.
"""

from __future__ import annotations

import ctypes
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ingestion.errors import DamagedFile, PageNotDrawn
from ingestion.files import filetypes
from ingestion.parsing.formats.image import IMAGE_TYPES, opened_frame
from ingestion.parsing.passage_rectangles import SCALE, Word, is_apart, normal
from ingestion.parsing.protocol import Source

PICTURE_FILE, WORDS_FILE, DECK_FILE = "picture.webp", "words.json", "deck.pdf"
WIDTH = 1200
"""Pixels: three for each of a phone's 390 points, two for each of half a wide window."""
MOST_HEIGHT = 4_000
_QUALITY = 80
# A page of a telephone book has 5,000 words. A guess.
_MOST_CHARACTERS = 60_000
_PAGED = IMAGE_TYPES | {filetypes.PDF.media_type}
# Not PPT, whose slides are not counted.
_DECKS = frozenset({filetypes.PPTX.media_type, filetypes.ODP.media_type})
# PDFium's mark of a hyphen that parts a word at a line's end.
_PARTED = "\x02"


def is_drawn(media_type: str) -> bool:
    """Whether documents of this type have pictures of their pages."""
    return media_type in _PAGED or (media_type in _DECKS and office_library() is not None)


def is_deck(media_type: str) -> bool:
    """Whether documents of this type are slides, which are drawn from a PDF of the whole deck."""
    return media_type in _DECKS


def load() -> None:
    """Import the libraries."""
    import PIL.Image  # noqa: F401
    import pypdfium2  # noqa: F401


def draw(source: Source, page: int) -> dict[str, object]:
    """Write the picture of page `page` (from 1) and its words; return the picture's size.

    Raises ParseFailed.
    """
    if is_deck(source.file_type.media_type):
        picture, words = _pdf_page(_pdf_of_deck(source), page)
    elif source.file_type.media_type in IMAGE_TYPES:
        picture, words = _image(source, page)
    else:
        picture, words = _pdf_page(source.path, page)
    picture.save(source.scratch / PICTURE_FILE, "WEBP", quality=_QUALITY, method=2)
    with (source.scratch / WORDS_FILE).open("w", encoding="utf-8") as file:
        json.dump(words, file, ensure_ascii=False, separators=(",", ":"))
    return {"width": picture.width, "height": picture.height}


def _image(source: Source, page: int) -> tuple[Any, list[Word]]:
    """The frame, fitted into the picture's size, without words."""
    frame = opened_frame(source, page, (WIDTH, MOST_HEIGHT))
    frame.thumbnail((WIDTH, MOST_HEIGHT))
    return frame, []


def _pdf_of_deck(source: Source) -> Path:
    deck = source.scratch / f"source{source.file_type.extension}"
    deck.symlink_to(source.path)  # a stored file may lack the extension
    _write_pdf(deck, source.scratch / DECK_FILE, source.scratch / "profile")
    return source.scratch / DECK_FILE


def _pdf_page(path: Path, number: int) -> tuple[Any, list[Word]]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
        page = document[number - 1]
        width, height = page.get_size()
        if width <= 0 or height <= 0:
            raise DamagedFile("The page has no size.")
        # Of a page of any size, a picture of the same.
        scale = min(WIDTH / width, MOST_HEIGHT / height)
        bitmap = page.render(scale=scale, may_draw_forms=False)
        words = list(_words(page, bitmap))
        return bitmap.to_pil().convert("RGB"), words
    except (pypdfium2.PdfiumError, IndexError) as error:
        raise PageNotDrawn(str(error)) from error


@dataclass(slots=True)
class _Letters:
    """The letters of a word so far, and one box for each line that it is on."""

    text: str = ""
    boxes: list[list[float]] = field(default_factory=list)
    is_parted: bool = False

    def add(self, letter: str, box: list[float]) -> None:
        if not self.boxes or self.is_parted:
            self.boxes.append(box)
        else:
            last = self.boxes[-1]
            last[:2] = map(min, last[:2], box[:2])
            last[2:] = map(max, last[2:], box[2:])
        self.text, self.is_parted = self.text + letter, False

    def word(self) -> Word:
        places = [round(min(max(side, 0.0), SCALE)) for box in self.boxes for side in box]
        return [normal(self.text), *places]


def _words(page: Any, bitmap: Any) -> Iterator[Word]:
    """The words in the order of the file's text, with the boxes of their letters."""
    import pypdfium2.raw as pdfium

    text = page.get_textpage()
    placed = bitmap.get_posconv(page)
    across, down = SCALE / bitmap.width, SCALE / bitmap.height
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    letters = _Letters()
    for at in range(min(text.count_chars(), _MOST_CHARACTERS)):
        letter = chr(pdfium.FPDFText_GetUnicode(text, at))
        if letter == _PARTED:
            letters.is_parted = bool(letters.text)
            continue
        if not letter.isalnum():
            if letters.text and not (letters.is_parted and letter.isspace()):
                yield letters.word()
                letters = _Letters()
            continue
        if letters.text and is_apart(letter):
            yield letters.word()
            letters = _Letters()
        pdfium.FPDFText_GetCharBox(text, at, left, right, bottom, top)
        ends = (
            placed.to_bitmap(left.value, top.value),
            placed.to_bitmap(right.value, bottom.value),
        )
        # Of a turned page, the corners change places.
        (x1, x2), (y1, y2) = (sorted(side) for side in zip(*ends, strict=True))
        letters.add(letter, [x1 * across, y1 * down, x2 * across, y2 * down])
        if is_apart(letter):
            yield letters.word()
            letters = _Letters()
    if letters.text:
        yield letters.word()


# LibreOfficeKit, its C interface, runs within this process. The program `soffice` would run
# beside it and open a socket, which the child's filter of system calls refuses (ADR 58).
# Debian's package keeps its settings and its list of extensions outside of its folder.
OFFICE_FOLDERS = tuple(
    Path(root, "libreoffice") for root in ("/etc", "/usr/share", "/var/lib", "/var/spool")
)
_USUAL_FOLDER = Path("/usr/lib/libreoffice/program")
_LIBRARIES = ("libmergedlo.so", "libsofficeapp.so")
# Places in the tables of functions of LibreOfficeKit.h: its order is the interface.
_LOAD, _ERROR, _SAVE = 2, 3, 2


@cache
def office_library() -> Path | None:
    """LibreOffice's library; None where LibreOffice is not installed."""
    program = shutil.which("soffice")
    folder = Path(program).resolve().parent if program else _USUAL_FOLDER
    return next((folder / name for name in _LIBRARIES if (folder / name).is_file()), None)


def _write_pdf(source: Path, target: Path, profile: Path) -> None:
    """Write the file at `source` as PDF to `target`, with LibreOffice's settings in `profile`.

    Its threads end with the process. Raises PageNotDrawn.
    """
    path = office_library()
    if path is None:
        raise PageNotDrawn("LibreOffice is not installed.")
    start = ctypes.CDLL(str(path)).libreofficekit_hook_2
    start.restype, start.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
    kit = start(bytes(path.parent), profile.as_uri().encode())
    if not kit:
        raise PageNotDrawn("LibreOffice did not start.")
    document = _call_office(kit, _LOAD, ctypes.c_void_p, source.as_uri())
    if not document or not _call_office(
        document, _SAVE, ctypes.c_int, target.as_uri(), "pdf", None
    ):
        raise PageNotDrawn(
            (_call_office(kit, _ERROR, ctypes.c_char_p) or b"").decode("utf-8", "replace")
        )


def _call_office(this: int, place: int, result: type, *texts: str | None) -> Any:
    """The result of the function at `place` of an object of LibreOfficeKit."""
    table = ctypes.cast(this, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    kind = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *[ctypes.c_char_p] * len(texts))
    return kind(table[place])(this, *(text and text.encode() for text in texts))
