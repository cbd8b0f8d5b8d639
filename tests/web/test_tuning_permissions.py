"""Who may do what about search: each group at every address of the API and the admin."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission
from django.test import Client
from django.urls import get_resolver
from rest_framework.test import APIClient, APIRequestFactory
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from common.accounts.models import User
from common.api.access import OPEN, needed
from common.api.viewsets import ApiViewSet
from ingestion.models import Collection
from search.models import SearchProfile
from search.parts.experiments.models import Experiment
from search.tuning import gate_runs
from search.tuning.install_defaults import GROUPS, install_groups
from search.tuning.models import EvaluationRun, GoldenQuery, Optimisation, Publication
from tests.support.golden_library import active_profile, draft_with
from tests.support.url_walker import routes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

ANYONE, NOBODY = "anyone", "nobody"
VIEWER, JUDGE, TUNER, PUBLISHER = GROUPS
LADDER = (NOBODY, VIEWER, JUDGE, TUNER, PUBLISHER)

# The least that each method at each address of the API asks for. `{draft}` and the like are filled
# in. Whoever adds an address to these parts says here who may use it.
API: dict[tuple[str, str], str] = {
    ("get", "profiles/"): ANYONE,
    ("post", "profiles/"): TUNER,
    ("get", "profiles/default@5/"): ANYONE,
    ("get", "profiles/default/"): ANYONE,
    ("get", "profiles/{draft}/"): VIEWER,
    ("patch", "profiles/{draft}/"): TUNER,
    ("get", "profiles/{draft}/differences/"): VIEWER,
    ("post", "profiles/{draft}/publish/"): PUBLISHER,
    ("post", "rollback/"): PUBLISHER,
    ("get", "profile-changes/"): VIEWER,
    ("get", "publications/"): VIEWER,
    ("post", "publications/"): PUBLISHER,
    ("get", "publications/{publication}/"): VIEWER,
    ("patch", "publications/{publication}/"): PUBLISHER,
    ("post", "publications/{publication}/cancel/"): PUBLISHER,
    ("get", "runs/"): VIEWER,
    ("post", "runs/"): TUNER,
    ("get", "runs/{run}/"): VIEWER,
    ("patch", "runs/{run}/"): TUNER,
    ("post", "runs/{run}/cancel/"): TUNER,
    ("get", "golden-queries/"): VIEWER,
    ("post", "golden-queries/"): JUDGE,
    ("get", "golden-queries/{golden}/"): VIEWER,
    ("patch", "golden-queries/{golden}/"): JUDGE,
    ("delete", "golden-queries/{golden}/"): TUNER,
    ("get", "judgements/"): VIEWER,
    ("post", "judgements/"): JUDGE,
    ("get", "judgements/file/"): VIEWER,
    ("post", "judgements/file/"): JUDGE,
    ("get", "judgements/export/"): VIEWER,
    ("post", "judgements/import/"): JUDGE,
    **{
        (method, f"{rows}/{one}"): VIEWER if method == "get" else least
        for rows, least in (
            *((rows, TUNER) for rows in ("curation/pin", "curation/hide", "pins", "hides")),
            *((rows, TUNER) for rows in ("synonyms", "classifier-rules")),
            ("scope-profiles", PUBLISHER),
        )
        for method, one in (
            ("get", ""),
            ("post", ""),
            ("get", "{row}/"),
            ("patch", "{row}/"),
            ("delete", "{row}/"),
        )
    },
    # Last: what the others name is gone then.
    ("delete", "profiles/{draft}/"): TUNER,
}
ADMIN: dict[tuple[str, str], str] = {
    ("get", "searchprofile/"): VIEWER,
    ("get", "searchprofile/add/"): TUNER,
    ("get", "searchprofile/{pk}/change/"): VIEWER,
    ("get", "searchprofile/{pk}/publish/"): PUBLISHER,
    ("post", "searchprofile/{pk}/publish/"): PUBLISHER,
    ("get", "searchprofile/{active}/rollback/"): PUBLISHER,
    ("post", "searchprofile/{active}/rollback/"): PUBLISHER,
    ("get", "profilechange/"): VIEWER,
    ("get", "publishgate/1/change/"): VIEWER,
    ("get", "publication/"): VIEWER,
    ("get", "publication/{publication}/change/"): VIEWER,
    ("post", "publication/{publication}/cancel/"): PUBLISHER,
    ("get", "evaluationrun/"): VIEWER,
    ("get", "evaluationrun/start/"): TUNER,
    ("get", "evaluationrun/{run}/change/"): VIEWER,
    ("post", "evaluationrun/{run}/cancel/"): TUNER,
    ("get", "goldenquery/"): VIEWER,
    ("get", "goldenquery/add/"): JUDGE,
    ("get", "goldenquery/{query}/change/"): VIEWER,
    ("get", "goldenquery/import/"): JUDGE,
    ("get", "goldenquery/export/"): VIEWER,
    ("get", "optimisation/"): VIEWER,
    ("get", "optimisation/start/"): TUNER,
    ("get", "optimisation/{optimisation}/change/"): VIEWER,
    ("post", "optimisation/{optimisation}/cancel/"): TUNER,
    ("get", "experiment/"): VIEWER,
    ("get", "experiment/add/"): TUNER,
    ("get", "experiment/{experiment}/change/"): VIEWER,
    ("get", "experiment/{experiment}/start/"): PUBLISHER,
    ("post", "experiment/{experiment}/end/"): PUBLISHER,
    ("get", "hide/"): VIEWER,
    ("get", "hide/add/"): TUNER,
    ("get", "scopeprofile/"): VIEWER,
    ("get", "scopeprofile/add/"): PUBLISHER,
}


@pytest.fixture
def names(administrator: User) -> dict[str, Any]:
    """What addresses name: a draft, a publication that was refused, a run, a golden query."""
    draft = draft_with(depth=60)
    publication = Publication.objects.create(
        profile=draft, fingerprint="0" * 64, user=administrator, state="refused"
    )
    run = EvaluationRun.objects.create(state="done", profile=draft)
    query = GoldenQuery.objects.create(text="Where is the ferry?")
    retired = SearchProfile.objects.filter(state="retired").first()
    experiment = Experiment.objects.create(name="Try it", a=active_profile(), b=retired)
    gate_runs.gate_row()
    optimisation = Optimisation.objects.create(profile=draft)
    return {
        "optimisation": optimisation.pk,
        "row": 987654321,
        "draft": f"{draft.name}@{draft.version}",
        "pk": draft.pk,
        "active": active_profile().pk,
        "publication": publication.pk,
        "run": run.pk,
        "experiment": experiment.pk,
        "golden": query.public_id,
        "query": query.pk,
    }


def person(group: str, *, staff: bool = False) -> User:
    user = User.objects.create_user(f"{group}-{staff}", password="pw", is_staff=staff)
    if group != NOBODY:
        user.groups.add(Group.objects.get(name=group))
    return user


@pytest.mark.parametrize("group", LADDER)
def test_the_api_asks_each_group_for_its_permission(group: str, names: dict[str, Any]) -> None:
    client = APIClient()
    client.force_authenticate(person(group))
    wrong = []
    for (method, route), least in API.items():
        may = least == ANYONE or LADDER.index(group) >= LADDER.index(least)
        address = f"/api/v1/{route.format(**names)}"
        status = getattr(client, method)(address, {}, format="json").status_code
        # Drafts are as if they were not there for who may not see them.
        refused = status in ({403, 404} if "{draft}" in route else {403})
        if refused is may:
            wrong.append(f"{group}: {method} {route} answers {status}")
        # What did change something must not change the rest.
        SearchProfile.objects.filter(pk=names["pk"]).update(state="draft")
    assert wrong == []


@pytest.mark.parametrize("group", LADDER)
def test_the_admin_asks_each_group_for_its_permission(group: str, names: dict[str, Any]) -> None:
    client = Client()
    client.force_login(person(group, staff=True))
    wrong = []
    for (method, route), least in ADMIN.items():
        may = LADDER.index(group) >= LADDER.index(least)
        status = getattr(client, method)(admin_address(route.format(**names))).status_code
        refused = status in (403, 404)
        if refused is may:
            wrong.append(f"{group}: {method} {route} answers {status}")
    assert wrong == []


def admin_address(route: str) -> str:
    """The address of a page by its model: profiles and curated rows are those of `search`."""
    of_search = dict.fromkeys(("searchprofile", "hide", "scopeprofile"), "search")
    apps = of_search | {"experiment": "experiments"}
    return f"/admin/{apps.get(route.partition('/')[0], 'tuning')}/{route}"


def test_without_the_staff_flag_the_admin_is_closed(names: dict[str, Any]) -> None:
    client = Client()
    client.force_login(person(PUBLISHER))
    response = client.get("/admin/search/searchprofile/")
    assert response.status_code == 302
    assert "login" in response.headers["Location"]


def test_visitors_reach_nothing_but_published_profiles(names: dict[str, Any]) -> None:
    client = APIClient()
    for (method, route), least in API.items():
        status = getattr(client, method)(f"/api/v1/{route.format(**names)}").status_code
        expected = {200} if least == ANYONE else {401, 404}
        assert status in expected, (method, route)


def test_every_address_of_tuning_is_in_the_table() -> None:
    """A new address of these parts of the API fails here until it says who may use it."""
    parts = ("profiles/", "rollback/", "profile-changes/", "publications/", "runs/",
             "curation/", "pins/", "hides/", "synonyms/", "classifier-rules/", "scope-profiles/",
             "golden-queries/", "judgements/")  # fmt: skip
    there = {
        route.route.removeprefix("api/v1/")
        for route in routes()
        if route.route.startswith(tuple(f"api/v1/{part}" for part in parts))
    }
    patterns = [re.sub(r"<[^>]+>", "[^/]+", route) for route in there]
    told = {re.sub(r"\{\w+\}", "x@1" if "draft" in route else "x", route) for _, route in API}
    missing = [
        pattern for pattern in patterns if not any(re.fullmatch(pattern, each) for each in told)
    ]
    assert missing == []


class TestGroups:
    def test_each_group_includes_the_rights_of_the_previous(self) -> None:
        held = [
            {
                f"{right.content_type.app_label}.{right.codename}"
                for right in Group.objects.get(name=name).permissions.select_related("content_type")
            }
            for name in GROUPS
        ]
        assert held == [set(names) for names in GROUPS.values()]
        assert held[0] < held[1] < held[2] < held[3]

    def test_installing_again_keeps_what_an_administrator_changed(self) -> None:
        group = Group.objects.get(name=VIEWER)
        group.permissions.clear()
        Group.objects.get(name=JUDGE).delete()
        install_groups()
        assert not group.permissions.exists()
        assert Group.objects.get(name=JUDGE).permissions.count() == len(GROUPS[JUDGE])

    def test_groups_are_installed_before_any_permission_exists(self) -> None:
        """As after the migrations of a fresh database, whatever order its signals come in."""
        Group.objects.all().delete()
        Permission.objects.all().delete()
        install_groups()
        assert Group.objects.get(name=PUBLISHER).permissions.count() == len(GROUPS[PUBLISHER])


# --- Every view set declares who may do what, and what nobody declared is refused ----------------

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
# Whoever adds an address that visitors may read says so here.
OPEN_READS = {
    "api/v1/concepts/",
    "api/v1/collections/", "api/v1/collections/<slug:slug>/", "api/v1/documents/",
    "api/v1/documents/<uuid:public_id>/", "api/v1/documents/<uuid:public_id>/versions/",
    "api/v1/documents/<uuid:public_id>/original/",
    # Of a version it asks for a permission (test_api_documents.py).
    "api/v1/documents/<uuid:public_id>/versions/<int:number>/original/",
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


def test_an_action_without_a_declaration_is_refused_even_to_superusers(administrator: User) -> None:
    view = Undeclared.as_view({"get": "look"})
    for user in (administrator, AnonymousUser()):
        for method in ("get", "delete"):
            request = getattr(APIRequestFactory(), method)("/")
            request._force_auth_user = user
            assert view(request).status_code in (401, 403)


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
