"""The name of a fetched file: by its content first, its address only as a hint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.message import Message
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from ingestion.errors import RefusedUpload, TypeMismatch
from ingestion.files import filetypes
from ingestion.files.filetypes import FileType, sniff

_MAX_STEM = 150
_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{0,9}")
_BY_MEDIA_TYPE: dict[str, FileType] = {}
for _type in filetypes.SUPPORTED.values():
    _BY_MEDIA_TYPE.setdefault(_type.media_type, _type)
_BY_MEDIA_TYPE |= {
    "text/x-markdown": filetypes.MARKDOWN,
    "text/xml": filetypes.XML,
    "application/rss+xml": filetypes.XML,
    "application/atom+xml": filetypes.XML,
    "application/xhtml+xml": filetypes.HTML,
    "application/csv": filetypes.CSV,
}


def file_name(url: str, headers: Mapping[str, str], head: bytes) -> str:
    """A file name whose extension matches the content in `head`.

    The server's content type only decides between kinds of plain text. Content of an unsupported
    type keeps its name, without a known extension: it is refused when it is stored.
    """
    given = _given_name(headers.get("content-disposition", "")) or _name_in(url)
    extension = PurePosixPath(given).suffix.lower()
    if not _EXTENSION.fullmatch(extension):
        extension = ""  # "release-1.2" has none
    stem = given[: len(given) - len(extension)][:_MAX_STEM].strip(" .") or "page"
    named = filetypes.SUPPORTED.get(extension)
    content = _content(head, stem)
    if content is None:
        return f"{stem}{extension}" if named else given[:_MAX_STEM] or stem
    if content is filetypes.TEXT:
        claimed = _BY_MEDIA_TYPE.get(headers.get("content-type", "").split(";")[0].strip().lower())
        for wish in (named, claimed):
            if wish is not None and wish is not filetypes.HTML and _holds(head, stem, wish):
                return f"{stem}{extension if wish is named else wish.extension}"
    elif named is not None and _holds(head, stem, named) and not _is_page(content, named):
        return f"{stem}{extension}"
    return f"{stem}{content.extension}"


def _is_page(content: FileType, named: FileType) -> bool:
    """Whether a web page was served for a file: `notes.md` displayed by a web front end."""
    return content is filetypes.HTML and named is not filetypes.HTML


def _content(head: bytes, stem: str) -> FileType | None:
    """The type by content alone; None if it is unknown or unsupported."""
    try:
        return sniff(head, stem.replace(".", " "))
    except RefusedUpload:
        return None
    except TypeMismatch:
        return None


def _holds(head: bytes, stem: str, wish: FileType) -> bool:
    try:
        return sniff(head, f"{stem.replace('.', ' ')}{wish.extension}").media_type != ""
    except (RefusedUpload, TypeMismatch):
        return False


def _given_name(disposition: str) -> str:
    """The name in a Content-Disposition header, in either form; never a path."""
    if not disposition:
        return ""
    message = Message()
    message["Content-Disposition"] = disposition.encode("ascii", "ignore").decode()
    try:
        name = message.get_filename("") or ""
    except (LookupError, ValueError):
        return ""
    return PurePosixPath(name.replace("\\", "/")).name


def _name_in(url: str) -> str:
    parts = urlsplit(url)
    last = unquote(parts.path.rstrip("/").rpartition("/")[2], errors="replace")
    return PurePosixPath(last.replace("\\", "/")).name or (parts.hostname or "page").replace(
        ".", " "
    )
