"""Compressed bytes -> plain ones, each counted as it comes out."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from ingestion.intake.fetching.errors import FetchError, TooLong

MIB = 1024 * 1024
_AT_ONCE = MIB
# gzip or zlib, told apart by the first bytes; and deflate without a header, as some servers send.
_WITH_HEADER, _BARE = 47, -15
GZIP_START = b"\x1f\x8b"


def counted(parts: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """`parts` as they are. Raises TooLong once they hold more than `limit` bytes."""
    size = 0
    for part in parts:
        size += len(part)
        if size > limit:
            raise TooLong(
                f"The answer is larger than {limit // MIB} MB. Download it and upload it as a "
                "file, or ask an administrator to raise URL_IMPORT_MB."
            )
        yield part


def inflated(parts: Iterable[bytes]) -> Iterator[bytes]:
    """What gzip or deflate made of the bytes, in pieces of at most 1 MB. Raises FetchError."""
    inflater = None
    for part in parts:
        packed = part
        while packed:
            if inflater is None:
                inflater = zlib.decompressobj(_WITH_HEADER)
                first = True
            try:
                out = inflater.decompress(packed, _AT_ONCE)
            except zlib.error as error:
                if not first:
                    raise FetchError(_DAMAGED) from error
                inflater = zlib.decompressobj(_BARE)
                try:
                    out = inflater.decompress(packed, _AT_ONCE)
                except zlib.error:
                    raise FetchError(_DAMAGED) from error
            first = False
            yield out
            packed = inflater.unconsumed_tail
            if inflater.eof:
                # Members of gzip may follow each other.
                packed, inflater = inflater.unused_data.lstrip(b"\0"), None
    if inflater is not None:
        while out := inflater.decompress(b"", _AT_ONCE):
            yield out
        if not inflater.eof:
            raise FetchError("The answer was cut off in the middle. Try again later.")


def is_gzip(head: bytes) -> bool:
    return head.startswith(GZIP_START)


_DAMAGED = "The answer is packed in a way that cannot be read. Tell the owner of the site."
