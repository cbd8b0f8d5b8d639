"""Splits a dump into pieces whose borders depend on the content, so that equal parts stay equal.

Two dumps of a database that changed a little share most of their lines, in the same order. Cutting
after every so many bytes would move all borders behind the first change; cutting after lines
with a certain checksum finds the old borders again after a few of them (Muthitacharoen, "A
Low-bandwidth Network File System", 2001, does so with bytes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO
from zlib import crc32

# Guesses. Objects of a few megabytes suit S3; a change costs about one of them.
LEAST_BYTES = 2 * 1024 * 1024
MOST_BYTES = 16 * 1024 * 1024
# One line in so many may end a piece.
LINES = 64


def split(text: IO[bytes], least: int = LEAST_BYTES, most: int = MOST_BYTES) -> Iterator[bytes]:
    """The text in pieces of `least` to `most` bytes; only the last one may be shorter."""
    lines: list[bytes] = []
    size = 0
    while line := text.readline(most):
        if size + len(line) > most and lines:
            yield b"".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
        if size >= least and crc32(line) % LINES == 0:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)
