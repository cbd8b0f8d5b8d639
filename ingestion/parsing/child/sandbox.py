"""Run the parser of one file in a child process, and read its result."""

from __future__ import annotations

import io
import json
import logging
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

from ingestion import errors
from ingestion.domain import Completeness, ParsedDocument, Part
from ingestion.files.filetypes import HEAD_BYTES, FileType, sniff
from ingestion.parsing.child.child import BLOCKS_FILE, OUTCOME_FILE, PANICKED, decode_blocks
from ingestion.parsing.child.deaths import death
from ingestion.parsing.child.fork_client import run_in_child
from ingestion.parsing.child.privileges import spare_account
from ingestion.parsing.child.scratch import (
    STRANGE_RESULT,
    hand_over,
    opened_result,
    scratch_directory,
)
from ingestion.parsing.formats.inner_files import PARTS_FOLDER, safe_path, unique_path
from ingestion.parsing.limits import MIB, ParseLimits
from ingestion.parsing.ocr import Ocr
from ingestion.parsing.page_pictures import DECK_FILE, PICTURE_FILE, WORDS_FILE, is_deck
from ingestion.parsing.passage_rectangles import Word

logger = logging.getLogger(__name__)

# Title, author and warnings take far less.
_LARGEST_OUTCOME = 16 * MIB
# A picture of 1,200 by 4,000 pixels of noise.
_LARGEST_PICTURE = 16 * MIB
# A larger PDF of a deck is not cached. A guess.
_LARGEST_DECK = 64 * MIB
# A child killed before this share of its time limits did not reach them. A guess.
_EARLY = 0.5
_KILLED = (
    "This file could not be read: the system stopped its parser twice. The server may lack memory. "
    "Process the document again when it is less busy, or split the file."
)
_PART_NAME = re.compile(r"\d{6,8}")
_FAILURES = {
    failure.__name__: failure
    for failure in (
        *(errors.ParseFailed, errors.EncryptedFile, errors.DamagedFile),
        *(errors.TypeMismatch, errors.NoText, errors.ParseLimitExceeded),
    )
}


def parse_file(
    path: Path,
    file_name: str,
    limits: ParseLimits | None = None,
    *,
    ocr: Ocr | None = None,
    parts_to: Path | None = None,
) -> ParsedDocument:
    """The blocks and metadata of the file at `path`; `file_name` is its name at upload.

    The files within it are copied to the folder `parts_to`, or dropped without one. Scanned pages
    are read in a second run, with `ocr` and its longer limits. The child is killed at its time-out
    and when this process exits. Raises subclasses of ParseFailed, EmptyFile, UnsupportedType.
    """
    job = Job(path, _type_of(path, file_name), limits or ParseLimits(), ocr or Ocr())
    with _child_of(job) as scratch:
        scanned = _scanned(scratch) if job.ocr.languages else []
        if not scanned:
            return _collect(scratch, job.limits, parts_to)
        try:
            return _recognised(job, scanned, parts_to)
        except errors.ParseFailed as error:
            try:
                document = _collect(scratch, job.limits, parts_to)
            except errors.NoText:
                # The pages that are not scans contain no text either: the scans say why.
                raise error from None
            warning = f"Its scanned pages could not be recognised: {error}"
            return replace(document, warnings=(*document.warnings, warning))


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """The picture of a page in WebP, its size in pixels, and its words with their places.

    For slides also the PDF of the whole deck, which speeds up the next one; otherwise empty.
    """

    content: bytes
    width: int
    height: int
    words: tuple[Word, ...]
    deck: bytes = b""


def draw_page(path: Path, file_name: str, page: int, limits: ParseLimits) -> DrawnPage:
    """Page `page` (from 1), drawn in a child process. Raises ParseFailed."""
    job = Job(path, _type_of(path, file_name), limits, page=page)
    with _child_of(job) as scratch:
        try:
            outcome = _outcome(scratch)
            if "error" in outcome:
                raise errors.PageNotDrawn(outcome["message"])
            with opened_result(scratch / PICTURE_FILE, _LARGEST_PICTURE) as file:
                content = file.read()
            size = int(outcome["width"]), int(outcome["height"])
            return DrawnPage(content, *size, _words(scratch), _deck(job, scratch))
        except (ValueError, KeyError, TypeError) as error:
            raise errors.DamagedFile(STRANGE_RESULT) from error


def _deck(job: Job, scratch: Path) -> bytes:
    """The PDF of all slides; empty for other files and for a larger one."""
    if is_deck(job.file_type.media_type):
        with suppress(errors.DamagedFile), opened_result(scratch / DECK_FILE, _LARGEST_DECK) as pdf:
            return pdf.read()
    return b""


def _words(scratch: Path) -> tuple[Word, ...]:
    with opened_result(scratch / WORDS_FILE, _LARGEST_OUTCOME) as file:
        return tuple(_checked(word) for word in json.load(file))


def _checked(word: Any) -> Word:
    text, *places = word
    return [str(text), *map(int, places)]


