"""A version's stored file as a download."""

from __future__ import annotations

from pathlib import PurePosixPath

from django.http import FileResponse, Http404
from django.utils.cache import patch_cache_control

from ingestion.models import DocumentVersion

# What a browser might run: it leaves as bytes that stay inert.
RUNNABLE = ("html", "/xml", "+xml", "javascript")


def download(version: DocumentVersion) -> FileResponse:
    """The file that a version was read from, under the name it came with; never shown in place.

    Raises Http404 where it is no longer kept. Who may have it is the caller's to ask.
    """
    if not version.file:
        raise Http404
    try:
        stored = version.file.open("rb")
    except FileNotFoundError as error:
        raise Http404 from error
    response = FileResponse(
        stored,
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
