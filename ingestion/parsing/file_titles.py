"""Titles derived from file names."""

from __future__ import annotations

import re

from ingestion.files.filetypes import SUPPORTED
from ingestion.identifiers import is_single_identifier

_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_WORD = re.compile(r"[^\W_]+")
# No random names, such as of hashes, and no numbered ones, such as site-1, v2 and scan-001: small
# letters are a code with a number of three digits or more. A guess.
_CODE = re.compile(
    r"(?:[A-Z]{1,4}(?:-[A-Z]{1,4})*(?:-[0-9]+|[0-9]{3,})|[a-z]{1,4}(?:-[a-z]{1,4})*-?[0-9]{3,})"
    r"(?:-[0-9]+)*"
)
_COUNTED = frozenset(
    """
    area band ch chap copy day doc dsc dscn faq fig file form img item kap lab list log main note
    out part plan quiz rev room scan site tab task teil temp test unit ver vol wave week
    """.split()  # noqa: SIM905
)
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


def with_code(title: str, file_name: str) -> str:
    """The title after the code that its file is named by (EIP-1344), if it lacks that code.

    A register's documents are known by their numbers, which many have in the file name alone.
    """
    stem = _without_extension(re.split(r"[/\\]", file_name.strip())[-1])
    word = re.split(r"-|\d", stem, maxsplit=1)[0].lower()
    is_code = bool(_CODE.fullmatch(stem)) and word not in _COUNTED and is_single_identifier(stem)
    return f"{stem}: {title}" if is_code and with_file_name(title, file_name) != title else title


def _without_extension(name: str) -> str:
    for extension in SUPPORTED:
        if name.lower().endswith(extension):
            return name[: -len(extension)]
    return _EXTENSION.sub("", name)
