"""Runs the parser of one file in a child process and reads back what it found."""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, astuple
from pathlib import Path

from ingestion import errors
from ingestion.domain import ParsedDocument
from ingestion.filetypes import HEAD_BYTES, FileType, sniff

from .limits import ParseLimits
from .wire import BLOCKS_FILE, OUTCOME_FILE, decode_blocks

logger = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[2]
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from ingestion.parsing.child import main; main(sys.argv[2])"
)
_LIMIT_SIGNALS = {signal.SIGXCPU, signal.SIGKILL}
_FAILURES = {
    failure.__name__: failure
    for failure in (
        errors.ParseFailed,
        errors.EncryptedFile,
        errors.DamagedFile,
        errors.TypeMismatch,
        errors.NoText,
        errors.ParseLimitExceeded,
    )
}


def parse_file(path: Path, file_name: str, limits: ParseLimits | None = None) -> ParsedDocument:
    """The blocks and metadata of the file at `path`, whatever `file_name` it was uploaded under.

    Raises subclasses of ParseFailed, and what `sniff` raises at the door: EmptyFile,
    UnsupportedType. The child dies with its time-out, and with this process.
    """
    limits = limits or ParseLimits()
    with path.open("rb") as file:
        file_type = sniff(file.read(HEAD_BYTES), file_name)
    with tempfile.TemporaryDirectory(prefix="steelyard-parse-") as directory:
        scratch = Path(directory)
        _run_child(path, file_type, limits, scratch)
        return _collect(scratch, file_type)


def _run_child(path: Path, file_type: FileType, limits: ParseLimits, scratch: Path) -> None:
    job = {
        "path": str(path.resolve()),
        "file_type": astuple(file_type),
        "limits": asdict(limits),
        "scratch": str(scratch),
    }
    with (scratch / "stderr").open("wb") as complaints:
        # Its standard input tells the child that we live; its standard output that it does.
        child = subprocess.Popen(
            [sys.executable, "-I", "-c", _BOOT, str(_ROOT), json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=scratch,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(scratch)},
            start_new_session=True,
        )
    with child:
        try:
            status = _wait(child, limits.wall_seconds)
        finally:
            _kill_group(child.pid)
    if status is None:
        raise errors.ParseLimitExceeded(
            f"Reading this {file_type.label} took longer than {limits.wall_seconds:g} seconds and "
            "was stopped. Split it into smaller files, or export it again."
        )
    if status != 0 or not (scratch / OUTCOME_FILE).exists():
        raise _death(status, file_type, scratch)


def _wait(child: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit status, or None after `seconds`. Returns at once where Popen.wait would poll."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        assert child.stdout is not None
        selector.register(child.stdout, selectors.EVENT_READ)
        selector.select(seconds)
    try:
        return child.wait(max(deadline - time.monotonic(), 0.05))
    except subprocess.TimeoutExpired:
        return None


def _kill_group(pid: int) -> None:
    """Ends the child's whole session, pandoc included, whether or not the child lives."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError:
        # macOS answers so for a group of zombies.
        return


def _death(status: int, file_type: FileType, scratch: Path) -> errors.ParseFailed:
    complaint = (scratch / "stderr").read_bytes()[-4_000:].decode("utf-8", "replace")
    logger.warning("A parser of %s ended with %s: %s", file_type.media_type, status, complaint)
    if -status in _LIMIT_SIGNALS:
        return errors.ParseLimitExceeded(
            f"Reading this {file_type.label} used up the time or memory allowed for one file. "
            "Split it into smaller files, or export it again."
        )
    return errors.DamagedFile(
        f"This {file_type.label} is damaged or too big to be read. Open it in the program it "
        "was made with, save it again and upload the new file."
    )


def _collect(scratch: Path, file_type: FileType) -> ParsedDocument:
    outcome = json.loads((scratch / OUTCOME_FILE).read_text(encoding="utf-8"))
    if "error" in outcome:
        raise _FAILURES.get(outcome["error"], errors.ParseFailed)(outcome["message"])
    with (scratch / BLOCKS_FILE).open(encoding="utf-8", newline="\n") as lines:
        blocks = tuple(decode_blocks(lines))
    warnings = tuple(outcome.pop("warnings"))
    return ParsedDocument(blocks=blocks, warnings=warnings, **outcome)
