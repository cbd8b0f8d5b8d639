"""What every view of the API asks of a request: who may, how large it is, what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from django.conf import settings
from django.urls import reverse
from rest_framework import serializers, status
from rest_framework.exceptions import APIException
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from ingestion.errors import FileTooLarge

if TYPE_CHECKING:
    from common.accounts.models import User

Form = TypeVar("Form", bound=serializers.BaseSerializer[Any])

# What a form may hold besides its file: names, boundaries, a title.
FORM_BYTES = 1024 * 1024


class Conflict(APIException):
    """The row is not in the state that the request needs."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class ActionPermission(BasePermission):
    """Lets a request through whose user holds the permission that the view names for its action.

    An action that the view does not name is refused; an empty name means that reading is free.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if view.action is None:
            return True  # nothing will run: the answer is 405
        needed = view.permissions_needed.get(view.action)
        if needed is None:
            return False
        return not needed or bool(request.user.is_authenticated and request.user.has_perm(needed))


class LimitedParser(MultiPartParser):
    """A multipart parser that refuses by the stated length, before the disk is filled."""

    most_bytes: ClassVar[str]
    """The setting that limits the file."""
    raised_by: ClassVar[str]
    """The environment's variable that it is read from."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        most = getattr(settings, self.most_bytes)
        length = str((parser_context or {})["request"].META.get("CONTENT_LENGTH") or 0)
        if length.isdecimal() and int(length) > most + FORM_BYTES:
            raise FileTooLarge(
                f"The file is larger than {most // (1024 * 1024):,} MB. Split it, or raise "
                f"{self.raised_by}."
            )
        return super().parse(stream, media_type, parser_context)


class UploadParser(LimitedParser):
    most_bytes = "MAX_UPLOAD_BYTES"
    raised_by = "MAX_UPLOAD_MB"


class ImportParser(LimitedParser):
    most_bytes = "IMPORT_MAX_BYTES"
    raised_by = "IMPORT_MAX_MB"


def asked(request: Request, form: type[Form]) -> Form:
    """The parameters of the address. Raises ValidationError."""
    return _checked(form(data=request.query_params))


def posted(request: Request, form: type[Form], **options: Any) -> Form:
    """What the body holds. Raises ValidationError."""
    return _checked(form(data=request.data, **options))


def actor(request: Request) -> User:
    """Who acts, where the view lets nobody in who is not signed in."""
    return cast("User", request.user)


def location(request: Request, name: str, key: object) -> dict[str, str]:
    """The header with the address of a row, beside the view that was asked, wherever that is."""
    match = request.resolver_match
    namespace = f"{match.namespace}:" if match is not None and match.namespace else ""
    return {"Location": reverse(f"{namespace}{name}", args=(key,))}


def _checked(form: Form) -> Form:
    form.is_valid(raise_exception=True)
    return form
