"""A version's stored file as a download."""

from __future__ import annotations

from pathlib import PurePosixPath

from django.http import FileResponse, Http404
from django.utils.cache import patch_cache_control

from ingestion.models import DocumentVersion

# Types that a browser might execute: sent as plain bytes.
RUNNABLE = ("html", "/xml", "+xml", "javascript")


def download(version: DocumentVersion) -> FileResponse:
    """A version's original file as a download under its original name.

    Raises Http404 if it is no longer stored. Callers check the permissions.
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
