"""Why a file's child process died, as an error that says what to do."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
from pathlib import Path

from ingestion import errors
from ingestion.files.filetypes import FileType
from ingestion.parsing.child.scratch import opened_result

logger = logging.getLogger(__name__)

_LIMIT_SIGNALS = {signal.SIGXCPU, signal.SIGKILL}


def death(status: int, file_type: FileType, scratch: Path) -> errors.ParseFailed:
    """The error, for people, of a child that ended with `status` and left no result."""
    complaint = _complaint(scratch)
    logger.warning(
        "The parser of %s ended with %s: %s", file_type.media_type, status, _places(complaint)
    )
    logger.debug("What it wrote: %s", complaint)
    if status == -signal.SIGXFSZ:
        return errors.ParseLimitExceeded(
            f"Reading this {file_type.label} needed more disk space than is allowed for one file. "
            "Split it into smaller files, or export it again."
        )
    if -status in _LIMIT_SIGNALS:
        return errors.ParseLimitExceeded(
            f"Reading this {file_type.label} used up the time or memory allowed for one file. "
            "Split it into smaller files, or export it again."
        )
    return errors.DamagedFile(
        f"This {file_type.label} is damaged or too large to be read. Open it in the program it "
        "was made with, save it again and upload the new file."
    )


def _complaint(scratch: Path) -> str:
    """The end of the child's standard error."""
    try:
        with opened_result(scratch / "stderr", sys.maxsize) as file:
            file.seek(-min(file.seek(0, os.SEEK_END), 4_000), os.SEEK_CUR)
            return file.read().decode("utf-8", "replace")
    except errors.DamagedFile:
        return "no error output"


# A line of a traceback that names a place in the code, and the one that names the exception.
_PLACE = re.compile(r'  File ".*", line \d+, in \S+|[A-Za-z_][\w.]*(?:Error|Exception|Exit)(?=:|$)')


def _places(complaint: str) -> str:
    """The traceback without messages, because messages of libraries quote the file."""
    places = [match[0].strip() for line in complaint.splitlines() if (match := _PLACE.match(line))]
    return "; ".join(places) or "no traceback"
