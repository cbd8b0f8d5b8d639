"""Titles derived from file names."""

from __future__ import annotations

import re

from ingestion.files.filetypes import SUPPORTED

_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_WORD = re.compile(r"[^\W_]+")
_AUTHOR_SEPARATOR = re.compile(r"\s+--(?:\s+|$)|^--\s+")


def title_from_file_name(name: str) -> str:
    """A title derived from a file name, never empty.

    Drops folders and the extension, replaces `_` by spaces and drops text after ` -- `:
    "books/Distributed_Systems -- Author.pdf" gives "Distributed Systems".
    """
    base = re.split(r"[/\\]", name.strip().rstrip("/\\"))[-1]
    stem = _without_extension(base).replace("_", " ")
    parts = (" ".join(part.split()) for part in _AUTHOR_SEPARATOR.split(stem))
    return next((part for part in parts if part), base.strip()) or "Untitled"


def with_file_name(title: str, file_name: str) -> str:
    """The title followed by the words of the file name that it lacks.

    Indexed for search, because people know many documents by file name or the author in it.
    """
    title_words = set(_WORD.findall(title.casefold()))
    base = re.split(r"[/\\]", file_name.strip())[-1]
    words = dict.fromkeys(_WORD.findall(_without_extension(base)))
    missing_words = [word for word in words if word.casefold() not in title_words]
    return " ".join([title, *missing_words]).strip()


def _without_extension(name: str) -> str:
    for extension in SUPPORTED:
        if name.lower().endswith(extension):
            return name[: -len(extension)]
    return _EXTENSION.sub("", name)
