"""The child process of one file: limits itself, parses the file, writes the blocks."""

from __future__ import annotations

import _thread
import errno
import json
import os
import resource
import shutil
import signal
from pathlib import Path
from typing import Any

from ingestion.domain import BlockKind
from ingestion.errors import NoText, ParseFailed, ParseLimitExceeded
from ingestion.files import filetypes

from .isolation import cut_off
from .limits import ParseLimits
from .ocr import Ocr
from .protocol import Extraction, ScannedPages, Source
from .registry import parser_for
from .wire import BLOCKS_FILE, OUTCOME_FILE, clean_block, clean_text, encode_block

# Parsers open a handful of files, for large workbooks as well.
_OPEN_FILES = 256


def main(job: dict[str, Any], line: int) -> None:
    """Parse the file that `job` names; write blocks and outcome to its scratch directory.

    The descriptor `line` is closed when the fork server exits, which ends this process. Any error
    but ParseFailed ends the process with a traceback; the worker reports a damaged file then.
    """
    limits = ParseLimits(**job["limits"])
    scratch = Path(job["scratch"])
    cut_off()
    _thread.start_new_thread(_end_with_server, (line, scratch))
    apply_limits(limits)
    file_type = filetypes.FileType(*job["file_type"])
    ocr = Ocr(**{name: _tupled(value) for name, value in job["ocr"].items()})
    source = Source(Path(job["path"]), file_type, limits, scratch, ocr)
    try:
        outcome = _parse(source)
    except ScannedPages as failure:
        outcome = {"error": NoText.__name__, "message": str(failure), "scanned": failure.pages}
    except ParseFailed as failure:
        outcome = {"error": type(failure).__name__, "message": str(failure)}
    except (MemoryError, RecursionError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EFBIG, errno.ENOMEM):
            raise
        outcome = {
            "error": ParseLimitExceeded.__name__,
            "message": f"This {file_type.label} is too large or too deeply nested to be read "
            "within the memory limit. Split it into smaller files.",
        }
    (scratch / OUTCOME_FILE).write_text(json.dumps(outcome), encoding="utf-8")


def _tupled(value: Any) -> Any:
    """`value`, a list as a tuple: JSON has no tuples."""
    return tuple(value) if isinstance(value, list) else value


def apply_limits(limits: ParseLimits) -> None:
    """Limit the resources of this process and its children; this cannot be undone."""
    bounds = [
        (resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 5),
        (resource.RLIMIT_FSIZE, limits.output_bytes, limits.output_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0, 0),
    ]
    for kind, soft, hard in bounds:
        allowed = resource.getrlimit(kind)[1]
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(kind, (soft, hard))


def _end_with_server(line: int, scratch: Path) -> None:
    """Kill this process and pandoc when the fork server exits, which closes its end of `line`."""
    os.read(line, 1)
    shutil.rmtree(scratch, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _parse(source: Source) -> dict[str, object]:
    parser = parser_for(source.file_type.media_type)
    extraction = parser.extract(source)
    title = _write_blocks(extraction, source)
    metadata = extraction.metadata
    return {
        "title": clean_text(metadata.title).strip() or title,
        "author": clean_text(metadata.author).strip(),
        "language": clean_text(metadata.language).strip(),
        "created": clean_text(metadata.created).strip(),
        "modified": clean_text(metadata.modified).strip(),
        "page_count": metadata.page_count,
        "parser": parser.name,
        "warnings": extraction.warnings,
        "scanned": extraction.scanned,
        "parts": [[part.path, part.file.name, part.size] for part in extraction.parts],
    }


def _write_blocks(extraction: Extraction, source: Source) -> str:
    """Write all blocks; return the first heading if it is the only one of level 1, else ""."""
    is_plain = source.file_type == filetypes.TEXT
    limit = source.limits.plain_text_chars if is_plain else source.limits.text_chars
    characters, headings, top_headings, title = 0, 0, 0, ""
    with (source.scratch / BLOCKS_FILE).open("w", encoding="utf-8") as lines:
        for raw in extraction.blocks:
            block = clean_block(raw)
            if block is None:
                continue
            characters += len(block.text)
            if characters > limit:
                raise ParseLimitExceeded(
                    f"This {source.file_type.label} contains more than {limit:,} characters of "
                    "text. Split it into smaller files."
                )
            if block.kind is BlockKind.HEADING:
                headings += 1
                top_headings += block.level == 1
                title = block.text if headings == 1 and block.level == 1 else title
            lines.write(encode_block(block))
    if not characters:
        raise NoText(
            f"This {source.file_type.label} contains no text. Check that it is the right file."
        )
    return title if top_headings == 1 else ""
