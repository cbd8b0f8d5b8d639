"""Helpers for requests: parameters, body, user, size limits, and ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from common.api.errors import TooLarge

if TYPE_CHECKING:
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
    """Decorate a view with what it states of itself for the server: `kbsite.serving.limits`."""

    def decorated(view: View) -> View:
        view.__dict__.update(attributes)
        return view

    return decorated


class LimitedParser(MultiPartParser):
    """A multipart parser that refuses by Content-Length, before anything fills the disk."""

    most_bytes: ClassVar[str]
    """The setting that limits the body's files."""
    raised_by: ClassVar[str]
    """The environment variable of that setting."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        most = getattr(settings, self.most_bytes)
        length = str((parser_context or {})["request"].META.get("CONTENT_LENGTH") or 0)
        if length.isdecimal() and int(length) > most + FORM_BYTES:
            raise TooLarge(
                f"The file is larger than {most // (1024 * 1024):,} MB. Split it, or raise "
                f"{self.raised_by}."
            )
        return super().parse(stream, media_type, parser_context)


def read_query(request: Request, form: type[Form]) -> Form:
    """The validated query parameters. Raises ValidationError."""
    return _checked(form(data=request.query_params))


def read_body(request: Request, form: type[Form], **options: Any) -> Form:
    """The validated fields of the body. Raises ValidationError."""
    return _checked(form(data=request.data, **options))


def actor(request: Request | HttpRequest) -> User:
    """The signed-in user, for a view that requires one."""
    return cast("User", request.user)


def location(request: Request, name: str, *keys: object) -> dict[str, str]:
    """The Location header with the URL of a row, in the current view's namespace."""
    match = request.resolver_match
    namespace = f"{match.namespace}:" if match is not None and match.namespace else ""
    return {"Location": reverse(f"{namespace}{name}", args=keys)}


def _checked(form: Form) -> Form:
    form.is_valid(raise_exception=True)
    return form
