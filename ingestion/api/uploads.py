"""Uploads that a program repeats or sends many at once: idempotency keys, and batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, TypeVar
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import requires
from common.api.errors import NOT_FOUND
from common.api.parsers import ObjectJSONParser
from common.api.requests import LimitedParser, actor, read_body
from common.api.viewsets import ApiViewSet
from ingestion import idempotency, services
from ingestion.api.document_serializers import (
    BatchDeleteSerializer,
    BatchSerializer,
    BatchUploadSerializer,
)
from ingestion.errors import IngestionError
from ingestion.models import Document, Lane

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


T = TypeVar("T")


class BatchParser(LimitedParser):
    """All files of a batch together may be as large as an import."""

    most_bytes = "IMPORT_MAX_BYTES"
    raised_by = "IMPORT_MAX_MB"


class BatchViewSet(ApiViewSet[Document]):
    """Batches of uploads and of deletions."""

    parser_classes = [BatchParser]
    queryset = Document.objects.none()

    @extend_schema(
        parameters=[HEADER], request=BatchUploadSerializer, responses={207: BatchSerializer}
    )
    def create(self, request: Request) -> Response:
        """Upload many documents.

        Each file is processed separately: the response (207) has an item for each, in the order of
        the files, with the document's `id` and `state`, or with an `error`. A refused file does not
        affect the others.
        """
        context = {"request": request}
        data = read_body(request, BatchUploadSerializer, context=context).validated_data

        def receive(file: UploadedFile[bytes]) -> dict[str, Any]:
            receipt = services.receive(
                data["collection"],
                file,
                file_name=str(file.name),
                language=data.get("language", ""),
                metadata=data.get("metadata"),
                acting_user=actor(request),
                lane=Lane.BULK,
            )
            entry = {"id": receipt.document.public_id, "state": receipt.version.state}
            return {**entry, "outcome": receipt.outcome}

        def receive_all() -> Response:
            return _of_batch(
                {"file_name": file.name, **_tried(receive, file)} for file in data["files"]
            )

        return once(request, receive_all)

    @extend_schema(request=BatchDeleteSerializer, responses={207: BatchSerializer})
    @action(detail=False, methods=["post"], url_path="delete", parser_classes=[ObjectJSONParser])
    @requires("ingestion.delete_document")
    def delete_all(self, request: Request) -> Response:
        """Delete many documents.

        Each is deleted separately: the response (207) has an item for each id, with the `state`
        `deleted`, or with an `error`, and a missing one does not affect the others.
        """

        def put_away(public_id: UUID) -> dict[str, Any]:
            documents = Document.objects.visible_to(request.user).filter(public_id=public_id)
            if not services.delete(documents, acting_user=actor(request)):
                raise Http404
            return {"state": "deleted"}

        ids = read_body(request, BatchDeleteSerializer).validated_data["ids"]
        return _of_batch({"id": each, **_tried(put_away, each)} for each in ids)


def _tried(work: Callable[[T], dict[str, Any]], subject: T) -> dict[str, Any]:
    """The result of `work` for one item of a batch, or its error."""
    try:
        return work(subject)
    except IngestionError as error:
        return {"error": {"code": error.code, "message": str(error)}}
    except Http404:
        return {"error": {"code": "not_found", "message": NOT_FOUND}}


def _of_batch(items: Iterable[dict[str, Any]]) -> Response:
    results = list(items)
    failed = sum("error" in each for each in results)
    body = {"done": len(results) - failed, "failed": failed, "results": results}
    return Response(BatchSerializer(body).data, status.HTTP_207_MULTI_STATUS)