@dataclass(frozen=True, slots=True)
class Job:
    """The work of one child: a file to parse, or with `page` a page of it to draw."""

    path: Path
    file_type: FileType
    limits: ParseLimits
    ocr: Ocr = field(default_factory=Ocr)
    page: int = 0


def _type_of(path: Path, file_name: str) -> FileType:
    with path.open("rb") as file:
        return sniff(file.read(HEAD_BYTES), file_name)


def _recognised(job: Job, scanned: list[int], parts_to: Path | None) -> ParsedDocument:
    ocr = job.ocr.wanting(scanned)
    job = replace(job, ocr=ocr, limits=job.limits.with_time_for(ocr))
    with _child_of(job) as scratch:
        return _collect(scratch, job.limits, parts_to)


@contextmanager
def _child_of(job: Job) -> Iterator[Path]:
    """Run the job's child; yield its scratch directory, with a result. Raises ParseFailed.

    One that was killed or panicked early is no verdict on the file: out of memory, the kernel kills
    the largest process, and where no thread can be started, a parser that needs one panics. Another
    child tries once more, in a directory that the first one could not prepare.
    """
    limits, file_type = job.limits, job.file_type
    for is_last in (False, True):
        # The account is free again when the directory is gone.
        with spare_account() as account, scratch_directory() as scratch:
            started = time.monotonic()
            status = run_in_child(_request(job, scratch, account), limits.wall_seconds)
            spent = time.monotonic() - started
            is_early = spent < _EARLY * min(limits.wall_seconds, limits.cpu_seconds)
            if status in (-signal.SIGKILL, PANICKED) and is_early and not is_last:
                kind = file_type.media_type
                logger.warning("The parser of %s ended with %s: it is tried again", kind, status)
                continue
            if status is None:
                raise errors.ParseLimitExceeded(
                    f"Reading this {file_type.label} took longer than {limits.wall_seconds:g} "
                    "seconds and was stopped. Split it into smaller files, or export it again."
                )
            if status == -signal.SIGKILL and is_last:
                raise errors.ParseLimitExceeded(_KILLED)
            if status != 0 or not (scratch / OUTCOME_FILE).exists():
                raise death(status, file_type, scratch)
            yield scratch
            return


def _request(job: Job, scratch: Path, account: int | None) -> dict[str, Any]:
    path, copied = job.path.resolve(), 0
    if account is not None:
        path, copied = hand_over(scratch, path, account)
    return {
        "path": str(path),
        "account": account,
        "given_bytes": copied,
        "file_type": astuple(job.file_type),
        "limits": asdict(job.limits),
        "ocr": asdict(job.ocr),
        "page": job.page,
        "scratch": str(scratch),
    }


def _outcome(scratch: Path) -> dict[str, Any]:
    with opened_result(scratch / OUTCOME_FILE, _LARGEST_OUTCOME) as file:
        outcome = json.load(file)
    if not isinstance(outcome, dict):
        raise TypeError
    return outcome


def _scanned(scratch: Path) -> list[int]:
    """The numbers of the pages that the child reported as images of text."""
    try:
        numbers = _outcome(scratch).get("scanned")
        return sorted(int(number) for number in numbers) if isinstance(numbers, list) else []
    except (ValueError, TypeError) as error:
        raise errors.DamagedFile(STRANGE_RESULT) from error


def _collect(scratch: Path, limits: ParseLimits, parts_to: Path | None) -> ParsedDocument:
    try:
        outcome = _outcome(scratch)
        if "error" in outcome:
            raise _FAILURES.get(outcome["error"], errors.ParseFailed)(outcome["message"])
        with (
            opened_result(scratch / BLOCKS_FILE, limits.output_bytes) as file,
            io.TextIOWrapper(file, encoding="utf-8", newline="\n") as lines,
        ):
            blocks = tuple(decode_blocks(lines))
        warnings = tuple(outcome.pop("warnings"))
        outcome.pop("scanned")
        parts = tuple(_parts(scratch, outcome.pop("parts"), limits, parts_to))
        stated = Completeness.from_json(outcome.pop("completeness"))
        return ParsedDocument(
            blocks=blocks, warnings=warnings, parts=parts, completeness=stated, **outcome
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.DamagedFile(STRANGE_RESULT) from error


def _parts(
    scratch: Path, listed: list[Any], limits: ParseLimits, parts_to: Path | None
) -> Iterator[Part]:
    """The child's parts, copied out of the scratch directory, their paths sanitised again."""
    labels: set[str] = set()
    for path, name, _ in listed if parts_to is not None else ():
        if parts_to is None or not _PART_NAME.fullmatch(name):
            raise ValueError
        label = unique_path(safe_path(path), labels)
        labels.add(label)
        with opened_result(scratch / PARTS_FOLDER / name, limits.archive_bytes) as file:
            target = parts_to / name
            with target.open("wb") as copy:
                shutil.copyfileobj(file, copy)
        yield Part(label, target, target.stat().st_size)
