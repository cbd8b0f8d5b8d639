"""Bytes -> Blocks. `parse_file` reads one stored file in a child process of its own.

A new format is a module with a `PARSER` (see `protocol.Parser`), a line in
`registry.MODULES` and its type in `ingestion.files.filetypes`.
"""

from .limits import ParseLimits
from .ocr import Ocr
from .sandbox import parse_file

__all__ = ["Ocr", "ParseLimits", "parse_file"]
