"""What the admin's pages share: sidebar, overviews, empty lists, how dates are written."""

from __future__ import annotations

import datetime

import pytest
from django.contrib import admin
from django.template import Context, Template
from django.urls import reverse

from common.accounts.models import User
from kbsite.unfold import UNFOLD
from tests.support.admin_client import signed_in

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
