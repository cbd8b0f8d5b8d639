"""What the admin's pages share: sidebar, overviews, empty lists, how dates are written."""

from __future__ import annotations

import datetime

import pytest
from django.contrib import admin
from django.template import Context, Template
from django.test import Client
from django.urls import reverse

from common.accounts.models import User
from kbsite.settings.admin import UNFOLD
from search.analytics.models import SearchEvent
from search.models import SearchProfile
from search.tuning.golden import judging
from search.tuning.models import ProfileChange
from tests.support.admin_client import signed_in, staff
from tests.support.factories import make_collection, make_document

pytestmark = pytest.mark.django_db


def test_the_sidebar_names_every_list_there_is() -> None:
    groups = UNFOLD["SIDEBAR"]["navigation"]
    listed = [str(item["link"]) for group in groups for item in group["items"]]
    registered = {
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in admin.site._registry
    }
    assert registered - set(listed) == set()
    assert len(listed) == len(set(listed))


def test_signing_in_leads_to_where_the_person_works(
    client: Client, administrator: User, reader: User
) -> None:
    staff("newcomer")
    for name, place in (("administrator", "/admin/"), ("reader", "/"), ("newcomer", "/")):
        form = {"username": name, "password": f"pw-{name}"}
        assert client.post("/login/", form).headers["Location"] == place, name
        asked = client.post("/login/", {**form, "next": "/threads/"})
        assert asked.headers["Location"] == "/threads/"


def test_the_admin_has_the_sign_in_page_of_the_site(client: Client, reader: User) -> None:
    page = client.get("/admin/ingestion/document/", follow=True)
    assert page.redirect_chain[-1][0] == "/login/?next=/admin/ingestion/document/"
    client.force_login(reader)
    page = client.get("/admin/ingestion/document/", follow=True)
    assert "You are signed in as reader, whose account lacks access" in page.content.decode()


class TestFrontPage:
    def test_offers_the_first_steps_until_they_are_taken(self, administrator: User) -> None:
        def steps() -> list[bool]:
            return [
                step.is_done for step in signed_in(administrator).get("/admin/").context["steps"]
            ]

        assert steps() == [False, False, False, False]
        document = make_document(make_collection("Handbook"), "# Tides\n\nHigh water.\n")
        assert steps() == [True, False, False, False]
        SearchEvent.objects.create(query="tides", folded="tides", total=1, milliseconds=1.0)
        judging.judge("tides", [], document, 3, acting_user=administrator)
        assert steps() == [True, True, True, False]
        profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        published = ProfileChange.Action.PUBLISHED
        ProfileChange.objects.create(profile=profile, action=published, user=administrator)
        assert steps() == []

    def test_offers_steps_that_the_person_may_take(self) -> None:
        looker = staff("looker", "view_document")
        assert signed_in(looker).get("/admin/").context["steps"] == []

    def test_shows_the_chosen_period(self, administrator: User) -> None:
        page = signed_in(administrator).get("/admin/?days=90")
        assert "in the 90 days since" in page.content.decode()
        assert 'href="?days=90" aria-current="true"' in page.content.decode()
        charts = page.context["searching"]["charts"]
        assert {len(chart.rows) for chart in charts} == {90}
        assert all(chart.y_axis["beginAtZero"] for chart in charts)
        assert "in the 30 days since" in (
            signed_in(administrator).get("/admin/?days=1e9").content.decode()
        )


@pytest.mark.parametrize("app", ["ingestion", "search"])
def test_the_first_crumb_leads_to_an_overview(administrator: User, app: str) -> None:
    response = signed_in(administrator).get(reverse("admin:app_list", args=[app]))
    assert response.status_code == 200
    assert response.context["app_label"] == app
    assert response.context["app_list"][0]["models"]


def test_an_empty_list_says_what_belongs_there(administrator: User) -> None:
    text = signed_in(administrator).get("/admin/ingestion/watchedfolder/").content.decode()
    assert "Nothing here yet" in text
    assert "The files of a watched folder become documents" in text
    assert "Add watched folder" in text


def test_a_list_emptied_by_a_search_offers_the_way_back(administrator: User) -> None:
    text = signed_in(administrator).get("/admin/search/pin/?q=anchor").content.decode()
    assert "No pin matches “anchor”" in text
    assert "Show all" in text
    assert "Nothing here yet" not in text


def test_every_list_has_a_sentence_for_when_it_is_empty() -> None:
    ours = {model: row for model, row in admin.site._registry.items() if _may_be_empty(model)}
    assert [row for row in ours.values() if not getattr(row, "empty_text", "")] == []


def _may_be_empty(model: type) -> bool:
    """Whether it is neither installed with rows nor, as the gaps are, a page of its own."""
    installed = {
        "ClassRule", "EmbeddingSpace", "Gap", "Group", "IdentifierPattern", "ProfileChange",
        "PublishGate", "SearchProfile", "User",
    }  # fmt: skip
    return model.__name__ not in installed


def test_dates_sort_as_they_are_written() -> None:
    evening = datetime.datetime(2026, 1, 31, 21, 5, tzinfo=datetime.UTC)
    assert Template("{{ evening }}").render(Context({"evening": evening})) == "2026-01-31 21:05"
