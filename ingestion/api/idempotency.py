"""The header Idempotency-Key: an upload that is sent again is answered, not done, again."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.requests import actor
from ingestion import idempotency

MAX_CHARS = 200
HEADER = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="A word of your choice. The same request with the same key within 24 hours gets "
    "the first answer and creates nothing; another request with it is refused (422).",
)


def once(request: Request, work: Callable[[], Response]) -> Response:
    """The response of `work`; of an earlier request with the same key, that request's.

    Call it once the request has been read and checked: a repetition must still be permitted.
    Raises KeyReused and StateConflict, see `idempotency.begin`.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return work()
    if not (0 < len(key) <= MAX_CHARS and key.isascii() and key.isprintable()):
        message = f"Give 1 to {MAX_CHARS} letters, digits or signs."
        raise ValidationError({"Idempotency-Key": [message]})
    row = idempotency.begin(actor(request), key, fingerprint(request))
    if row.status is not None:
        headers = {"Idempotent-Replayed": "true"}
        if row.location:
            headers["Location"] = row.location
        return Response(row.answer, row.status, headers=headers)
    try:
        response = work()
    except BaseException:
        idempotency.release(row)
        raise
    location = response.headers.get("Location", "")
    idempotency.finish(row, response.status_code, response.data, location)
    return response


def fingerprint(request: Request) -> str:
    """A hash of the method, the address, the fields, and the names and bytes of the files."""
    data: Any = request.data
    values = {name: data.getlist(name) if hasattr(data, "getlist") else data[name] for name in data}
    parts = [request.method, request.get_full_path(), values]
    text = json.dumps(parts, sort_keys=True, default=_of_file)
    return sha256(text.encode()).hexdigest()


def _of_file(value: Any) -> list[str]:
    if not isinstance(value, UploadedFile):
        return [str(value)]
    digest = sha256()
    for chunk in value.chunks():
        digest.update(chunk)
    value.seek(0)
    return [str(value.name), digest.hexdigest()]
