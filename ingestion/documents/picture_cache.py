"""Pictures of pages: drawn when a reader asks for one, kept in a folder of bounded size.

The folder is a cache: it may be emptied at any time. A page is two files, the picture and a JSON
file with its words, which is written last; or the JSON file alone, with the reason why there is no
picture.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import filelock
from django.conf import settings
from django.utils.translation import gettext

from ingestion.errors import PageNotDrawn, ParseFailed, PicturesBusy
from ingestion.files import storage
from ingestion.models import DocumentVersion
from ingestion.parsing.child.sandbox import DrawnPage, draw_page
from ingestion.parsing.limits import MIB, ParseLimits
from ingestion.parsing.ocr import SWITCHED_OFF, Ocr, installed
from ingestion.parsing.page_pictures import DECK_FILE, is_deck, is_drawn
from ingestion.parsing.passage_rectangles import Box, Word, places_of

# Each takes a thread of the web server and up to MEMORY_BYTES: searches must not wait for pictures.
AT_ONCE = 2
BUSY_SECONDS = 3.0
MEMORY_BYTES = 1024 * MIB
# A failure may have a temporary cause, such as a lack of memory.
FAILED_SECONDS = 600
# A guess: LibreOffice converts the whole deck to PDF before the first slide can be drawn.
DECK_FACTOR = 3
# The folder is swept after this many new pictures of a process.
SWEEP_EVERY = 50
# A sweep frees space for more than one picture.
SHARE_AFTER_SWEEP = 0.9

_drawing = threading.BoundedSemaphore(AT_ONCE)
_drawn = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """The picture of one page in WebP, its words with their places, and its size in pixels."""

    content: bytes
    words: tuple[Word, ...]
    width: int
    height: int


def ocr_of_settings(pages: int) -> Ocr:
    """The OCR of scanned pages, or the reason why it is not available."""
    if settings.OCR == "off":
        return Ocr(pages=pages, lacking=SWITCHED_OFF)
    return installed(settings.OCR_LANGUAGES, folder=settings.TESSDATA_PREFIX, pages=pages)


def page_count(version: DocumentVersion | None) -> int:
    """The number of pages that can be drawn; 0 for types of files without pages."""
    if version is None or not version.file or not settings.PAGE_PICTURES_BYTES:
        return 0
    return (version.page_count or 1) if is_drawn(version.media_type) else 0


def picture_of(version: DocumentVersion, page: int) -> Picture:
    """The picture of page `page` (from 1). Raises PageNotDrawn, PicturesBusy.

    The caller checks the permissions.
    """
    folder = _folder(version.sha256)
    outcome = _cached(folder, page)
    if outcome is None:
        with _turn(folder):
            # Another request may have drawn it meanwhile.
            outcome = _cached(folder, page) or _draw(version, page, folder)
    if isinstance(outcome, str):
        raise PageNotDrawn(outcome)
    return outcome


def places_on(version: DocumentVersion, page: int, passage: str) -> list[Box]:
    """The rectangles of a passage on a page, in ten-thousandths of the picture's sides.

    None on a scan, whose picture has no words. Raises PageNotDrawn, PicturesBusy.
    """
    return places_of(passage, picture_of(version, page).words)


def forget(sha256: str) -> None:
    """Remove the pictures of a file that is no longer stored."""
    if sha256:
        shutil.rmtree(_folder(sha256), ignore_errors=True)


def _folder(sha256: str) -> Path:
    return _root() / sha256[:2] / sha256


def _root() -> Path:
    return Path(settings.MEDIA_ROOT) / "pictures"


def _cached(folder: Path, page: int) -> Picture | str | None:
    """The cached picture, or the cached reason why there is none; None on a cache miss."""
    facts, picture = folder / f"{page}.json", folder / f"{page}.webp"
    try:
        facts_read = json.loads(facts.read_text(encoding="utf-8"))
        if "error" in facts_read:
            is_fresh = time.time() - facts.stat().st_mtime < FAILED_SECONDS
            return str(facts_read["error"]) if is_fresh else None
        content = picture.read_bytes()
        os.utime(picture)  # when it was last seen
    except (OSError, ValueError):
        return None
    return Picture(content, tuple(facts_read["words"]), facts_read["width"], facts_read["height"])


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until this process may draw one more page, and for other pages of this file.

    Raises PicturesBusy after BUSY_SECONDS.
    """
    until = time.monotonic() + BUSY_SECONDS
    if not _drawing.acquire(timeout=BUSY_SECONDS):
        raise _busy()
    try:
        with ExitStack() as stack:
            # If the folder is not writable, the page is drawn for each request.
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                lock = filelock.FileLock(folder / "lock", max(until - time.monotonic(), 0))
                try:
                    stack.enter_context(lock)
                except filelock.Timeout:
                    raise _busy() from None
            yield
    finally:
        _drawing.release()


