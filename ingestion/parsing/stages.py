"""What took time in a file's child, for the worker's trace.

The child has no network and no tracing: it writes the times down, and the worker, which may not
believe them, makes spans of them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ingestion.errors import DamagedFile

from .scratch import opened_result

_FILE, _LARGEST = "stages.json", 10_000  # bytes
_NAME = re.compile(r"[a-z ]{1,40}")
_MOST = 20

_passed: list[tuple[str, int, int]] = []


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Note in the child how long the block takes, under a name of the code, none of the file's."""
    began = time.time_ns()
    try:
        yield
    finally:
        _passed.append((name, began, time.time_ns()))


def write(scratch: Path) -> None:
    """Leave the times of this child's stages in its scratch directory."""
    (scratch / _FILE).write_text(json.dumps(_passed), encoding="utf-8")


def read(scratch: Path, began: int) -> list[tuple[str, int, int]]:
    """What the child left: name, begin and end in nanoseconds, all between `began` and now.

    Empty if it left nothing, or anything else.
    """
    with suppress(DamagedFile, ValueError, TypeError, OSError):
        with opened_result(scratch / _FILE, _LARGEST) as file:
            found = [(str(name), int(first), int(last)) for name, first, last in json.load(file)]
        now = time.time_ns()
        if len(found) <= _MOST and all(
            _NAME.fullmatch(name) and began <= first <= last <= now for name, first, last in found
        ):
            return found
    return []
