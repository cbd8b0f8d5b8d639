"""A document's title out of its file name, for files that state none themselves."""

from __future__ import annotations

import re

from .filetypes import SUPPORTED

_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_AUTHOR_SEPARATOR = re.compile(r"\s+--(?:\s+|$)|^--\s+")


def title_from_file_name(name: str) -> str:
    """The title a file name suggests, never empty.

    Drops folders and the extension, reads `_` as a space and leaves out what follows ` -- `:
    "books/Distributed_Systems -- Author.pdf" gives "Distributed Systems".
    """
    base = re.split(r"[/\\]", name.strip().rstrip("/\\"))[-1]
    stem = _without_extension(base).replace("_", " ")
    parts = (" ".join(part.split()) for part in _AUTHOR_SEPARATOR.split(stem))
    return next((part for part in parts if part), base.strip()) or "Untitled"


def _without_extension(name: str) -> str:
    for extension in SUPPORTED:
        if name.lower().endswith(extension):
            return name[: -len(extension)]
    return _EXTENSION.sub("", name)
