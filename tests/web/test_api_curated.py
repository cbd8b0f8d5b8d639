"""Pins, hides, synonyms and classifier rules over the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import Group
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.models import Document
from search.models import ClassRule, Hide, Pin, Synonym
from search.tuning.installing import GROUPS
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]
V1 = "/api/v1/"
PINS, HIDES, SYNONYMS = f"{V1}pins/", f"{V1}hides/", f"{V1}synonyms/"
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
        (PINS, {"query": "  "}, "query", "blank"),
        (PINS, {"document": "no-uuid"}, "document", "UUID"),
        (PINS, {"position": -1}, "position", "greater than or equal"),
        (PINS, {"colour": "red"}, "colour", "no such field"),
        (HIDES, {"title": "Mine"}, "title", "no such field"),
        (SYNONYMS, {"terms": ["FK"]}, "non_field_errors", "two words"),
        (SYNONYMS, {"terms": ["FK", "fk"]}, "terms", "must differ"),
        (SYNONYMS, {"terms": ["FK", "x" * 101]}, "terms", "100"),
        (RULES, {"pattern": "("}, "pattern", ""),
        (RULES, {"examples": ["nothing like it"]}, "examples", ""),
        (RULES, {"predicate": "no_such"}, "predicate", "Use one of"),
        (RULES, {"query_class": "poem"}, "query_class", "Use one of"),
        (RULES, {"confidence": 2}, "confidence", "1"),
    ],
    ids=str,
)
def test_what_the_admin_refuses_is_refused(
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


def test_rows_that_speak_against_each_other_are_conflicts(
    tuner: APIClient, rules: Document
) -> None:
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


def test_lists_narrow(tuner: APIClient, rules: Document) -> None:
    Pin.objects.create(query="annual leave", document=rules)
    Pin.objects.create(query="holidays", document=rules, enabled=False)

    def asked(**parameters: Any) -> list[str]:
        return [row["query"] for row in tuner.get(PINS, parameters).json()["results"]]

    assert asked() == ["annual leave", "holidays"]
    assert asked(enabled="false") == ["holidays"]
    assert asked(query="Annual  LEAVE") == ["annual leave"]
    assert asked(document=str(rules.public_id), enabled="true") == ["annual leave"]
    assert tuner.get(PINS, {"sort": "x"}).status_code == 400


def test_rows_of_a_document_that_one_may_not_read_are_not_there(
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


@pytest.mark.parametrize("address", [PINS, HIDES, SYNONYMS, RULES])
@pytest.mark.parametrize("who", ["anonymous", "reader", "staff", "viewer"])
def test_each_act_needs_its_permission(
    api: APIClient, rules: Document, address: str, who: str
) -> None:
    body = bodies(rules)[address]
    if who != "anonymous":
        user = User.objects.create_user(who, password="pw", is_staff=who == "staff")
        if who == "viewer":
            user.groups.add(Group.objects.get(name=VIEWER))
        api.force_authenticate(user)
    refused = 401 if who == "anonymous" else 403
    reads = 200 if who == "viewer" else refused
    counts = [model.objects.count() for model in (Pin, Hide, Synonym, ClassRule)]

    assert api.get(address).status_code == reads
    assert api.post(address, body).status_code == refused
    for method in (api.patch, api.delete):
        assert method(f"{address}1/", {}).status_code == refused
    assert counts == [model.objects.count() for model in (Pin, Hide, Synonym, ClassRule)]
