"""Pins, hides, synonyms and classifier rules over the API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import Group
from django.test import Client
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.exporting import restoring, writing
from ingestion.models import Collection, Document
from search.models import ClassRule, Hide, Pin, ScopeProfile
from search.tuning.install_defaults import GROUPS
from search.tuning.models import GoldenQuery
from tests.support.admin_client import signed_in, staff
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]
V1 = "/api/v1/"
PINS, HIDES, SYNONYMS = f"{V1}curation/pin/", f"{V1}curation/hide/", f"{V1}synonyms/"
RULES = f"{V1}classifier-rules/"
VIEWER, _, TUNER, _ = GROUPS


@pytest.fixture
def tuner(api: APIClient) -> APIClient:
    user = User.objects.create_user("tuner", password="pw")
    user.groups.add(Group.objects.get(name=TUNER))
    api.force_authenticate(user)
    return api


@pytest.fixture(scope="module")
def shelf(django_db_setup: None, django_db_blocker: Any) -> Iterator[Document]:
    with lasting(django_db_blocker):
        shelf = make_collection("Shelf")
        make_document(shelf, "# Leave\n\nAnnual leave, annual leave, annual leave.")
        yield make_document(shelf, "# Rules\n\nHolidays are asked for in writing.")


@pytest.fixture
def rules(shelf: Document, db: None) -> Document:
    return Document.objects.get(pk=shelf.pk)


@pytest.fixture
def hidden(db: None) -> Document:
    return make_document(make_collection("Secret", visibility="groups"), "# Plan\n\nThe plan.")


def bodies(document: Document) -> dict[str, dict[str, Any]]:
    """A row that can be made at each address."""
    public_id = str(document.public_id)
    return {
        PINS: {"query": "annual leave", "document": public_id},
        HIDES: {"query": "annual leave", "document": public_id, "note": "Old."},
        SYNONYMS: {"terms": ["FK", "forward kinematics"]},
        RULES: {
            "name": "How", "query_class": "concept", "pattern": r"\bhow come\b", "position": 1,
            "examples": ["how come it rains"], "confidence": 0.7,
        },
    }  # fmt: skip


def titles(api: APIClient, question: str) -> list[str]:
    results = api.get(f"{V1}search/", {"q": question}).json()["results"]
    return [result["document"]["title"] for result in results]


def test_a_pin_acts_on_the_next_search(tuner: APIClient, rules: Document) -> None:
    assert titles(tuner, "annual leave")[0] == "Leave"

    made = tuner.post(PINS, {"query": "Annual  Leave", "document": str(rules.public_id)})
    assert (made.status_code, made.json()["title"]) == (201, "Rules")
    assert titles(tuner, "annual leave")[0] == "Rules"

    assert tuner.patch(f"{PINS}{made.json()['id']}/", {"enabled": False}).status_code == 200
    assert titles(tuner, "annual leave")[0] == "Leave"


def test_a_hide_acts_on_the_next_search_and_warns(tuner: APIClient, rules: Document) -> None:
    made = tuner.post(HIDES, {"document": str(rules.public_id)}).json()

    assert "No search will find" in made["warnings"][0]
    assert "Rules" not in titles(tuner, "holidays")
    tuner.delete(f"{HIDES}{made['id']}/")
    assert "Rules" in titles(tuner, "holidays")


@pytest.mark.parametrize("address", [PINS, HIDES, SYNONYMS, RULES])
def test_rows_are_made_listed_changed_and_deleted_with_the_audit(
    tuner: APIClient, rules: Document, address: str
) -> None:
    body = bodies(rules)[address]
    made = tuner.post(address, body)
    assert made.status_code == 201, made.json()
    row = made.json()
    assert {name: row[name] for name in body} == body
    one = f"{address}{row['id']}/"

    listed = tuner.get(address, {"enabled": "true", "page_size": 100}).json()
    assert {**row, "warnings": []} in listed["results"]
    assert tuner.get(one).json() == {**row, "warnings": []}
    changed = tuner.patch(one, {"enabled": False})
    assert (changed.status_code, changed.json()["enabled"]) == (200, False)
    assert tuner.delete(one).status_code == 204
    assert tuner.get(one).status_code == 404

    entries = LogEntry.objects.filter(user__username="tuner").order_by("pk")
    assert [entry.action_flag for entry in entries] == [ADDITION, CHANGE, DELETION]
    assert {entry.object_id for entry in entries} == {str(row["id"])}


@pytest.mark.parametrize(
    ("address", "change", "field", "words"),
    [
        (PINS, {"document": "no-uuid"}, "document", "UUID"),
        (PINS, {"colour": "red"}, "colour", "no such field"),
        (PINS, {"query": ""}, "query", "blank"),
        (HIDES, {"position": 1}, "position", "no such field"),
        (SYNONYMS, {"terms": ["FK"]}, "non_field_errors", "two words"),
        (SYNONYMS, {"terms": ["FK", "fk"]}, "terms", "must differ"),
        (RULES, {"pattern": "("}, "pattern", ""),
        (RULES, {"examples": ["nothing like it"]}, "examples", ""),
        (RULES, {"predicate": "no_such"}, "predicate", "Use one of"),
    ],
    ids=str,
)
def test_api_refuses_the_same_rows_as_the_admin(
    tuner: APIClient, rules: Document, address: str, change: dict[str, Any], field: str, words: str
) -> None:
    refused = tuner.post(address, {**bodies(rules)[address], **change})

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid"), refused.json()
    assert words in " ".join(refused.json()["details"][field])
    assert not LogEntry.objects.exists()


def test_the_same_row_twice_is_refused(tuner: APIClient, rules: Document) -> None:
    for address, words in ((PINS, "already pinned to that question"), (HIDES, "already")):
        body = bodies(rules)[address]
        assert tuner.post(address, {**body, "enabled": False}).status_code == 201
        again = tuner.post(address, {**body, "query": "ANNUAL leave", "enabled": False})
        assert (again.status_code, words in again.json()["message"]) == (400, True)
    body = bodies(rules)[RULES]
    assert tuner.post(RULES, body).status_code == 201
    assert tuner.post(RULES, body).status_code == 400
    assert ClassRule.objects.filter(name=body["name"]).count() == 1


def test_contradicting_rows_are_reported_as_conflicts(tuner: APIClient, rules: Document) -> None:
    pin = tuner.post(PINS, bodies(rules)[PINS]).json()
    hide = tuner.post(HIDES, bodies(rules)[HIDES])
    assert (hide.status_code, hide.json()["code"]) == (409, "conflict")
    assert "Remove the pin first" in hide.json()["message"]

    other = make_document(rules.collection, "# Other\n\nSomething else.")
    same = tuner.post(PINS, {"query": "annual leave", "document": str(other.public_id)})
    assert same.status_code == 409
    assert "position 1" in same.json()["message"]
    second = {"query": "annual leave", "document": str(other.public_id), "position": 2}
    made = tuner.post(PINS, second).json()
    moved = tuner.patch(f"{PINS}{made['id']}/", {"position": 1})
    assert moved.status_code == 409
    assert Pin.objects.get(pk=made["id"]).position == 2
    assert Pin.objects.get(pk=pin["id"]).position == 1
    assert not Hide.objects.exists()


@pytest.mark.parametrize(("old", "address"), [("pins/", PINS), ("hides/", HIDES)])
def test_an_address_of_0_2_answers_and_names_the_present_one(
    tuner: APIClient, rules: Document, old: str, address: str
) -> None:
    made = tuner.post(f"{V1}{old}", bodies(rules)[address])
    assert (made.status_code, made.headers["Deprecation"]) == (201, "@1795824000")
    assert made.headers["Location"].endswith(one := f"{address}{made.json()['id']}/")
    shown = tuner.get(f"{V1}{old}{made.json()['id']}/")
    assert shown.json() == tuner.get(one).json() == {**made.json(), "warnings": []}
    assert shown.headers["Link"] == f'<http://testserver{one}>; rel="successor-version"'
    assert "Deprecation" not in tuner.get(one).headers
    assert tuner.post(f"{V1}{old}", {**bodies(rules)[address], "query": "rules"}).status_code == 201
    links = tuner.get(f"{V1}{old}", {"page_size": 1}).headers["Link"].split(", ")
    assert ('rel="next"' in links[0], links[1].startswith(f"<http://testserver{address}>")) == (
        True,
        True,
    )
    wrong = tuner.get(f"{V1}{old}987654321/")
    assert (wrong.status_code, wrong.headers["Deprecation"]) == (404, "@1795824000")


def test_lists_are_narrowed_by_parameters(tuner: APIClient, rules: Document) -> None:
    Pin.objects.create(query="annual leave", document=rules)
    Pin.objects.create(query="holidays", document=rules, enabled=False)

    def asked(**parameters: Any) -> list[str]:
        return [row["query"] for row in tuner.get(PINS, parameters).json()["results"]]

    assert asked() == ["annual leave", "holidays"]
    assert asked(enabled="false") == ["holidays"]
    assert asked(query="Annual  LEAVE") == ["annual leave"]
    assert asked(document=str(rules.public_id), enabled="true") == ["annual leave"]
    assert tuner.get(PINS, {"sort": "x"}).status_code == 400


def test_rows_of_unreadable_documents_are_not_found(
    tuner: APIClient, rules: Document, hidden: Document
) -> None:
    for address, model in ((PINS, Pin), (HIDES, Hide)):
        row = model.objects.create(query="plan", document=hidden)
        assert tuner.get(address).json()["total"] == 0
        for one in (f"{address}{row.pk}/", f"{address}987654321/"):
            answers = (tuner.get(one), tuner.patch(one, {"note": "x"}), tuner.delete(one))
            assert [each.status_code for each in answers] == [404] * 3
        own = model.objects.create(query="leave", document=rules, enabled=False)
        for document in (str(hidden.public_id), "00000000-0000-4000-8000-000000000000"):
            body = {"query": "mine", "document": document}
            refused = tuner.post(address, body)
            assert (refused.status_code, list(refused.json()["details"])) == (400, ["document"])
            assert tuner.patch(f"{address}{own.pk}/", body).status_code == 400
    assert (Pin.objects.count(), Hide.objects.count()) == (2, 2)


# --- S4-30, D20 ----------------------------------------------------------------------------------

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
        assert notes[0] == f"Ranked by the profile of Recipes: {OWN} v1."
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

    @pytest.mark.parametrize(
        ("change", "field", "words"),
        [
            ({"profile": "no-such"}, "profile", "no published profile “no-such”"),
            ({"collection": "secret"}, "collection", "secret"),
            ({"collection": None}, "non_field_errors", "either a collection or a document type"),
            ({"collection": None, "media_type": "text/poem"}, "media_type", "text/poem"),
            ({"weights": {}}, "weights", "no such field"),
        ],
        ids=str,
    )
    def test_invalid_scope_profiles_are_refused(
        self, publisher: APIClient, change: dict[str, Any], field: str, words: str
    ) -> None:
        refused = publisher.post(SCOPES, {"collection": "recipes", "profile": OWN, **change})
        assert refused.status_code == 400
        assert words in str(refused.json()["details"][field])
        assert not ScopeProfile.objects.exists()

    def test_rows_of_unreadable_collections_are_not_found(self, publisher: APIClient) -> None:
        secret = Collection.objects.get(name="Secret")
        row = ScopeProfile.objects.create(collection=secret, profile=OWN)
        assert publisher.get(SCOPES).json()["results"] == []
        assert publisher.get(f"{SCOPES}{row.pk}/").status_code == 404


class TestAdmin:
    def test_a_row_is_added_listed_and_audited(
        self, administrator: User, desk: Client, recipes: Collection, api: APIClient
    ) -> None:
        form = desk.get(f"{PAGE}add/?collection={recipes.pk}").content.decode()
        assert f'<option value="{recipes.pk}" selected' in form
        assert OWN in form
        desk.post(f"{PAGE}add/", {"collection": recipes.pk, "profile": OWN})
        row = ScopeProfile.objects.get()
        assert ranked_by(api, collection="recipes")[0] == OWN
        listed = desk.get(PAGE).content.decode()
        assert "Recipes" in listed
        assert "v1" in listed
        entry = LogEntry.objects.get(user=administrator)
        assert (entry.action_flag, entry.object_id) == (ADDITION, str(row.pk))

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


@pytest.mark.parametrize("text", ["type:nope", "leave before:yesterday", "-leave"])
def test_a_question_that_a_search_refuses_is_refused_with_its_error(
    tuner: APIClient, rules: Document, text: str
) -> None:
    refused = tuner.get(f"{V1}search/", {"q": text})
    document = str(rules.public_id)
    kept = [
        tuner.post(PINS, {"query": text, "document": document}),
        tuner.post(HIDES, {"query": text, "document": document}),
        tuner.post(SYNONYMS, {"terms": ["leave", text]}),
        tuner.post(f"{V1}golden-queries/", {"text": text}),
        tuner.post(f"{V1}judgements/", {"query": text, "document": document, "grade": 3}),
    ]
    assert {each.status_code for each in (refused, *kept)} == {400}
    assert {each.content for each in (refused, *kept)} == {refused.content}


def test_a_golden_query_that_no_search_can_run_any_more_can_be_disabled(tuner: APIClient) -> None:
    query = GoldenQuery.objects.create(text="type:nope")
    address = f"{V1}golden-queries/{query.public_id}/"
    assert tuner.patch(address, {"note": "x", "text": "type:never"}).status_code == 400
    assert tuner.patch(address, {"enabled": False}).json()["enabled"] is False
