"""U2: bytes -> Blocks. `parse_file` reads one stored file in its own limited child process.

A new format takes a module with a `PARSER` (see `protocol.Parser`), a line in
`protocol.MODULES` and a type in `ingestion.files.filetypes`.
"""

from .limits import ParseLimits
from .ocr import Ocr
from .sandbox import draw_page, parse_file, recognise_page

__all__ = ["Ocr", "ParseLimits", "draw_page", "parse_file", "recognise_page"]
