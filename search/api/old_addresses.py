"""Addresses of 0.2 and 0.3.0 that answer until 0.4, each by the view of the one in its place."""

from __future__ import annotations

from functools import wraps
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse

from common.api.views import DEPRECATED


class Present(NamedTuple):
    """What answers in the place of an old address.

    `implied` are arguments of the present route that the old one had in its words, `actions` the
    view's actions by method, where they are others now, with `options` of the view. Arguments of
    the old route alone are passed to the action.
    """

    route: str
    implied: dict[str, str] = {}
    actions: dict[str, str] = {}
    options: dict[str, Any] = {}


def _patch(route: str, fields: dict[str, Any], **options: Any) -> Present:
    """A PATCH of these fields in place of a POST that read none."""
    return Present(route, {}, {"post": "partial_update"}, {"implied_body": fields, **options})


DOCUMENT, COLLECTION = "documents/<uuid:public_id>/", "collections/<slug:slug>/"
IMPORT, RUN = "imports/<int:number>/", "runs/<int:run>/"
PUBLICATION, TOKEN = "publications/<int:publication>/", "auth/token/<slug:key>/"
CHUNK = f"{DOCUMENT}chunks/<int:chunk>/"
CURATION, CURATED = "curation/<curated:kind>/", "curation/<curated:kind>/<int:pk>/"
QUEUED, CANCELLED = {"state": "queued"}, {"state": "cancelled"}
OLD: dict[str, Present] = {
    "auth/logout/": Present(TOKEN, {"key": "self"}, {"post": "destroy"}),
    "auth/logoutall/": Present(TOKEN, {"key": "all"}, {"post": "destroy"}),
    "pins/": Present(CURATION, {"kind": "pin"}),
    "pins/<int:pk>/": Present(CURATED, {"kind": "pin"}),
    "hides/": Present(CURATION, {"kind": "hide"}),
    "hides/<int:pk>/": Present(CURATED, {"kind": "hide"}),
    f"{COLLECTION}restore/": _patch(COLLECTION, {"deleted": False}),
    f"{DOCUMENT}restore/": _patch(DOCUMENT, {"deleted": False}),
    f"{DOCUMENT}reprocess/": _patch(DOCUMENT, QUEUED),
    f"{DOCUMENT}retry/": _patch(DOCUMENT, QUEUED, only_failed=True),
    f"{DOCUMENT}versions/<int:number>/original/": Present(f"{DOCUMENT}original/"),
    f"{DOCUMENT}versions/<int:number>/make-current/": Present(
        f"{DOCUMENT}versions/", {}, {"post": "make_current"}
    ),
    f"{CHUNK}edit/": Present(CHUNK, {}, {"put": "update", "delete": "undo"}),
    f"{IMPORT}cancel/": _patch(IMPORT, CANCELLED),
    f"{IMPORT}resume/": _patch(IMPORT, QUEUED),
    f"{IMPORT}retry/": _patch(IMPORT, QUEUED),
    "judgements/export/": Present("judgements/file/", {}, {"get": "export"}),
    "judgements/import/": Present("judgements/file/", {}, {"post": "import_file"}),
    "profiles/<profile:profile>/publish/": Present("publications/", {}, {"post": "create"}),
    f"{PUBLICATION}cancel/": _patch(PUBLICATION, CANCELLED),
    f"{RUN}cancel/": _patch(RUN, CANCELLED),
}


def old_addresses(patterns: list[Any]) -> list[URLPattern]:
    """The patterns of the old addresses, whose views are among `patterns`; not in the schema."""
    by_route = {str(each.pattern): each for each in patterns}
    return [path(old, _old(by_route[new.route], new), new.implied) for old, new in OLD.items()]


def _old(pattern: URLPattern, present: Present) -> Any:
    """The pattern's view with the headers Deprecation (RFC 9745) and Link (RFC 8288)."""
    view: Any = pattern.callback
    if present.actions:
        view = view.cls.as_view(present.actions, **view.initkwargs, **present.options)

    @wraps(view)
    def answer(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        response: HttpResponseBase = view(request, **arguments)
        names = arguments.keys() & pattern.pattern.converters.keys()
        own = {name: arguments[name] for name in names}
        address = request.build_absolute_uri(reverse(f"api:{pattern.name}", kwargs=own))
        links = (response.get("Link"), f'<{address}>; rel="successor-version"')
        response["Link"] = ", ".join(filter(None, links))
        response["Deprecation"] = DEPRECATED
        return response

    answer.initkwargs = {**getattr(view, "initkwargs", {}), "schema": None}  # type: ignore[attr-defined]
    return answer
