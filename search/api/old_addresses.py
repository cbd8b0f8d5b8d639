"""Addresses of 0.2 that answer until 0.4, each by the view of the address in its place."""

from __future__ import annotations

from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse

from common.api.views import DEPRECATED

# By the old route the present one, and the arguments of it that the old one implied.
OLD: dict[str, tuple[str, dict[str, str]]] = {
    "pins/": ("curation/<curated:kind>/", {"kind": "pin"}),
    "pins/<int:pk>/": ("curation/<curated:kind>/<int:pk>/", {"kind": "pin"}),
    "hides/": ("curation/<curated:kind>/", {"kind": "hide"}),
    "hides/<int:pk>/": ("curation/<curated:kind>/<int:pk>/", {"kind": "hide"}),
    "documents/<uuid:public_id>/retry/": ("documents/<uuid:public_id>/reprocess/", {}),
    "imports/<int:number>/retry/": ("imports/<int:number>/resume/", {}),
}


def old_addresses(patterns: list[Any]) -> list[URLPattern]:
    """The patterns of the old addresses, whose views are among `patterns`; not in the schema."""
    by_route = {str(each.pattern): each for each in patterns}
    return [path(old, _old(by_route[new], implied), implied) for old, (new, implied) in OLD.items()]


def _old(pattern: URLPattern, implied: dict[str, str]) -> Any:
    """The pattern's view with the headers Deprecation (RFC 9745) and Link (RFC 8288)."""
    view: Any = pattern.callback

    @wraps(view)
    def answer(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        response: HttpResponseBase = view(request, **arguments)
        address = request.build_absolute_uri(reverse(f"api:{pattern.name}", kwargs=arguments))
        links = (response.get("Link"), f'<{address}>; rel="successor-version"')
        response["Link"] = ", ".join(filter(None, links))
        response["Deprecation"] = DEPRECATED
        return response

    answer.initkwargs = {**getattr(view, "initkwargs", {}), "schema": None}  # type: ignore[attr-defined]
    return answer
