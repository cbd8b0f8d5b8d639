"""Documents moved and tagged in bulk in the admin, and the icons of collections."""

from __future__ import annotations

from typing import Any

import pytest

from common.accounts.models import User
from ingestion import services
from ingestion.models import Document
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

DOCUMENTS = "/admin/ingestion/document/"
PUMPS = "# Pump maintenance\n\nThe bilge pump is greased every week, or it seizes.\n"


@pytest.fixture
def document() -> Document:
    return make_document(make_collection("Old"), PUMPS)


def act(user: User, action: str, *documents: Document, **fields: Any) -> Any:
    data = {"action": action, "_selected_action": [one.pk for one in documents], **fields}
    return signed_in(user).post(DOCUMENTS, data)


def test_an_action_asks_for_the_collection_and_moves(
    document: Document, administrator: User
) -> None:
    new = make_collection("New")
    page = act(administrator, "move_selected", document)
    assert page.status_code == 200
    data = form_data(page, "arrange") | {"to": new.pk, "apply": "1"}

    moved = signed_in(administrator).post(DOCUMENTS, data)

    document.refresh_from_db()
    assert document.collection == new
    assert "1 document was moved to “New”" in said(moved)


def test_hidden_collections_are_neither_offered_nor_moved_to(document: Document) -> None:
    keeper = staff("keeper", "view_document", "change_document", "add_document")
    hidden = make_collection("Hidden", visibility="groups", groups=["insiders"])
    page = act(keeper, "move_selected", document)
    assert "Hidden" not in page.content.decode()
    response = act(keeper, "move_selected", document, to=hidden.pk, apply="1")
    assert response.status_code == 200  # asked again
    document.refresh_from_db()
    assert document.collection.name == "Old"


def test_who_may_not_add_documents_may_not_move_any(document: Document) -> None:
    new = make_collection("New")
    keeper = staff("keeper", "view_document", "change_document")
    response = act(keeper, "move_selected", document, to=new.pk, apply="1")
    assert "may not move" in said(response)
    document.refresh_from_db()
    assert document.collection.name == "Old"


def test_tags_and_metadata_of_many_are_changed_at_once_and_found(
    document: Document, administrator: User
) -> None:
    other = make_document(document.collection, "# Other\n\nThe bilge pump, again.\n")
    services.describe(other, metadata={"tags": ["old"], "due": "2026"}, acting_user=None)
    fields = {
        "add_tags": "pump, wet", "remove_tags": "old", "give": "owner: Ada", "drop": "due",
    }  # fmt: skip
    page = act(administrator, "annotate_selected", document, other)
    kept = {"_selected_action": [document.pk, other.pk], "apply": "1"}
    assert f'name="_selected_action" value="{other.pk}"' in page.content.decode()
    data = form_data(page, "arrange") | fields | kept

    assert "2 documents were changed" in said(signed_in(administrator).post(DOCUMENTS, data))

    for one in (document, other):
        one.refresh_from_db()
        assert one.metadata == {"tags": ["pump", "wet"], "owner": "Ada"}
    client = signed_in(administrator)
    html = client.get("/", {"q": "bilge", "meta": "tags:pump"}).content.decode()
    assert "Pump maintenance" in html
    assert 'value="tags:wet"' in html  # offered as a filter from now on
    listed = client.get(DOCUMENTS, {"tag": "wet"}).context["cl"].result_count
    assert listed == 2


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({}, "Say what to change"), ({"drop": "Not A Key"}, "not a valid key")],
    ids=str,
)
def test_nothing_and_nonsense_are_refused(
    document: Document, administrator: User, fields: dict[str, str], reason: str
) -> None:
    page = act(administrator, "annotate_selected", document, apply="1", **fields)
    assert reason in page.content.decode()


def test_a_collection_gets_an_icon_that_the_filters_show(
    document: Document, administrator: User
) -> None:
    client, address = signed_in(administrator), "/admin/ingestion/collection/"
    address += f"{document.collection_id}/change/"
    data = form_data(client.get(address), "collection_form")
    client.post(address, {**data, "icon": "wrench", "description": "How to mend."})
    html = client.get("/", {"q": "bilge"}).content.decode()
    assert "icons.svg#wrench" in html
    assert 'title="How to mend."' in html
