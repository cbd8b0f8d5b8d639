"""Collections over the API and in the admin, and identifier patterns: made, changed, who may."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import Group
from django.test import Client
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.collections import save
from ingestion.errors import StateConflict
from ingestion.models import Chunk, Collection, Document, IdentifierPattern, Visibility
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document, upload

COLLECTIONS = "/api/v1/collections/"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]
ALL = ("add_collection", "change_collection", "delete_collection")


@pytest.fixture
def librarian(api: APIClient) -> User:
    user = staff("librarian", *ALL, "delete_document", groups=("insiders",), is_staff=False)
    api.force_authenticate(user)
    return user


def actions(row: Collection) -> list[int]:
    entries = LogEntry.objects.filter(object_id=str(row.pk)).order_by("pk")
    return [entry.action_flag for entry in entries]


def test_collection_is_created_changed_and_deleted(api: APIClient, librarian: User) -> None:
    made = api.post(
        COLLECTIONS,
        {
            "name": "Harbour rules", "description": "Since 1890.", "visibility": "groups",
            "groups": ["insiders"], "language": "en-GB", "chunk_tokens": 100, "overlap_tokens": 10,
        },
    )  # fmt: skip

    assert made.status_code == 201, made.json()
    body = made.json()
    assert (body["slug"], body["language"], body["groups"]) == (
        "harbour-rules", "en", ["insiders"],
    )  # fmt: skip
    assert (body["chunk_tokens"], body["overlap_tokens"], body["warnings"]) == (100, 10, [])
    assert (body["documents"], body["searchable"]) == (0, 0)
    row = Collection.objects.get(slug="harbour-rules")
    assert row.visibility == Visibility.GROUPS

    address = f"{COLLECTIONS}harbour-rules/"
    changed = api.patch(address, {"visibility": "public", "groups": [], "chunk_tokens": 300})
    assert changed.status_code == 200, changed.json()
    row.refresh_from_db()
    assert (row.visibility, row.chunk_tokens, row.name) == ("public", 300, "Harbour rules")
    assert not row.groups.exists()

    assert api.delete(address).status_code == 204
    row.refresh_from_db()
    assert row.deleted_at is not None
    assert row.deleted_by == librarian
    assert api.get(address).status_code == 404
    assert actions(row) == [ADDITION, CHANGE, DELETION]


@pytest.mark.parametrize(
    ("fields", "named", "words"),
    [
        ({}, "name", "required"),
        ({"name": "Shelf"}, "non_field_errors", "already exists"),
        ({"name": "Other", "slug": "shelf"}, "non_field_errors", "already exists"),
        ({"name": "Other", "slug": "SHELF"}, "slug", "already exists"),
        ({"name": "Other", "visibility": "nobody"}, "visibility", "Use one of: public"),
        ({"name": "Other", "overlap_tokens": 100}, "non_field_errors", "half the chunk size"),
        ({"name": "Other", "language": "klingon"}, "language", "two-letter"),
        ({"name": "Other", "visibility": "groups"}, "groups", "at least one group"),
        ({"name": "Other", "visibility": "groups", "groups": ["theirs"]}, "groups", "your own"),
        ({"name": "Other", "groups": ["insiders"]}, "groups", "send that, too"),
        ({"name": "Other", "colour": "red"}, "colour", "no such field"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_api_refuses_the_same_collections_as_the_admin(
    api: APIClient, librarian: User, fields: dict[str, Any], named: str, words: str
) -> None:
    make_collection("Shelf")
    Group.objects.create(name="theirs")

    refused = api.post(COLLECTIONS, fields)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid"), refused.json()
    assert words in " ".join(refused.json()["details"][named])
    assert Collection.objects.count() == 1


def test_partial_change_is_validated_with_the_other_fields(api: APIClient, librarian: User) -> None:
    make_collection("Shelf", chunk_tokens=200, overlap_tokens=90)
    address = f"{COLLECTIONS}shelf/"

    assert api.patch(address, {"chunk_tokens": 150}).status_code == 400
    assert api.patch(address, {"visibility": "groups"}).status_code == 400
    assert api.patch(address, {"groups": ["insiders"]}).status_code == 400  # it is for others, too
    assert api.patch(address, {"visibility": "groups", "groups": ["insiders"]}).status_code == 200
    public = {"visibility": "public", "groups": ["insiders"]}
    assert api.patch(address, {"visibility": "public"}).json()["groups"] == ["insiders"]
    assert api.patch(address, public).status_code == 200  # as it was sent
    assert api.patch(address, {"chunk_tokens": 150, "overlap_tokens": 20}).status_code == 200
    assert api.put(address, {"name": "Whole"}).status_code == 405


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("anonymous", [401, 401, 401]),
        ("reader", [403, 403, 403]),
        ("staff without the permission", [403, 403, 403]),
        ("who only changes", [403, 200, 403]),
        ("who only deletes", [403, 403, 403]),  # it holds a document
    ],
)
def test_each_action_needs_its_permission(api: APIClient, who: str, expected: list[int]) -> None:
    make_document(make_collection("Shelf"), "# Tides\n\nHigh water.\n")
    users = {
        "anonymous": lambda: None,
        "reader": lambda: staff("reader", is_staff=False),
        "staff without the permission": lambda: staff("clerk", "view_collection"),
        "who only changes": lambda: staff("changer", "change_collection", is_staff=False),
        "who only deletes": lambda: staff("deleter", "delete_collection", is_staff=False),
    }
    api.force_authenticate(users[who]())

    answers = [
        api.post(COLLECTIONS, {"name": "New"}),
        api.patch(f"{COLLECTIONS}shelf/", {"description": "Mine."}),
        api.delete(f"{COLLECTIONS}shelf/"),
    ]

    assert [each.status_code for each in answers] == expected
    assert Collection.objects.undeleted().count() == 1


def test_empty_collection_is_deleted_without_the_right_to_delete_documents(api: APIClient) -> None:
    make_collection("Shelf")
    api.force_authenticate(staff("deleter", "delete_collection", is_staff=False))

    assert api.delete(f"{COLLECTIONS}shelf/").status_code == 204


def test_groups_are_shown_to_staff_who_see_them_in_the_admin(
    api: APIClient, member: User, django_assert_num_queries: Any
) -> None:
    for number in range(3):
        make_collection(f"Inside {number}", visibility=Visibility.GROUPS, groups=["insiders"])
    api.force_authenticate(member)
    assert {each["groups"] for each in api.get(COLLECTIONS).json()["results"]} == {None}

    clerk = staff("clerk", "view_collection", groups=("insiders",), is_staff=False)
    api.force_authenticate(clerk)
    api.get(COLLECTIONS)
    with django_assert_num_queries(3):  # the count, the page, the groups of all
        told = api.get(COLLECTIONS).json()["results"]
    assert [each["groups"] for each in told] == [["insiders"]] * 3


def test_a_name_taken_at_the_same_moment_is_a_conflict(librarian: User) -> None:
    make_collection("Shelf")
    with pytest.raises(StateConflict, match="Shelf"):
        save(Collection(name="Shelf"), (), None, acting_user=librarian)


# --- Collections and identifier patterns in the admin --------------------------------------------


ADMIN = "/admin/ingestion/collection/"
PATTERNS = "/admin/ingestion/identifierpattern/"
NEW = {"name": "New", "visibility": "public", "chunk_tokens": "200", "overlap_tokens": "20"}


def errors(response: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = response.context["adminform"].form.errors
    return found


class TestCollections:
    def test_a_collection_is_made_with_a_slug_and_groups(self, desk: Client) -> None:
        group = Group.objects.create(name="insiders")
        named = {"name": "Field notes", "visibility": "groups", "groups": [group.pk]}
        desk.post(f"{ADMIN}add/", {**NEW, **named})
        made = Collection.objects.get()
        assert (made.slug, list(made.groups.all())) == ("field-notes", [group])

    def test_staff_cannot_lock_themselves_out(self) -> None:
        keeper = staff("keeper", "view_collection", "change_collection", groups=("keepers",))
        collection = make_collection()
        other = Group.objects.create(name="others")
        client, address = signed_in(keeper), f"{ADMIN}{collection.pk}/change/"
        data = form_data(client.get(address), "collection_form")
        data |= {"visibility": "groups", "groups": [other.pk]}
        assert "lose access" in str(errors(client.post(address, data)))
        client.post(address, {**data, "groups": [other.pk, keeper.groups.get().pk]})
        collection.refresh_from_db()
        assert collection.visibility == "groups"

    def test_the_list_counts_documents_chunks_and_what_needs_a_look(self, desk: Client) -> None:
        collection = make_collection()
        make_document(collection, "# One\n\nA chunk.\n")
        make_document(collection, b"%PDF-1.4\ntorn", file_name="torn.pdf")
        upload(collection, "# Waiting\n", file_name="waiting.md")
        (row,) = desk.get(ADMIN).context["cl"].result_list
        counts = (row.document_count, row.chunk_count, row.failed_count, row.waiting_count)
        assert counts == (3, 1, 1, 1)

    def test_new_chunk_sizes_say_that_documents_keep_their_chunks(self, desk: Client) -> None:
        collection = make_collection()
        document = make_document(collection, "# One\n\nA chunk.\n")
        client, address = desk, f"{ADMIN}{collection.pk}/change/"
        data = form_data(client.get(address), "collection_form")
        response = client.post(address, {**data, "chunk_tokens": "100"})
        assert "keeps its passages" in said(response)
        document.refresh_from_db()
        assert document.versions.count() == 1

        response = client.post(
            ADMIN, {"action": "reprocess_all", "_selected_action": [collection.pk]}
        )
        assert "1 document was queued" in said(response)
        assert document.versions.count() == 2

    def test_deletion_names_the_counts_and_goes_through_the_service(
        self, administrator: User, desk: Client
    ) -> None:
        collection = make_collection()
        make_document(collection, "# One\n\nA chunk.\n")
        client, address = desk, f"{ADMIN}{collection.pk}/delete/"
        counts = dict(client.get(address).context["model_count"])
        assert counts == {"collections": 1, "documents": 1, "chunks": 1}
        client.post(address, {"post": "yes"})
        assert not Document.objects.visible_to(administrator).exists()
        assert not Chunk.objects.visible_to(administrator).exists()
        assert LogEntry.objects.filter(object_repr="Handbook").count() == 1

    def test_deletion_with_documents_needs_the_right_to_delete_documents(self) -> None:
        keeper = staff("keeper", "view_collection", "delete_collection")
        collection = make_collection()
        upload(collection, "# One\n")
        client, address = signed_in(keeper), f"{ADMIN}{collection.pk}/delete/"
        assert client.post(address, {"post": "yes"}).status_code == 403
        assert Collection.objects.exists()


class TestIdentifierPatterns:
    def data(self, **changes: str) -> dict[str, str]:
        return {
            "name": "Ticket", "regex": r"TCK-[0-9]{3,6}", "normaliser": "code",
            "examples": "TCK-100\nTCK-23456", "counter_examples": "TICK-1", "position": "5",
            "enabled": "on", **changes,
        }  # fmt: skip

    def test_examples_are_lines_and_the_page_says_what_a_change_reaches(self, desk: Client) -> None:
        response = desk.post(f"{PATTERNS}add/", self.data())
        assert response.status_code == 302, errors(response)
        pattern = IdentifierPattern.objects.get(name="Ticket")
        assert pattern.examples == ["TCK-100", "TCK-23456"]
        assert "after they are reprocessed" in said(response)
