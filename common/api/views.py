"""The base of every view: what its address and its body may hold is declared, all else refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.api import idempotency
from common.api.requests import read_query
from common.api.serializers import Parameters

Handler = TypeVar("Handler", bound=Callable[..., Any])

# The actions of a view set whose bodies its serializers read, and those of a plain view.
_WITH_BODY = frozenset({"create", "update", "partial_update", "post", "put", "patch"})
# What clients send where there is nothing to send.
_EMPTY = (b"", b"{}")
# RFC 9745: since when names and addresses of 0.2 are deprecated, 28 November 2026.
DEPRECATED = "@1795824000"
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


def reads(parameters: type[Parameters]) -> Callable[[Handler], Handler]:
    """Declare the parameters of the address that one action reads."""

    def declare(handler: Handler) -> Handler:
        handler.parameters = parameters  # type: ignore[attr-defined]
        return handler

    return declare


def parameters_of(view: Any, method: str) -> type[Parameters]:
    """The form of the parameters that the view's action reads: its own, or that of a list."""
    declared = getattr(handler_of(view, method), "parameters", None)
    is_list = getattr(view, "action", "") == "list"
    return declared or (view.list_form() if is_list else Parameters)


def handler_of(view: Any, method: str) -> Any:
    """The method of the view that answers; None where there is none."""
    return getattr(view, getattr(view, "action", None) or method.lower(), None)


class StrictView(APIView):
    """A view that answers 400 to parameters, bodies and headers that its action does not read.

    To ignore them would widen a request: a filter in the address of a POST, say. `parameters` are
    those of the request, once it is permitted.
    """

    parameters: Any
    body: ClassVar[Any] = None
    """The serializer of the body of an extra action; None: it reads none."""
    guards: ClassVar[frozenset[str]] = frozenset(
        {"If-Match", "If-None-Match", "If-Unmodified-Since", "Content-Range", idempotency.HEADER}
    )
    """Headers by which a client restricts a change: one that is not obeyed is refused."""
    implied_body: ClassVar[Any] = None
    """The fields of the body (`body_of`), at an old address that reads none."""
    is_repeatable: ClassVar[bool] = True
    """Whether a POST may have an Idempotency-Key: not if it makes nothing, or a secret."""

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if getattr(request, "has_old_names", False):
            response["Deprecation"] = DEPRECATED
        return response

    def obeyed_guards(self, method: str) -> set[str]:
        """The guards that the present action obeys."""
        return {idempotency.HEADER} if method == "POST" and self.is_repeatable else set()

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Say which methods there are, in the header Allow, to everybody."""
        return Response(status=status.HTTP_204_NO_CONTENT)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        method = str(request.method)
        if method == "OPTIONS":
            return
        super().initial(request, *args, **kwargs)
        handler = handler_of(self, method)
        if handler is None:
            return
        form = parameters_of(self, method)
        self.parameters = read_query(request, form)
        if method in ("GET", "HEAD", "DELETE") or not self._reads_body(method):
            _refuse_body(request)
        if method not in SAFE_METHODS:
            self._obey_guards(request, method)

    def _obey_guards(self, request: Request, method: str) -> None:
        obeyed = self.obeyed_guards(method)
        if not request.user.is_authenticated:
            obeyed -= {idempotency.HEADER}  # a visitor has no keys
        names = {name for name in self.guards if name in request.headers}
        if names - obeyed:
            text = "This header is not obeyed at this address. Leave it out."
            raise ValidationError({name: [text] for name in names - obeyed})
        if idempotency.HEADER in names:
            self.__dict__["post"] = idempotency.keyed(handler_of(self, method))

    def _reads_body(self, method: str) -> bool:
        action = getattr(self, "action", None) or method.lower()
        return not self.implied_body and (action in _WITH_BODY or bool(self.body))


def _refuse_body(request: Request) -> None:
    """Raise ValidationError if there is a body."""
    django_request = request._request
    if not int(request.META.get("CONTENT_LENGTH") or 0):
        return
    if django_request.content_type in _FORMS:
        is_empty = not (django_request.POST or django_request.FILES)
    else:
        is_empty = django_request.body.strip() in _EMPTY
    if not is_empty:
        raise ValidationError(f"Send no body: {request.method} reads none at this address.")


class AnyNegotiation(DefaultContentNegotiation):
    """Answer whatever `Accept` says: with a file, or in the shape of another protocol."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type
