"""Sitemaps -> the addresses they list. XML without entities, packed or not, or plain lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO
from xml.parsers import expat

from ingestion.intake.fetching.errors import AddressRefused, FetchError
from ingestion.intake.fetching.guard import read_target
from ingestion.intake.fetching.inflating import counted, inflated, is_gzip

# Of the protocol: more stands in further sitemaps, which an index lists.
MAX_ADDRESSES = 50_000
_BLOCK_BYTES = 64 * 1024
_LONGEST = 4_000
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Sitemap:
    """Addresses of pages, or, of an index, of further sitemaps."""

    addresses: tuple[str, ...]
    is_index: bool = False


def read_sitemap(file: IO[bytes], url: str, limit: int) -> Sitemap:
    """The sitemap in `file`, unpacked to at most `limit` bytes. Raises FetchError."""
    head = file.read(512)
    file.seek(0)
    parts: Iterator[bytes] = iter(lambda: file.read(_BLOCK_BYTES), b"")
    if is_gzip(head):
        parts = counted(inflated(parts), limit)
        first = next(parts, b"")
        head, parts = first[:512], _chained(first, parts)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return _Reader(url).read(parts)
    text = b"".join(counted(parts, limit)).decode("utf-8", "replace")
    return Sitemap(tuple(_addresses(text.splitlines(), url)))


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _addresses(texts: list[str], url: str) -> Iterator[str]:
    """Each address once, those that may not be fetched left out."""
    seen: set[str] = set()
    for text in texts[:MAX_ADDRESSES]:
        try:
            found = read_target(text, url).url if text.strip() else ""
        except AddressRefused:
            continue
        if found and found not in seen:
            seen.add(found)
            yield found


class _Reader:
    """Collects the text of each <loc> of an XML sitemap."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._root = ""
        self._open: list[str] = []
        self._text: list[str] = []
        self._found: list[str] = []
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse

    def read(self, parts: Iterator[bytes]) -> Sitemap:
        try:
            for part in parts:
                self._parser.Parse(part, False)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise FetchError(f"The sitemap is no well-formed XML: {error}.") from error
        if self._root not in ("urlset", "sitemapindex"):
            raise FetchError(
                "This is no sitemap: its XML begins otherwise. Look for its address in the "
                "site's robots.txt."
            )
        is_index = self._root == "sitemapindex"
        return Sitemap(tuple(_addresses(self._found, self._url)), is_index=is_index)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        self._root = self._root or local
        self._open.append(local)
        self._text.clear()
        if len(self._open) > _DEEPEST:
            raise FetchError("The sitemap nests more deeply than any does.")

    def _end(self, name: str) -> None:
        # <image:loc> stands a level lower, and is no page.
        is_page = self._open[-1:] == ["loc"] and len(self._open) == 3
        if is_page and len(self._found) < MAX_ADDRESSES:
            self._found.append("".join(self._text).strip())
        self._open.pop()

    def _characters(self, text: str) -> None:
        if self._open[-1:] == ["loc"] and len(self._text) < _LONGEST:
            self._text.append(text[:_LONGEST])

    def _refuse(self, *declaration: object) -> None:
        raise FetchError("The sitemap declares XML entities, which are not read.")
