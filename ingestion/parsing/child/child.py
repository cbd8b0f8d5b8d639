"""The child process of one file: limits itself, parses the file, writes the cleaned blocks.

The blocks reach the worker as lines, one JSON array each.
"""

from __future__ import annotations

import _thread
import errno
import json
import os
import re
import resource
import shutil
import signal
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ingestion.domain import Block, BlockKind, visible
from ingestion.errors import NoText, ParseFailed, ParseLimitExceeded
from ingestion.files import filetypes
from ingestion.parsing import page_pictures
from ingestion.parsing.child.isolation import Confinement, cut_off
from ingestion.parsing.formats import markup
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.ocr import Ocr
from ingestion.parsing.protocol import Extraction, ScannedPages, Source
from ingestion.parsing.registry import parser_for

# A soft hyphen within a word would keep searches from matching the word.
_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f\xad\ud800-\udfff\ufeff\ufffe\uffff]")
_SOFT_LINE_END = re.compile("\xad[ \t]*\n[ \t]*")
# Terminal colours, in logs and in the outputs of notebooks.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])")
# Any character but spaces and zero-width ones: without one, a text is empty to a reader.
_SEEN = re.compile("[^\\s\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufe00-\ufe0f]")
_SURROGATE = re.compile("[\ud800-\udfff]")

BLOCKS_FILE = "blocks.jsonl"
OUTCOME_FILE = "outcome.json"
# The exit status after a BaseException, such as a panic of a library in Rust.
PANICKED = 3


def clean_text(text: str) -> str:
    """`text` in NFC without control characters and soft hyphens.

    Lone surrogates become U+FFFD.
    """
    if _UNWANTED.search(text):
        text = _TERMINAL.sub("", text)
        text = _UNWANTED.sub("", _SURROGATE.sub("\ufffd", _SOFT_LINE_END.sub("", text)))
    return unicodedata.normalize("NFC", text)


def clean_block(block: Block) -> Block | None:
    """The block with clean text, or None if nothing readable remains."""
    if block.kind is BlockKind.TABLE:
        rows = [[clean_text(cell) for cell in row] for row in block.rows]
        if not any(_SEEN.search(cell) for row in rows for cell in row):
            return None
        return Block.table(rows, has_header=block.has_header, page=block.page, terms=block.terms)
    text = clean_text(block.text)
    text = text.strip("\n").rstrip() if block.kind is BlockKind.CODE else text.strip()
    if not _SEEN.search(text):
        return None
    if block.kind is BlockKind.HEADING:
        text = " ".join(text.split())
    return block if text == block.text else replace(block, text=text)


def encode_block(block: Block) -> str:
    """One line, with its newline. A table is sent as rows, from which its text is rebuilt."""
    text = "" if block.kind is BlockKind.TABLE else block.text
    terms = [clean_text(term) for term in block.terms]
    fields: tuple[object, ...] = (
        block.kind.value, text, block.level, block.page, block.rows, block.has_header, terms
    )  # fmt: skip
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


def decode_blocks(lines: Iterable[str]) -> Iterator[Block]:
    """The blocks that `encode_block` wrote."""
    for line in lines:
        kind, text, level, page, rows, has_header, terms = json.loads(line)
        under = tuple(terms)
        if kind == BlockKind.TABLE.value:
            yield Block.table(rows, has_header=has_header, page=page, terms=under)
        else:
            yield Block(BlockKind(kind), text, level=level, page=page, terms=under)


# Parsers open a handful of files, for large workbooks as well.
_OPEN_FILES = 256
# Processes and threads of one file: the parser, pandoc, and pools of a thread a core. A guess.
_TASKS, _TASKS_PER_CORE = 24, 4


