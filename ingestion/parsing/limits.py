"""Limits for parsing one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Self

from ingestion.errors import ParseLimitExceeded
from ingestion.parsing.ocr import CPU_SECONDS_PER_PAGE, SECONDS_PER_PAGE, Ocr

MIB = 1024 * 1024


@dataclass(frozen=True)
class ParseLimits:
    """Limits for one file; exceeding one raises ParseLimitExceeded.

    `memory_bytes` is the address space of the child and of pandoc each, `output_bytes` the size of
    one file that they write, `scratch_bytes` of all together. `text_chars` counts the
    characters of all blocks; plain text may have more, since it is only split: a 50 MB file must
    pass.
    """

    # The site's own number is its setting PARSE_WALL_SECONDS, also for `cpu_seconds`.
    wall_seconds: float = 60
    cpu_seconds: int = 60
    memory_bytes: int = 2048 * MIB
    pandoc_heap_mib: int = 1024
    output_bytes: int = 512 * MIB
    scratch_bytes: int = 768 * MIB
    pages: int = 3_000
    text_chars: int = 20_000_000
    plain_text_chars: int = 64_000_000
    table_rows: int = 200_000
    table_columns: int = 5_000
    image_pixels: int = 100_000_000
    archive_entries: int = 10_000
    archive_bytes: int = 200 * MIB
    archive_ratio: int = 200

    def check_table(self, rows: int, columns: int = 0) -> None:
        """Raise ParseLimitExceeded for a table with more rows or columns than one may have."""
        if rows > self.table_rows or columns > self.table_columns:
            raise ParseLimitExceeded(
                f"A table or list of this file has more than {self.table_rows:,} rows or "
                f"{self.table_columns:,} columns. Split it into several files."
            )

    def with_time_for(self, ocr: Ocr) -> Self:
        """The limits with extra time for recognising the pages that are wanted."""
        return replace(
            self,
            wall_seconds=self.wall_seconds + SECONDS_PER_PAGE * len(ocr.wanted),
            cpu_seconds=self.cpu_seconds + CPU_SECONDS_PER_PAGE * len(ocr.wanted),
        )

    @classmethod
    def of(cls, numbers: Mapping[str, int]) -> Self:
        """The limits given by settings that are named as in VARIABLES."""
        fields = {VARIABLES[name]: number for name, number in numbers.items()}
        return cls(**{field: number * unit for (field, unit), number in fields.items()})


VARIABLES: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "PARSE_WALL_SECONDS": ("wall_seconds", 1),
        "PARSE_CPU_SECONDS": ("cpu_seconds", 1),
        "PARSE_MEMORY_MB": ("memory_bytes", MIB),
        "PARSE_PANDOC_MEMORY_MB": ("pandoc_heap_mib", 1),
        "PARSE_OUTPUT_MB": ("output_bytes", MIB),
        "PARSE_SCRATCH_MB": ("scratch_bytes", MIB),
        "PARSE_PAGES": ("pages", 1),
        "PARSE_CHARACTERS": ("text_chars", 1),
        "PARSE_PLAIN_TEXT_CHARACTERS": ("plain_text_chars", 1),
        "PARSE_TABLE_ROWS": ("table_rows", 1),
        "PARSE_TABLE_COLUMNS": ("table_columns", 1),
        "PARSE_IMAGE_MEGAPIXELS": ("image_pixels", 1_000_000),
        "PARSE_ARCHIVE_FILES": ("archive_entries", 1),
        "PARSE_ARCHIVE_MB": ("archive_bytes", MIB),
        "PARSE_ARCHIVE_RATIO": ("archive_ratio", 1),
    }
)
"""The setting of each limit, with its field and the setting's unit."""
