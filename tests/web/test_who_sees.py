"""What a person sees: the same as `visible_to`, with the reason."""

from __future__ import annotations

import pytest
from django.test import Client

from common.accounts import tokens
from common.accounts.models import User
from ingestion import collections
from ingestion.models import Collection
from tests.support.admin_client import signed_in, staff
from tests.support.database import statements
from tests.support.factories import make_collection

pytestmark = pytest.mark.django_db

PAGES = "/admin/who-sees/"


@pytest.fixture(autouse=True)
def library(member: User, reader: User, administrator: User) -> dict[str, Collection]:
    User.objects.create_user("gone", is_active=False)
    gone = User.objects.get(username="gone")
    gone.groups.set(member.groups.all())
    return {
        "open": make_collection("Open", visibility="public"),
        "house": make_collection("House", visibility="signed_in"),
        "vault": make_collection("Vault", visibility="groups", groups=["insiders", "crew"]),
    }


def test_the_reasons_agree_with_the_rule() -> None:
    for person in User.objects.all():
        told = {sight.collection for sight in collections.seen_by(person) if sight.reasons}
        assert told == set(Collection.objects.visible_to(person)), person


def test_queries_do_not_grow_with_collections(member: User) -> None:
    assert statements(lambda: collections.seen_by(member)) == 3
    for number in range(5):
        make_collection(f"More {number}", visibility="groups", groups=["insiders"])
    assert statements(lambda: collections.seen_by(member)) == 3


def test_page_of_a_person_lists_readable_documents_with_reasons(
    desk: Client, member: User, library: dict[str, Collection]
) -> None:
    tokens.make(member, name="Robot", scopes=["read"], collections=[library["open"].pk])
    found = desk.get(PAGES, {"q": "member"}, follow=True)
    text = " ".join(found.content.decode().split())

    assert found.redirect_chain[-1][0] == f"{PAGES}people/{member.pk}/"
    assert "member of the group “insiders”" in text
    assert "open to all who sign in" in text
    assert "Robot: Open" in text
    assert f"{PAGES}people/{member.pk}/" in desk.get("/admin/accounts/user/").content.decode()


def test_who_sees_page_is_for_superusers_only(member: User, desk: Client) -> None:
    client = signed_in(staff("looker", "view_user", "view_document"))
    assert client.get(PAGES).status_code == 403
    assert client.get(f"{PAGES}people/{member.pk}/").status_code == 403

    assert "No user has this name" in desk.get(PAGES, {"q": "nobody"}).content.decode()
