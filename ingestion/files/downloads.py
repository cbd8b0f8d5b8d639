"""Originals as downloads, whole or a range of bytes, which no browser executes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control

from common.accounts import quotas
from ingestion.models import DocumentVersion

# Types that a browser might execute: sent as plain bytes.
RUNNABLE = ("html", "/xml", "+xml", "javascript")


@dataclass
class _Part:
    """The next `left` bytes of an open file."""

    file: Any
    left: int

    def read(self, size: int) -> bytes:
        data: bytes = self.file.read(min(size, self.left))
        self.left -= len(data)
        return data

    def close(self) -> None:
        self.file.close()


_RANGE = re.compile(r"bytes=(?=.*\d)(\d{0,18})-(\d{0,18})")


def _span(header: str, size: int) -> range:
    """The bytes that a header Range asks for, empty if there are none; all without one range."""
    match = _RANGE.fullmatch(header)
    if match is None:
        return range(size)
    first, last = match.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    return range(int(first), min(int(last) + 1 if last else size, size))


def download(
    version: DocumentVersion, reader: Any, headers: Mapping[str, str] | None = None
) -> HttpResponseBase:
    """A version's original file as a download under its original name, counted for its reader.

    Of a request's `headers` it obeys Range and If-Range. Raises Http404 if it is no longer stored,
    StorageUnavailable, QuotaExceeded. Callers check the permissions.
    """
    if not version.file:
        raise Http404
    headers = headers or {}
    tag, size = f'"{version.sha256}"', version.size
    is_same = headers.get("If-Range", tag) == tag
    span = _span(headers.get("Range", "") if is_same else "", size)
    if not span and size:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    try:
        stored = version.file.open("rb")
    except FileNotFoundError as error:
        raise Http404 from error
    try:
        quotas.spend(reader, quotas.DOWNLOADED, len(span))
    except quotas.QuotaExceeded:
        stored.close()
        raise
    stored.seek(span.start)
    response = _response(_Part(stored, len(span)), version)
    if len(span) < size:
        response.status_code = 206
        response["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{size}"
    response["Accept-Ranges"], response["ETag"] = "bytes", tag
    response["Content-Length"] = str(len(span))
    return response


def _response(file: Any, version: DocumentVersion) -> FileResponse:
    """A response with the file as a download, which no browser executes or caches for others."""
    response = FileResponse(
        file,
        as_attachment=True,
        filename=PurePosixPath(version.file_name).name,
        content_type=(
            "application/octet-stream"
            if version.media_type.endswith(RUNNABLE)
            else version.media_type
        ),
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    patch_cache_control(response, private=True, no_cache=True)
    return response
