"""Error responses: problem details (RFC 9457) with a code for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, JsonResponse
from rest_framework import exceptions, status
from rest_framework.views import exception_handler, set_rollback

# One text for missing and for hidden rows, so that they cannot be told apart.
NOT_FOUND = "Not found, or not visible to you."


class Conflict(exceptions.APIException):
    """The row is not in the state that the request needs."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class PreconditionFailed(exceptions.APIException):
    """The row is another one by now than the client read."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "precondition_failed"
    default_detail = "It has changed since you read this ETag. Read it again, and send its new one."


PROBLEM = "application/problem+json"
# What to wait, in seconds, where an error names no time: a guess.
RETRY_AFTER: dict[int, int] = {status.HTTP_503_SERVICE_UNAVAILABLE: 10}


class Problem(JsonResponse):
    """Problem details: `errors` are messages by field, `members` what else the error has."""

    def __init__(
        self,
        code: str,
        detail: str,
        status: int,
        errors: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        self.data: dict[str, Any] = {
            "type": "about:blank",  # what it is says `code`
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
            "code": code,
            "errors": dict(errors or {}),
            **members,
            # What programs of 0.2 read.
            "message": detail,
            "details": {**(errors or {}), **members},
        }
        super().__init__(
            self.data, json_dumps_params={"ensure_ascii": False}, status=status, headers=headers
        )
        self["Content-Type"] = PROBLEM
        if wait := RETRY_AFTER.get(status):
            self.setdefault("Retry-After", str(wait))


def error_response(error: Exception, context: Mapping[str, Any]) -> Problem | None:
    """The response for `error`; None for an unexpected error, which becomes a 500."""
    if isinstance(error, RequestDataTooBig):
        set_rollback()
        text = "The body is too large. Files go to /api/v1/documents/ as multipart."
        return Problem("body_too_large", text, 413)
    if isinstance(error, SuspiciousOperation):
        set_rollback()
        text = "The request is malformed: too many fields or files."
        return Problem("bad_request", text, 400)
    response = exception_handler(error, dict(context))
    if response is None:
        return None
    headers = {
        name: response[name] for name in ("WWW-Authenticate", "Retry-After") if name in response
    }
    return _problem(error, response.status_code, headers, _hint(error, context.get("view")))


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


def _problem(error: Exception, status: int, headers: Mapping[str, str], hint: str) -> Problem:
    """The response for an exception of Django or Django REST framework."""
    match error:
        case Http404() | exceptions.NotFound():
            return Problem("not_found", NOT_FOUND, status)
        case exceptions.ValidationError():
            fields = _fields(error.detail)
            return Problem("invalid", _first_sentence(fields), status, fields)
        case exceptions.Throttled():
            seconds = getattr(error, "wait", None)  # already whole, rounded up
            text = "Too many requests." + (f" Try again in {seconds} s." if seconds else "")
            members = {"wait_seconds": seconds} if seconds else {}
            return Problem("throttled", text, status, headers=headers, **members)
        case exceptions.NotAuthenticated():
            text = "Sign in, or send a token in the header `Authorization: Bearer ...`."
            return Problem("not_authenticated", text, status, headers=headers)
        case exceptions.APIException():
            return Problem(
                _code(error), _sentence(str(error.detail)) + hint, status, headers=headers
            )
        case _:  # Django's PermissionDenied: DRF's handler handles no other
            return Problem("permission_denied", "You do not have permission to do this.", status)


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
