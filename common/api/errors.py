"""The bodies of error responses: a code for programs, a sentence for people, and details."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler, set_rollback

# --- errors ---

# One text for missing and for hidden rows, so that they cannot be told apart.
NOT_FOUND = "Not found, or not visible to you."


class Conflict(exceptions.APIException):
    """The row is not in the state that the request needs."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


def body(code: str, message: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The response body of an error."""
    return {"code": code, "message": message, "details": dict(details or {})}


def render_json(request: Any) -> None:
    """Write the response as JSON, as all errors are: of streams, and of the schema, too."""
    request.accepted_renderer = JSONRenderer()
    request.accepted_media_type = JSONRenderer.media_type


def error_response(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """The response for `error`; None for an unexpected error, which becomes a 500."""
    if request := context.get("request"):
        render_json(request)
    if isinstance(error, RequestDataTooBig):
        set_rollback()
        message = "The body is too large. Files go to /api/v1/documents/ as multipart."
        return Response(body("body_too_large", message), status.HTTP_413_REQUEST_ENTITY_TOO_LARGE)
    if isinstance(error, SuspiciousOperation):
        set_rollback()
        message = "The request is malformed: too many fields or files."
        return Response(body("bad_request", message), status.HTTP_400_BAD_REQUEST)
    response = exception_handler(error, dict(context))
    if response is not None:
        response.data = body_of(error)
        response.data["message"] += _hint(error, context.get("view"))
    return response


def _hint(error: Exception, view: Any) -> str:
    """The method or media type to use instead of one that the view does not know."""
    match error:
        case exceptions.MethodNotAllowed():
            names = " or ".join(sorted({*view.allowed_methods} - {"HEAD", "OPTIONS"}))
            return f" Use {names}." if names else ""
        case exceptions.NotAcceptable():
            types = " or ".join({each.media_type: 0 for each in view.get_renderers()})
            return f" There is {types}: send that, or */*, in the header `Accept`."
        case exceptions.UnsupportedMediaType():
            types = " or ".join(parser.media_type for parser in view.get_parsers())
            return f" Send it as {types}, and say so in the header `Content-Type`."
    return ""


def body_of(error: Exception) -> dict[str, Any]:
    """The response body for an exception of Django or Django REST framework."""
    match error:
        case Http404() | exceptions.NotFound():
            return body("not_found", NOT_FOUND)
        case exceptions.ValidationError():
            fields = _fields(error.detail)
            return body("invalid", _first_sentence(fields), fields)
        case exceptions.Throttled():
            seconds = getattr(error, "wait", None)  # already whole, rounded up
            message = "Too many requests." + (f" Try again in {seconds} s." if seconds else "")
            return body("throttled", message, {"wait_seconds": seconds} if seconds else {})
        case exceptions.NotAuthenticated():
            message = "Sign in, or send a token in the header `Authorization: Bearer ...`."
            return body("not_authenticated", message)
        case exceptions.APIException():
            return body(_code(error), _sentence(str(error.detail)))
        case _:  # Django's PermissionDenied: DRF's handler handles no other
            return body("permission_denied", "You do not have permission to do this.")


def _code(error: exceptions.APIException) -> str:
    code = error.get_codes()
    return code if isinstance(code, str) else error.default_code


def _fields(detail: Any) -> dict[str, list[str]]:
    """The messages by field; general ones under `non_field_errors`."""
    if not isinstance(detail, Mapping):
        detail = {"non_field_errors": detail}
    return {str(field): list(_messages(inner)) for field, inner in detail.items()}


def _messages(detail: Any) -> Iterator[str]:
    if isinstance(detail, Mapping | list):
        for inner in detail.values() if isinstance(detail, Mapping) else detail:
            yield from _messages(inner)
    else:
        yield str(detail)


def _first_sentence(fields: Mapping[str, list[str]]) -> str:
    """The first message, preceded by the name of its field."""
    field, messages = next(iter(fields.items()))
    sentence = _sentence(messages[0])
    return sentence if field == "non_field_errors" else f"{field}: {sentence}"


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if stripped.endswith((".", "!", "?")) else f"{stripped}."
