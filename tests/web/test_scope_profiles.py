"""S4-30, D20: the profiles of collections and document types in the admin, the API and exports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.exporting import restoring, writing
from ingestion.models import Collection
from search.models import ScopeProfile
from search.tuning.installing import GROUPS
from tests.support.admin_client import said, signed_in, staff
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

PAGE, SCOPES = "/admin/search/scopeprofile/", "/api/v1/scope-profiles/"
OWN = "textbook:60/40"


@pytest.fixture(scope="module")
def shelves(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with lasting(django_db_blocker):
        for name in ("Recipes", "Manuals"):
            make_document(make_collection(name), f"# {name}\n\nThe pump of the {name.lower()}.")
        make_collection("Secret", visibility="groups")
        yield


@pytest.fixture
def recipes(shelves: None, db: None) -> Collection:
    return Collection.objects.get(name="Recipes")


@pytest.fixture
def publisher(api: APIClient, recipes: Collection) -> APIClient:
    user = User.objects.create_user("publisher", password="pw")
    user.groups.add(Group.objects.get(name=list(GROUPS)[-1]))
    api.force_authenticate(user)
    return api


def ranked_by(api: APIClient, **asked: Any) -> tuple[str, list[str]]:
    found = api.get("/api/v1/search/", {"q": "pump", **asked}).json()
    return found["profile"]["name"], found["notes"]


class TestApi:
    def test_the_next_search_of_the_collection_names_the_profile(
        self, publisher: APIClient
    ) -> None:
        assert ranked_by(publisher, collection="recipes") == ("default", [])
        body = {"collection": "recipes", "profile": OWN, "note": "Many names."}
        made = publisher.post(SCOPES, body)
        assert made.status_code == 201, made.json()
        row = made.json()
        assert {name: row[name] for name in body} == body
        assert (row["scope"], row["media_type"]) == ("Recipes", "")

        name, notes = ranked_by(publisher, collection="recipes")
        assert name == OWN
        assert notes[0] == f"Ranked by the profile that Recipes names: {OWN} v1."
        name, notes = ranked_by(publisher)
        assert name == "default"
        assert "have profiles of their own: Recipes." in notes[0]
        assert ranked_by(publisher, collection="recipes", profile="mind") == ("mind", [])

        one = f"{SCOPES}{row['id']}/"
        assert publisher.patch(one, {"profile": "mind"}).json()["profile"] == "mind"
        assert ranked_by(publisher, collection="recipes")[0] == "mind"
        assert publisher.delete(one).status_code == 204
        assert ranked_by(publisher, collection="recipes") == ("default", [])
        entries = LogEntry.objects.filter(user__username="publisher").order_by("pk")
        assert [entry.action_flag for entry in entries] == [ADDITION, CHANGE, DELETION]

    def test_a_type(self, publisher: APIClient) -> None:
        body = {"media_type": "text/markdown", "profile": OWN}
        made = publisher.post(SCOPES, body)
        assert (made.status_code, made.json()["scope"]) == (201, "Markdown")
        assert made.json()["collection"] is None
        assert ranked_by(publisher, type="text/markdown")[0] == OWN
        listed = publisher.get(SCOPES, {"media_type": "text/markdown"}).json()["results"]
        assert [row["profile"] for row in listed] == [OWN]

    @pytest.mark.parametrize(
        ("change", "field", "words"),
        [
            ({"profile": "no-such"}, "profile", "no published profile “no-such”"),
            ({"collection": "no-such"}, "collection", "no-such"),
            ({"collection": "secret"}, "collection", "secret"),
            ({"collection": None}, "non_field_errors", "either a collection or a document type"),
            ({"media_type": "text/markdown"}, "non_field_errors", "either a collection"),
            ({"collection": None, "media_type": "text/poem"}, "media_type", "text/poem"),
            ({"weights": {}}, "weights", "no such field"),
        ],
        ids=str,
    )
    def test_refuses(
        self, publisher: APIClient, change: dict[str, Any], field: str, words: str
    ) -> None:
        refused = publisher.post(SCOPES, {"collection": "recipes", "profile": OWN, **change})
        assert refused.status_code == 400
        assert words in str(refused.json()["details"][field])
        assert not ScopeProfile.objects.exists()

    def test_once_a_collection(self, publisher: APIClient) -> None:
        body = {"collection": "recipes", "profile": OWN}
        assert publisher.post(SCOPES, body).status_code == 201
        assert publisher.post(SCOPES, body).status_code == 400

    def test_rows_of_collections_that_one_may_not_read_are_not_there(
        self, publisher: APIClient
    ) -> None:
        secret = Collection.objects.get(name="Secret")
        row = ScopeProfile.objects.create(collection=secret, profile=OWN)
        assert publisher.get(SCOPES).json()["results"] == []
        assert publisher.get(f"{SCOPES}{row.pk}/").status_code == 404


class TestAdmin:
    def test_a_row_is_added_listed_and_audited(
        self, administrator: User, recipes: Collection, api: APIClient
    ) -> None:
        client = signed_in(administrator)
        form = client.get(f"{PAGE}add/?collection={recipes.pk}").content.decode()
        assert f'<option value="{recipes.pk}" selected' in form
        assert OWN in form
        client.post(f"{PAGE}add/", {"collection": recipes.pk, "profile": OWN})
        row = ScopeProfile.objects.get()
        assert ranked_by(api, collection="recipes")[0] == OWN
        listed = client.get(PAGE).content.decode()
        assert "Recipes" in listed
        assert "v1" in listed
        entry = LogEntry.objects.get(user=administrator)
        assert (entry.action_flag, entry.object_id) == (ADDITION, str(row.pk))

    def test_a_name_that_is_not_published_any_more_is_named(
        self, administrator: User, recipes: Collection
    ) -> None:
        row = ScopeProfile.objects.create(collection=recipes, profile="gone")
        client = signed_in(administrator)
        assert "Not published: the site&#x27;s is used" in client.get(PAGE).content.decode()
        assert "gone (not published)" in client.get(f"{PAGE}{row.pk}/change/").content.decode()
        again = client.post(
            f"{PAGE}{row.pk}/change/", {"collection": recipes.pk, "profile": "gone"}
        )
        assert "no published profile" in str(again.context["adminform"].form.errors)

    def test_the_form_refuses_both_and_neither(
        self, administrator: User, recipes: Collection
    ) -> None:
        client = signed_in(administrator)
        both = {"collection": recipes.pk, "media_type": "application/pdf", "profile": OWN}
        for data in (both, {"profile": OWN}):
            refused = client.post(f"{PAGE}add/", data)
            assert "either a collection" in str(refused.context["adminform"].form.errors)

    def test_the_collections_page_names_its_profile(
        self, administrator: User, recipes: Collection
    ) -> None:
        client, address = (
            signed_in(administrator),
            f"/admin/ingestion/collection/{recipes.pk}/change/",
        )
        assert f"{PAGE}add/?collection={recipes.pk}" in client.get(address).content.decode()
        row = ScopeProfile.objects.create(collection=recipes, profile=OWN)
        page = client.get(address).content.decode()
        assert f"{PAGE}{row.pk}/change/" in page
        assert OWN in page
        librarian = staff("librarian", "view_collection", "change_collection")
        assert OWN not in signed_in(librarian).get(address).content.decode()

    def test_staff_see_no_row_of_a_collection_that_they_may_not_read(
        self, recipes: Collection
    ) -> None:
        secret = Collection.objects.get(name="Secret")
        ScopeProfile.objects.create(collection=secret, profile=OWN)
        ScopeProfile.objects.create(collection=recipes, profile=OWN)
        page = signed_in(staff("curator", "view_scopeprofile")).get(PAGE).content.decode()
        assert "Recipes" in page
        assert "Secret" not in page

    def test_publishers_choose_among_the_collections_that_they_may_read(
        self, recipes: Collection
    ) -> None:
        secret = Collection.objects.get(name="Secret")
        client = signed_in(staff("curator", "view_scopeprofile", "add_scopeprofile"))
        form = client.get(f"{PAGE}add/?collection={secret.pk}").content.decode()
        assert f'<option value="{recipes.pk}">Recipes</option>' in form
        assert "Secret" not in form
        refused = client.post(f"{PAGE}add/", {"collection": secret.pk, "profile": OWN})
        assert "collection" in refused.context["adminform"].form.errors
        assert "Secret" not in refused.content.decode()
        client.post(f"{PAGE}add/", {"collection": recipes.pk, "profile": OWN})
        assert ScopeProfile.objects.get().collection == recipes

    def test_the_list_takes_as_many_queries_for_any_number(
        self, administrator: User, recipes: Collection
    ) -> None:
        client = signed_in(administrator)
        ScopeProfile.objects.create(collection=recipes, profile=OWN)
        with CaptureQueriesContext(connection) as one:
            client.get(PAGE)
        ScopeProfile.objects.create(media_type="text/html", profile="default")
        ScopeProfile.objects.create(media_type="text/csv", profile="mind")
        with CaptureQueriesContext(connection) as three:
            listed = client.get(PAGE).content.decode()
        assert len(three) == len(one)
        assert "v3" in listed  # of default

    def test_viewers_may_look_and_not_change(self, recipes: Collection) -> None:
        row = ScopeProfile.objects.create(collection=recipes, profile=OWN)
        viewer = signed_in(staff("viewer", "view_scopeprofile"))
        assert viewer.get(f"{PAGE}{row.pk}/change/").status_code == 200
        assert viewer.post(f"{PAGE}{row.pk}/change/", {"profile": "mind"}).status_code == 403
        assert said(viewer.get(PAGE)) == ""


def test_an_export_keeps_the_name_of_the_profile(recipes: Collection, tmp_path: Path) -> None:
    path = tmp_path / "secret.zip"
    secret = Collection.objects.get(name="Secret")
    row = ScopeProfile.objects.create(collection=secret, profile=OWN, note="Names.")
    path.write_bytes(b"".join(writing.export(secret)))
    row.delete()

    done = restoring.restore(path, name="Copy")

    assert done.created["profile"] == 1
    row = ScopeProfile.objects.get()
    assert (row.collection, row.profile, row.note) == (done.collection, OWN, "Names.")
