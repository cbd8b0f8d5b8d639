"""Every view set declares who may do what, and what nobody declared is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.urls import get_resolver
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from common.accounts.models import User
from common.api.access import OPEN, needed, requires
from common.api.viewsets import ApiViewSet
from ingestion.models import Collection
from tests.support.url_walker import routes

pytestmark = pytest.mark.django_db
METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
# Whoever adds an address that visitors may read says so here.
OPEN_READS = {
    "api/v1/concepts/",
    "api/v1/collections/", "api/v1/collections/<slug:slug>/", "api/v1/documents/",
    "api/v1/documents/<uuid:public_id>/", "api/v1/documents/<uuid:public_id>/versions/",
    "api/v1/documents/<uuid:public_id>/sections/<int:chunk>/", "api/v1/profiles/",
    "api/v1/profiles/<profile:profile>/", "api/v1/answers/",
    "api/v1/answers/<uuid:answer_id>/",
}  # fmt: skip
# Of these, also the writing: visitors ask, and say whether it helped.
OPEN_WRITES = {"api/v1/answers/", "api/v1/answers/<uuid:answer_id>/feedback/"}


class Undeclared(ApiViewSet[Collection]):
    """A view set with an action that says nothing of permissions."""

    queryset = Collection.objects.none()

    def look(self, request: Any) -> Any:
        raise AssertionError("it must not run")

    def delete(self, request: Any) -> Any:
        raise AssertionError("it must not run")

    @requires("ingestion.view_collection")
    def declared(self, request: Any) -> Any: ...


def test_an_action_without_a_declaration_is_refused_even_to_superusers(
    administrator: User,
) -> None:
    view = Undeclared.as_view({"get": "look"})
    for user in (administrator, AnonymousUser()):
        for method in ("get", "delete"):
            request = getattr(APIRequestFactory(), method)("/")
            request._force_auth_user = user
            assert view(request).status_code in (401, 403)


def test_what_an_action_needs() -> None:
    view = Undeclared()
    expected = {
        "list": "ingestion.view_collection", "create": "ingestion.add_collection",
        "partial_update": "ingestion.change_collection", "destroy": "ingestion.delete_collection",
        "declared": "ingestion.view_collection", "look": None,
    }  # fmt: skip
    for action, permission in expected.items():
        view.action = action
        assert needed(view) == permission, action
    view.open_to_read = True  # type: ignore[misc]
    view.action = "list"
    assert needed(view) == OPEN
    view.action = "destroy"
    assert needed(view) == "ingestion.delete_collection"


def view_sets() -> list[tuple[str, Any, dict[str, str]]]:
    """Each address of the API that a view set answers, with its methods' actions."""

    def callbacks(patterns: Any, above: str) -> Any:
        for each in patterns:
            route = above + str(each.pattern)
            if hasattr(each, "url_patterns"):
                yield from callbacks(each.url_patterns, route)
            elif issubclass(getattr(each.callback, "cls", APIView), ViewSetMixin):
                yield route, each.callback.cls, each.callback.actions

    return list(callbacks(get_resolver().url_patterns, ""))


def test_every_action_of_the_api_declares_its_permission() -> None:
    found = view_sets()
    assert len(found) > 60
    assert {route for route, *_ in found} <= {each.route for each in routes()}
    opened = set()
    for route, cls, actions in found:
        clashes = {name for name in METHODS if name in vars(cls)}
        assert not clashes, f"{cls}: an action named like a method"
        if not issubclass(cls, ApiViewSet) or "auth/" in route or "threads/" in route:
            continue  # those name their own permission classes
        for method, action in actions.items():
            view = cls()
            view.action = action
            permission = needed(view)
            assert permission is not None, (route, method)
            if permission == OPEN:
                assert method in ("get", "head") or route in OPEN_WRITES, (route, method)
                opened.add(route)
    assert opened == OPEN_READS | OPEN_WRITES
