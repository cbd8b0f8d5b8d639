"""The HTTP status of each error of the two apps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import set_rollback

from common.api import errors
from ingestion.errors import (
    EmbeddingUnavailable,
    FileTooLarge,
    IngestionError,
    NotStored,
    StateConflict,
)
from ingestion.idempotency import KeyReused
from search.errors import NoActiveProfile, NotPermitted, RunConflict, SearchError

_STATUSES: dict[type[Exception], int] = {
    FileTooLarge: status.HTTP_413_REQUEST_ENTITY_TOO_LARGE,
    NotStored: status.HTTP_507_INSUFFICIENT_STORAGE,
    EmbeddingUnavailable: status.HTTP_503_SERVICE_UNAVAILABLE,
    NoActiveProfile: status.HTTP_503_SERVICE_UNAVAILABLE,
    StateConflict: status.HTTP_409_CONFLICT,
    KeyReused: status.HTTP_422_UNPROCESSABLE_ENTITY,
    NotPermitted: status.HTTP_403_FORBIDDEN,
    RunConflict: status.HTTP_409_CONFLICT,
}


def error_response(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """The response that states `error`; None for an unexpected one, which becomes a 500."""
    if isinstance(error, SearchError | IngestionError):
        set_rollback()
        return Response(errors.body(error.code, str(error)), _status(error))
    return errors.error_response(error, context)


def _status(error: Exception) -> int:
    held = (code for kind, code in _STATUSES.items() if isinstance(error, kind))
    return next(held, status.HTTP_400_BAD_REQUEST)
