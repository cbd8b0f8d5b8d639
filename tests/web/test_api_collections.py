"""Collections made, changed and deleted over the API, and who may do that."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import Group, Permission
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.collections import save
from ingestion.errors import StateConflict
from ingestion.models import Collection, Visibility
from tests.support.factories import make_collection, make_document

COLLECTIONS = "/api/v1/collections/"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]
ALL = ("add_collection", "change_collection", "delete_collection")


def person(name: str, *codenames: str, group: str = "", staff: bool = False) -> User:
    user = User.objects.create_user(name, password="pw", is_staff=staff)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    if group:
        user.groups.add(Group.objects.get_or_create(name=group)[0])
    return user


@pytest.fixture
def librarian(api: APIClient) -> User:
    user = person("librarian", *ALL, "delete_document", group="insiders")
    api.force_authenticate(user)
    return user


def actions(row: Collection) -> list[int]:
    entries = LogEntry.objects.filter(object_id=str(row.pk)).order_by("pk")
    return [entry.action_flag for entry in entries]


def test_one_is_made_changed_and_put_in_the_bin(api: APIClient, librarian: User) -> None:
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


def test_other_chunks_are_announced(api: APIClient, librarian: User) -> None:
    shelf = make_collection("Shelf")
    make_document(shelf, "# Tides\n\nHigh water.\n")

    told = api.patch(f"{COLLECTIONS}shelf/", {"chunk_tokens": 100}).json()["warnings"]

    assert "processed again" in told[0]
    assert api.patch(f"{COLLECTIONS}shelf/", {"description": "x"}).json()["warnings"] == []


@pytest.mark.parametrize(
    ("fields", "named", "words"),
    [
        ({}, "name", "required"),
        ({"name": "Shelf"}, "non_field_errors", "already exists"),
        ({"name": "Other", "slug": "shelf"}, "non_field_errors", "already exists"),
        ({"name": "Other", "slug": "a b"}, "slug", "slug"),
        ({"name": "Other", "visibility": "nobody"}, "visibility", "Use one of: public"),
        ({"name": "Other", "chunk_tokens": 8}, "chunk_tokens", "32"),
        ({"name": "Other", "overlap_tokens": 100}, "non_field_errors", "half the chunk size"),
        ({"name": "Other", "language": "klingon"}, "language", "two-letter"),
        ({"name": "Other", "groups": ["nobody"]}, "groups", "nobody"),
        ({"name": "Other", "visibility": "groups"}, "groups", "at least one group"),
        ({"name": "Other", "visibility": "groups", "groups": ["theirs"]}, "groups", "your own"),
        ({"name": "Other", "colour": "red"}, "colour", "no such field"),
        ({"name": "Other", "documents": 3}, "documents", "no such field"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_the_admin_refuses_is_refused(
    api: APIClient, librarian: User, fields: dict[str, Any], named: str, words: str
) -> None:
    make_collection("Shelf")
    Group.objects.create(name="theirs")

    refused = api.post(COLLECTIONS, fields)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid"), refused.json()
    assert words in " ".join(refused.json()["details"][named])
    assert Collection.objects.count() == 1


def test_a_change_is_checked_with_what_stays(api: APIClient, librarian: User) -> None:
    make_collection("Shelf", chunk_tokens=200, overlap_tokens=90)
    address = f"{COLLECTIONS}shelf/"

    assert api.patch(address, {"chunk_tokens": 150}).status_code == 400
    assert api.patch(address, {"visibility": "groups"}).status_code == 400
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
def test_each_act_needs_its_permission(api: APIClient, who: str, expected: list[int]) -> None:
    make_document(make_collection("Shelf"), "# Tides\n\nHigh water.\n")
    users = {
        "anonymous": lambda: None,
        "reader": lambda: person("reader"),
        "staff without the permission": lambda: person("clerk", "view_collection", staff=True),
        "who only changes": lambda: person("changer", "change_collection"),
        "who only deletes": lambda: person("deleter", "delete_collection"),
    }
    api.force_authenticate(users[who]())

    answers = [
        api.post(COLLECTIONS, {"name": "New"}),
        api.patch(f"{COLLECTIONS}shelf/", {"description": "Mine."}),
        api.delete(f"{COLLECTIONS}shelf/"),
    ]

    assert [each.status_code for each in answers] == expected
    assert Collection.objects.kept().count() == 1


def test_an_empty_one_goes_without_the_right_to_delete_documents(api: APIClient) -> None:
    make_collection("Shelf")
    api.force_authenticate(person("deleter", "delete_collection"))

    assert api.delete(f"{COLLECTIONS}shelf/").status_code == 204


def test_groups_are_told_to_those_who_see_them_in_the_admin(
    api: APIClient, member: User, django_assert_num_queries: Any
) -> None:
    for number in range(3):
        make_collection(f"Inside {number}", visibility=Visibility.GROUPS, groups=["insiders"])
    api.force_authenticate(member)
    assert {each["groups"] for each in api.get(COLLECTIONS).json()["results"]} == {None}

    api.force_authenticate(person("clerk", "view_collection", group="insiders"))
    api.get(COLLECTIONS)
    with django_assert_num_queries(3):  # the count, the page, the groups of all
        told = api.get(COLLECTIONS).json()["results"]
    assert [each["groups"] for each in told] == [["insiders"]] * 3


def test_a_name_taken_at_the_same_moment_is_a_conflict(librarian: User) -> None:
    make_collection("Shelf")
    with pytest.raises(StateConflict, match="Shelf"):
        save(Collection(name="Shelf"), (), None, acting_user=librarian)
