"""Markup -> pandoc's syntax tree, by running its executable: it is GPL, and never linked."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ingestion.errors import DamagedFile, ParseFailed, ParseLimitExceeded
from ingestion.parsing.formats.syntax_tree import TreeReader, metadata_text
from ingestion.parsing.formats.text import paragraph_blocks
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, StatedMetadata

_HEAP_EXHAUSTED = 251
# pandoc takes exponential time on these, with no limit of its own (docs/adr/0008-parsers.md).
_TOO_DEEP = re.compile(
    r"\[{200}|\({1000}|\*{1000}|_{1000}|~{1000}|^[ \t>]{400}"
    r"|^[ \t]*(?:[-*+][ \t]+|>[ \t]*){200,}[^-*+>\s]",
    re.MULTILINE,
)


class PandocUnreadable(DamagedFile):
    """pandoc refused the text; another reader may accept it."""


@dataclass(frozen=True)
class Tree:
    """pandoc's document: metadata by name, and block nodes."""

    meta: dict[str, Any]
    blocks: list[dict[str, Any]]


def is_too_deep(text: str) -> bool:
    """Whether the markup is nested too deeply for pandoc."""
    return _TOO_DEEP.search(text) is not None


def plain_text(text: str, warning: str) -> Extraction:
    """The extraction of markup that is read as plain text, with a warning."""
    return Extraction(paragraph_blocks(text), warnings=[warning])


TOO_DEEP_WARNING = (
    "The markup is nested too deeply to be interpreted: the file was indexed as plain text."
)


def read_tree(content: str | Path, reader: str, limits: ParseLimits) -> Tree:
    """The syntax tree of markup, or of a binary file such as an EPUB given by its path.

    Raises PandocUnreadable, ParseLimitExceeded.
    """
    command = [str(_required()), f"--from={reader}", "--to=json", "--sandbox", "--quiet"]
    command += [str(content)] if isinstance(content, Path) else []
    command += ["+RTS", f"-M{limits.pandoc_heap_mib}m", "-RTS"]
    text = content.encode("utf-8", "replace") if isinstance(content, str) else b""
    process = subprocess.run(command, input=text, capture_output=True, check=False)
    if process.returncode == _HEAP_EXHAUSTED or process.returncode < 0:
        raise ParseLimitExceeded(
            "This file needs more memory than is allowed for one file. Split it into smaller files."
        )
    if process.returncode != 0:
        complaint = process.stderr.decode("utf-8", "replace").partition("HasCallStack")[0]
        complaint = " ".join(complaint.split())[:300].rstrip(".")
        raise PandocUnreadable(
            f"The markup cannot be read: {complaint}. Correct the file and upload it again."
        )
    tree = json.loads(process.stdout)
    return Tree(tree["meta"], tree["blocks"])


def extraction(tree: Tree, tree_reader: TreeReader) -> Extraction:
    """The blocks and metadata of a syntax tree."""
    return Extraction(tree_reader.blocks(tree.blocks), tree_metadata(tree.meta))


def tree_metadata(meta: dict[str, Any]) -> StatedMetadata:
    """The metadata of front matter, `<meta>` elements or a book's package file."""

    def first(*names: str) -> str:
        return next((text for name in names if (text := metadata_text(meta.get(name)))), "")

    return StatedMetadata(
        title=first("title"),
        author=first("author", "authors", "creator"),
        language=first("lang", "language"),
        created=_first_of(meta.get("date")) or first("created"),
        modified=first("updated", "modified", "last_modified", "lastmod"),
    )


def _first_of(value: Any) -> str:
    """A metadata value; of several, the first: a book has a date for each kind of event."""
    is_list = value is not None and value["t"] == "MetaList"
    return metadata_text(next(iter(value["c"]), None) if is_list else value)


@cache
def executable() -> Path | None:
    """The executable in the package pypandoc_binary, which is not imported; else the system's."""
    package = find_spec("pypandoc")
    for folder in (package.submodule_search_locations or []) if package else []:
        bundled = Path(folder) / "files" / "pandoc"
        if bundled.is_file():
            return bundled
    system = shutil.which("pandoc")
    return Path(system).resolve() if system else None


def _required() -> Path:
    if path := executable():
        return path
    raise ParseFailed(
        "This server lacks pandoc, which reads this format. Ask its administrator to install it."
    )