def _busy() -> PicturesBusy:
    return PicturesBusy(gettext("Many pages are being drawn. Try again in a few seconds."))


def _limits(factor: int = 1) -> ParseLimits:
    limits = ParseLimits.of(settings.PARSE_LIMITS)
    seconds = settings.PAGE_PICTURES_SECONDS * factor
    memory = min(limits.memory_bytes, MEMORY_BYTES)
    return replace(limits, wall_seconds=seconds, cpu_seconds=seconds, memory_bytes=memory)


def _draw(version: DocumentVersion, page: int, folder: Path) -> Picture | str:
    """Draw the page in a child process and keep the outcome."""
    try:
        picture = _drawn_page(version, page, folder)
    except (ParseFailed, FileNotFoundError):
        error = gettext(
            "Page %(page)d cannot be shown as a picture: it is damaged, or too large to be drawn. "
            "Its text is not affected, and the original can be downloaded."
        ) % {"page": page}
        _write(folder / f"{page}.json", json.dumps({"error": error}).encode())
        return error
    _write(folder / f"{page}.webp", picture.content)
    facts = {"width": picture.width, "height": picture.height, "words": picture.words}
    _write(folder / f"{page}.json", json.dumps(facts, ensure_ascii=False).encode())
    if not DocumentVersion.objects.filter(file=version.file.name).exists():
        forget(version.sha256)  # deleted meanwhile
    _sweep_now_and_then()
    return Picture(picture.content, picture.words, picture.width, picture.height)


def _drawn_page(version: DocumentVersion, page: int, folder: Path) -> DrawnPage:
    """Draw the page; a slide is drawn from the deck's PDF, which is cached."""
    deck = folder / DECK_FILE
    if is_deck(version.media_type) and deck.is_file():
        return draw_page(deck, deck.name, page, _limits())
    factor = DECK_FACTOR if is_deck(version.media_type) else 1
    with storage.local_copy(str(version.file.name)) as path:
        picture = draw_page(path, version.file_name, page, _limits(factor))
    if picture.deck:
        _write(deck, picture.deck)
    return picture


def _write(path: Path, content: bytes) -> None:
    """Write the file atomically; after an error of the disk it is just not cached."""
    draft = ""
    try:
        handle, draft = tempfile.mkstemp(prefix=".draft-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(draft).replace(path)
    except OSError:
        if draft:
            Path(draft).unlink(missing_ok=True)


def _sweep_now_and_then() -> None:
    global _drawn
    _drawn += 1
    if _drawn % SWEEP_EVERY == 1:
        sweep(settings.PAGE_PICTURES_BYTES)


def sweep(most: int) -> int:
    """Remove the least recently used pictures if all together exceed `most` bytes.

    Return how many bytes were removed.
    """
    files = []
    for path in _root().glob("*/*/*"):
        with suppress(OSError):
            status = path.stat()
            if path.name != "lock":
                files.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in files)
    excess = total - SHARE_AFTER_SWEEP * most if total > most else 0
    removed = 0
    for _, size, path in sorted(files):
        if removed >= excess:
            break
        path.unlink(missing_ok=True)
        removed += size
    return removed
