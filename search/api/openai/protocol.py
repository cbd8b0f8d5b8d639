"""The views and errors of OpenAI's API: keys, refusals, and the shape of an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import JsonResponse
from rest_framework import exceptions
from rest_framework.authentication import get_authorization_header
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from common.api.access import TokenAuthentication
from common.api.requests import Rank
from common.api.serializers import BoundedJSONParser
from common.api.views import AnyNegotiation, StrictView
from search.api.parameters import error_response
from search.errors import SearchError

# Clients insist on a key: with this one they ask as visitors who are not signed in.
NO_KEY = b"anonymous"


class KeyAuthentication(TokenAuthentication):
    """This site's tokens, and the key that clients of visitors send."""

    takes_sessions = False

    def authenticate(self, request: Request) -> Any:
        if get_authorization_header(request).split()[1:] == [NO_KEY]:
            return None
        return super().authenticate(request)


class BadRequest(SearchError):
    """A parameter that this API cannot follow. `param` names it."""

    def __init__(self, message: str, param: str, code: str = "invalid_value") -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class NoSuchEndpoint(exceptions.NotFound):
    """An address of OpenAI's API that this site does not have."""

    default_detail = "There is nothing at this address. Use /v1/chat/completions or /v1/models."


class NoSuchModel(NoSuchEndpoint):
    """There is no such model, or its collection is not the caller's to read."""

    default_code = "model_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The model {name!r} does not exist, or you may not use it. GET /v1/models lists yours."
        )


_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_CODES = {"not_authenticated": "invalid_api_key", "authentication_failed": "invalid_api_key"}


def shaped(code: str, message: str, status: int, param: str | None = None) -> dict[str, Any]:
    """The body of an error in OpenAI's shape."""
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def in_shape(error: Exception, context: Mapping[str, Any]) -> JsonResponse | None:
    """The response that states `error`; None for an unexpected one, which becomes a 500."""
    response = error_response(error, context)
    if response is None:
        return None
    code, message = response.data["code"], response.data["detail"]
    if isinstance(error, NoSuchEndpoint):
        code, message = str(error.get_codes()), str(error.detail)
    if isinstance(error, exceptions.NotAuthenticated):
        message = "This needs a token: send it in the header `Authorization: Bearer ...`."
    param = getattr(error, "param", None)
    data = shaped(_CODES.get(code, code), message, response.status_code, param)
    headers = {name: value for name, value in response.items() if name != "Content-Type"}
    return JsonResponse(data, status=response.status_code, headers=headers)


class CompatibleView(StrictView):
    """A view of the protocol. common/api/other_protocols.yaml describes it for the schema."""

    authentication_classes = (KeyAuthentication,)
    permission_classes: tuple[type[BasePermission], ...] = (AllowAny,)
    needs_scope = "read"  # also by POST: questions
    rank = Rank.SEARCH
    parser_classes = (BoundedJSONParser,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = AnyNegotiation
    guards = frozenset()  # its clients send keys unasked
    is_repeatable = False
    schema = None

    def get_exception_handler(self) -> Callable[..., Any]:
        return in_shape


class UnknownAddressView(CompatibleView):
    """A 404 in OpenAI's shape for an unknown address."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NoSuchEndpoint


def fields_of(request: Request) -> dict[str, Any]:
    """The body, a JSON object. Raises BadRequest."""
    if not isinstance(request.data, dict):
        raise BadRequest("The body must be a JSON object.", "")
    return request.data
