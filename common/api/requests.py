"""What views read of a request: parameters, body, user, rank."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, TypeVar, cast

from django.http import HttpRequest
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from common.accounts.models import User

Form = TypeVar("Form", bound=serializers.BaseSerializer[Any])
View = TypeVar("View", bound=Callable[..., Any])

# Allowance for a form's other content besides files: names, boundaries, a title.
FORM_BYTES = 1024 * 1024


class Rank(IntEnum):
    """The order in which waiting requests are served (kbsite/serving/admission.py)."""

    SEARCH = 0
    AGENT = 1
    UPLOAD = 2
    CHANGE = 3
    STAFF = 4  # signing in and administration, which have a share of their own


def states(**attributes: Any) -> Callable[[View], View]:
    """Decorate a view with its rank and limits, for `kbsite.serving.priorities`."""

    def decorated(view: View) -> View:
        view.__dict__.update(attributes)
        return view

    return decorated


def read_query(request: Request, form: type[Form]) -> Form:
    """The validated query parameters. Raises ValidationError."""
    parameters = _filled(request, form, request.query_params)
    parameters.__dict__["noun"] = "parameter"  # in errors, see Strict
    return checked(request, parameters)


def body_of(request: Request) -> Any:
    """The fields of the body; at an old address that reads none, those that it implies."""
    view = (request.parser_context or {}).get("view")
    return getattr(view, "implied_body", None) or request.data


def read_body(request: Request, form: type[Form], **options: Any) -> Form:
    """The validated fields of the body. Raises ValidationError."""
    return checked(request, _filled(request, form, body_of(request), **options))


def _filled(request: Request, form: type[Form], data: Any, **options: Any) -> Form:
    """The form with the data, and with the request if its fields ask for it (`Parameters`)."""
    needs_request = getattr(form, "needs_request", True)
    return form(data=data, context={"request": request} if needs_request else {}, **options)


def actor(request: Request | HttpRequest) -> User:
    """The signed-in user, for a view that requires one."""
    return cast("User", request.user)


def location(request: Request, name: str, *keys: object) -> dict[str, str]:
    """The Location header with the absolute URL of a row, in the current view's namespace."""
    match = request.resolver_match
    namespace = f"{match.namespace}:" if match is not None and match.namespace else ""
    return {"Location": request.build_absolute_uri(reverse(f"{namespace}{name}", args=keys))}


def checked(request: Request, form: Form) -> Form:
    """The form of the request, valid. Raises ValidationError."""
    try:
        form.is_valid(raise_exception=True)
    finally:
        if getattr(form, "has_old_names", False):
            request.has_old_names = True  # type: ignore[attr-defined]
    return form
