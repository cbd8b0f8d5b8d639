"""What one file may cost. The figures are those of docs/adr/0008-parsers.md."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True)
class ParseLimits:
    """Bounds for one file; whatever crosses one ends as ParseLimitExceeded.

    `memory_bytes` bounds the address space of the child and of pandoc each.
    `text_chars` counts the characters of all blocks; plain text may hold more, since
    nothing but splitting is done to it: a 50 MB file must pass.
    """

    wall_seconds: float = 60
    cpu_seconds: int = 60
    memory_bytes: int = 2048 * MIB
    pandoc_heap_mib: int = 1024
    output_bytes: int = 512 * MIB
    pages: int = 3_000
    text_chars: int = 20_000_000
    plain_text_chars: int = 64_000_000
    table_rows: int = 200_000
    table_columns: int = 5_000
    archive_entries: int = 10_000
    archive_bytes: int = 200 * MIB
    archive_ratio: int = 200
