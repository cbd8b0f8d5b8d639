"""A file to be ingested by the demo, wherever it comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's name, its bytes, and the source under which a later version replaces it."""

    file_name: str
    source: str
    content: bytes