def main(job: dict[str, Any], line: int) -> None:
    """Parse the file that `job` names; write blocks and outcome to its scratch directory.

    With a `page`, draw that page instead: a picture and its words are written.

    The descriptor `line` is closed when the fork server exits, which ends this process. Any error
    but ParseFailed ends the process with a traceback; the worker reports a damaged file then.
    """
    limits = ParseLimits(**job["limits"])
    scratch = Path(job["scratch"])
    cut_off(_confinement(job, scratch))
    _thread.start_new_thread(_end_with_server, (line, scratch))
    apply_limits(limits, job["others"])
    file_type = filetypes.FileType(*job["file_type"])
    ocr = Ocr(**{name: _tupled(value) for name, value in job["ocr"].items()})
    source = Source(Path(job["path"]), file_type, limits, scratch, ocr)
    outcome = outcome_of(source, job["page"])
    (scratch / OUTCOME_FILE).write_text(json.dumps(outcome), encoding="utf-8")


def outcome_of(source: Source, page: int) -> dict[str, object]:
    """Parse the file or draw its page; return the facts about it, or the error for the user."""
    label = source.file_type.label
    try:
        return page_pictures.draw(source, page) if page else _parse(source)
    except ScannedPages as failure:
        return {"error": NoText.__name__, "message": str(failure), "scanned": failure.pages}
    except ParseFailed as failure:
        return {"error": type(failure).__name__, "message": str(failure)}
    except ModuleNotFoundError as error:
        message = (
            f"This server lacks the package {error.name}, which reads {label} files. Ask its "
            "administrator to install what requirements.txt lists, then process the file again."
        )
        return {"error": ParseFailed.__name__, "message": message}
    except (MemoryError, RecursionError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EFBIG, errno.ENOMEM):
            raise
        message = (
            f"This {label} is too large or too deeply nested to be read "
            "within the memory limit. Split it into smaller files."
        )
        return {"error": ParseLimitExceeded.__name__, "message": message}


def _tupled(value: Any) -> Any:
    """`value`, with lists as tuples, since JSON has no tuples."""
    return tuple(value) if isinstance(value, list) else value


def _confinement(job: dict[str, Any], scratch: Path) -> Confinement:
    data = job["ocr"]["data"]
    return Confinement(
        reads=(Path(job["path"]), *([Path(data)] if data else []), *_office_files(job)),
        writes=scratch,
        runs=(program,) if (program := markup.executable()) else (),
        account=job["account"],
    )


def _office_files(job: dict[str, Any]) -> tuple[Path, ...]:
    """LibreOffice's own files, for a child that draws slides with it; none for any other."""
    path = page_pictures.office_library()
    if not job["page"] or not page_pictures.is_deck(job["file_type"][0]) or path is None:
        return ()
    return (path.parent.parent, *page_pictures.OFFICE_FOLDERS)


def apply_limits(limits: ParseLimits, others: int = 0) -> None:
    """Limit the resources of this process and its children; this cannot be undone.

    `others`: how many processes and threads of the same user the kernel counts as well.
    """
    tasks = others + _TASKS + _TASKS_PER_CORE * (os.cpu_count() or 1)
    bounds = [
        (resource.RLIMIT_NPROC, tasks, tasks),
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
        "stated": dict(metadata.stated),
        "page_count": metadata.page_count,
        "parser": parser.name,
        "warnings": extraction.warnings,
        "scanned": extraction.scanned,
        "completeness": extraction.completeness.as_json(),
        "parts": [[part.path, part.file.name, part.size] for part in extraction.parts],
    }


def _write_blocks(extraction: Extraction, source: Source) -> str:
    """Write all blocks; return the first heading if it is the only one of level 1, else ""."""
    is_plain = source.file_type == filetypes.TEXT
    limit = source.limits.plain_text_chars if is_plain else source.limits.text_chars
    characters, headings, top_headings, title = 0, 0, 0, ""
    seen, undecoded, tables = 0, 0, 0
    with (source.scratch / BLOCKS_FILE).open("w", encoding="utf-8") as lines:
        for raw in extraction.blocks:
            block = clean_block(raw)
            if block is None:
                continue
            characters += len(block.text)
            seen += visible(block)
            undecoded += block.text.count("\ufffd")
            tables += block.kind is BlockKind.TABLE
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
        raise NoText("This file contains no text. Check that it is the right file.")
    extraction.completeness.keep(seen, undecoded, tables)
    return title if top_headings == 1 else ""
