"""The OpenAPI schema, derived from docstrings, permissions and parsers, not decorators."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework.permissions import SAFE_METHODS, AllowAny

from common.accounts import app_grants
from common.api.access import OPEN, needed
from common.api.errors import PROBLEM
from common.api.idempotency import HEADER
from common.api.serializers import Parameters, Strict
from common.api.views import StrictView, handler_of, parameters_of

# OpenAI's and OAuth's addresses. They have conventions of their own, and no serializers.
PROTOCOLS = Path(__file__).with_name("other_protocols.yaml")
_TEXT = {"type": "string"}
_OBJECT = {"type": "object", "additionalProperties": True}
ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Problem details (RFC 9457): a code for programs, a sentence for people, and "
    "messages by field. `message` and `details` are their names of 0.2, until 0.4.",
    "required": ["type", "title", "status", "detail", "code", "errors"],
    "properties": {
        **dict.fromkeys(("type", "title", "detail", "code", "message"), _TEXT),
        "status": {"type": "integer"},
        **dict.fromkeys(("errors", "details"), _OBJECT),
    },
    "additionalProperties": True,
}
# The headers by which a client guards a change.
GUARDS = {
    HEADER: "A word of your choice. The same request with the same key within 24 hours gets the "
    "first answer and creates nothing; another request with it is refused (422).",
    "If-Match": "The ETag of the row as you read it: if it has changed since, nothing is done "
    "(412).",
}

# What each error status of an operation means.
ERRORS = {
    400: "The request is not valid.",
    401: "The request needs a user.",
    403: "The user may not do this.",
    404: "Not found, or the user may not see it.",
    405: "The row does not take this method.",
    409: "The row's state does not allow this.",
    412: "The row has changed since its ETag was read.",
    413: "The body or its file is too large.",
    415: "The body has a media type that is not read here.",
    422: "The Idempotency-Key was sent with another request.",
    429: "Too many requests; the header Retry-After says when to try again.",
    503: "A required service is not available.",
    507: "The disk is full.",
}

_TITLES = {
    "list": "List {plural}",
    "retrieve": "Show {one}",
    "create": "Create {one}",
    "update": "Replace {one}",
    "partial_update": "Change {one}",
    "destroy": "Delete {one}",
}


class Schema(AutoSchema):
    """Summaries from docstrings, security from permissions, and the errors of each operation."""

    def get_summary(self) -> str | None:
        return self._documented()[0]

    def get_description(self) -> str:  # type: ignore[override]
        return self._documented()[1]

    def get_request_serializer(self) -> Any:
        """For an extra action, its `body`: most have none."""
        is_extra = getattr(self.view, "action", None) not in (None, *_TITLES)
        return getattr(self.view, "body", None) if is_extra else super().get_request_serializer()

    def get_override_parameters(self) -> list[Any]:
        if not isinstance(self.view, StrictView):
            return []
        form = parameters_of(self.view, self.method)
        obeyed = self.view.obeyed_guards(self.method)
        guards = [
            OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text)
            for name, text in GUARDS.items()
            if name in obeyed and self.method not in SAFE_METHODS
        ]
        return guards if form is Parameters else [form, *guards]

    def get_auth(self) -> list[dict[str, Any]]:
        auths: list[dict[str, Any]] = super().get_auth()
        if self._permission() == OPEN and {} not in auths:
            auths.append({})
        return auths

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation:
            errors = {*self._errors(), *((413, 415) if "requestBody" in operation else ())}
            parameters = operation.get("parameters", ())
            if any(each["in"] == "query" for each in parameters):
                errors.add(400)
            names = {each["name"] for each in parameters}
            guards = {HEADER: 422, "If-Match": 412}
            errors |= {guards[name] for name in names & guards.keys()}
            for status in sorted(errors):
                operation["responses"].setdefault(str(status), error_response(status))
        return operation

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Any:
        schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        kind = serializer if isinstance(serializer, type) else type(serializer)
        if direction == "request" and issubclass(kind, Strict):
            schema["additionalProperties"] = False
        return schema

    def _permission(self) -> str | None:
        if AllowAny in {type(each) for each in self.view.get_permissions()}:
            return OPEN
        return needed(self.view) if getattr(self.view, "action", None) else None

    def _documented(self) -> tuple[str | None, str]:
        """The summary and the description; for inherited actions, from the model's name."""
        first, _, rest = (inspect.getdoc(handler_of(self.view, self.method)) or "").partition("\n")
        if first:
            return first.removesuffix("."), rest.strip()
        title = _TITLES.get(getattr(self.view, "action", ""))
        options = getattr(self.view, "queryset", None)
        if title is None or options is None:
            return None, ""
        names = options.model._meta
        name, plural = getattr(self.view, "names", (names.verbose_name, names.verbose_name_plural))
        one = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
        about = inspect.getdoc(type(self.view)) or ""
        summary = title.format(plural=plural, one=one)
        return summary, about if self.method == "GET" else ""

    def _errors(self) -> Iterator[int]:
        yield from (401, 429)  # an invalid token is refused everywhere
        writes = self.method not in SAFE_METHODS
        if self._permission() != OPEN or writes:
            yield 403
        if writes:
            yield from (400, 409)
        elif "{" not in self.path or self._is_list_view():
            yield 400  # it reads parameters
        if "{" in self.path:
            yield 404
        yield from getattr(self.view, "error_statuses", ())


def error_response(status: int) -> dict[str, Any]:
    """The schema of an error response."""
    content = {"schema": {"$ref": "#/components/schemas/Error"}}
    return {"description": ERRORS[status], "content": {PROBLEM: content}}


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The schema with what all errors reference, and the other protocols that are on."""
    schemas = result["components"].setdefault("schemas", {})
    schemas["Error"] = ERROR_SCHEMA
    used = (each["tags"][0] for methods in result["paths"].values() for each in methods.values())
    tags = {each["name"]: each for each in result["tags"]}
    tags |= {name: {"name": name} for name in used if name not in tags}  # the others come last
    for tag, protocol in yaml.safe_load(PROTOCOLS.read_text()).items():
        if tag != "oauth" or app_grants.is_on():
            tags[tag] = {"name": tag, "description": protocol["description"]}
            result["paths"] |= protocol["paths"]
            schemas |= protocol["schemas"]
    return {**result, "tags": [*tags.values()]}
