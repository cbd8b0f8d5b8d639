"""Import from the web for administrators and programs: who may, what is refused, what is queued."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.models import Collection, Import, Visibility
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

PAGE = "/admin/ingestion/document/from-web/"


@pytest.fixture
def handbook(db: None) -> Collection:
    return make_collection("Handbook")


@pytest.fixture
def switched_on(settings: Any) -> None:
    settings.URL_IMPORT = True


def send(client: Client, collection: Collection, **data: Any) -> Any:
    given = {"address": "https://example.org/", "kind": "url", "collection": collection.pk, **data}
    return client.post(PAGE, given)


@pytest.mark.usefixtures("switched_on")
def test_a_site_is_queued_as_asked(handbook: Collection, administrator: User) -> None:
    client = signed_in(administrator)
    data = form_data(client.get(PAGE), "from-web")
    assert data["max_pages"] == "100"
    response = client.post(
        PAGE,
        {**data, "address": " https://example.org/docs ", "kind": "site", "depth": 2}
        | {"collection": handbook.pk, "language": "de"},
    )
    assert response.status_code == 302
    assert "https://example.org/docs into Handbook is queued" in said(response)
    made = Import.objects.get()
    assert (made.kind, made.origin, made.language) == ("site", "https://example.org/docs", "de")
    assert made.options == {"depth": 2, "max_pages": 100}
    assert made.added_by == administrator
    assert response["Location"] == made.get_absolute_url()
    assert "https://example.org/docs" in client.get(response["Location"]).content.decode()


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"address": "http://127.0.0.1/"}, "internal address"),
        ({"address": "http://169.254.169.254/latest/"}, "internal address"),
        ({"address": "javascript:alert(1)"}, "begins with https://"),
        ({"address": ""}, "This field is required"),
        ({"kind": "site", "max_pages": 5_000}, "less than or equal to 1000"),
        ({"kind": "archive"}, "Select a valid choice"),
    ],
)
def test_what_is_refused_is_said_at_its_field(
    handbook: Collection, administrator: User, data: dict[str, Any], message: str
) -> None:
    response = send(signed_in(administrator), handbook, **data)
    assert response.status_code == 200
    assert message in response.content.decode()
    assert not Import.objects.exists()


def test_switched_off(handbook: Collection, administrator: User) -> None:
    client = signed_in(administrator)
    assert "URL_IMPORT=1" in client.get(PAGE).content.decode()
    assert send(client, handbook).status_code == 200
    assert not Import.objects.exists()


@pytest.mark.usefixtures("switched_on")
def test_who_may(handbook: Collection, administrator: User) -> None:
    hidden = make_collection("Board", visibility=Visibility.GROUPS, groups=["board"])
    reading = signed_in(staff("reading", "view_document"))
    assert reading.get(PAGE).status_code == 403
    assert send(reading, handbook).status_code == 403
    adding = signed_in(staff("adding", "view_document", "add_document"))
    assert "Board" not in adding.get(PAGE).content.decode()
    assert "Select a valid choice" in send(adding, hidden).content.decode()
    assert send(adding, handbook).status_code == 302
    assert Client().get(PAGE).status_code == 302


@pytest.mark.usefixtures("switched_on")
def test_the_page_takes_so_many_queries(
    handbook: Collection, administrator: User, django_assert_num_queries: Any
) -> None:
    for number in range(5):
        make_collection(f"Shelf {number}")
    client = signed_in(administrator)
    client.get(PAGE)
    with django_assert_num_queries(4):
        client.get(PAGE)


# --- the API -----------------------------------------------------------------------------------

API = "/api/v1/imports/"


def ask(api: APIClient, user: User, **data: Any) -> Any:
    api.force_authenticate(user)
    given = {"kind": "url", "origin": "https://example.org/", "collection": "handbook", **data}
    return api.post(API, given, format="json")


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize("kind", ["url", "site", "sitemap"])
def test_by_the_api(api: APIClient, handbook: Collection, administrator: User, kind: str) -> None:
    answer = ask(api, administrator, kind=kind, depth=2, max_pages=7)
    assert answer.status_code == 202
    made = Import.objects.get()
    assert (made.kind, made.options["depth"], made.options["max_pages"]) == (kind, 2, 7)


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize(
    ("data", "code"),
    [
        ({"origin": "http://127.0.0.1/"}, "address_refused"),
        ({"origin": "http://[::ffff:10.0.0.1]/"}, "address_refused"),
        ({"origin": "ftp://example.org/"}, "address_refused"),
        ({"max_pages": 99_999}, "import_refused"),
        ({"depth": 99}, "import_refused"),
        ({"collection": "board"}, "invalid"),
    ],
)
def test_what_the_api_refuses(
    api: APIClient, handbook: Collection, data: dict[str, Any], code: str
) -> None:
    make_collection("Board", visibility=Visibility.GROUPS, groups=["board"])
    answer = ask(api, staff("adding", "add_document"), **data)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert not Import.objects.exists()


def test_the_api_when_switched_off(
    api: APIClient, handbook: Collection, administrator: User, reader: User
) -> None:
    answer = ask(api, administrator)
    assert (answer.status_code, answer.json()["code"]) == (400, "import_refused")
    assert "URL_IMPORT=1" in answer.json()["message"]
    assert ask(api, reader).status_code == 403
