"""Corrections on the search page and in the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from lxml import html
from rest_framework.test import APIClient

from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "library")]

TEXT = "# Arms <b>and</b> legs\n\nForward kinematics gives the place of the gripper."
# The vector signal finds something for whatever is asked; this profile does without.
PROFILE = "keyword-only"


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with lasting(django_db_blocker):
        make_document(make_collection("Handbook", language="en"), TEXT, file_name="arms.md")
        yield


def page(client: Client, query: str, *, htmx: bool = False, **parameters: str) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    found = client.get("/", {"q": query, "profile": PROFILE, **parameters}, headers=headers)
    assert found.status_code == 200
    return html.fromstring(found.content.decode())


def spelling(tree: Any) -> Any:
    found = tree.xpath("//*[@class='spelling']")
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("htmx", [False, True], ids=["whole page", "fragment"])
class TestPage:
    def test_page_suggests_a_correction(self, client: Client, htmx: bool) -> None:
        shown = spelling(page(client, "gripper forwwaad", htmx=htmx))
        assert " ".join(shown.text_content().split()) == "Did you mean gripper forward?"
        again = html.fromstring(client.get(shown.xpath(".//a")[0].get("href")).content.decode())
        assert again.get_element_by_id("q").get("value") == "gripper forward"
        assert "profile=keyword-only" in shown.xpath(".//a")[0].get("href")
        assert spelling(again) is None

    @pytest.mark.parametrize("known", ["", "gripper "])
    def test_corrected_page_links_to_the_original_query(
        self, client: Client, htmx: bool, known: str
    ) -> None:
        tree = page(client, f"{known}kynematics", htmx=htmx)
        shown = spelling(tree)
        assert shown.get("role") == "status"
        assert " ".join(shown.text_content().split()) == (
            f"Results for {known}kinematics; search instead for {known}kynematics"
        )
        assert "kinematics" in [mark.text for mark in tree.xpath("//mark")]
        insisted = html.fromstring(client.get(shown.xpath(".//a")[0].get("href")).content.decode())
        assert len(insisted.xpath("//*[contains(@class, 'nothing')]")) == (not known)
        assert spelling(insisted).text_content().split()[:3] == ["Did", "you", "mean"]
        assert "exact" not in spelling(insisted).xpath(".//a")[0].get("href")

    def test_typed_text_is_escaped(self, client: Client, htmx: bool) -> None:
        tree = page(client, "<script>alert(1)</script> kynematics gripper", htmx=htmx)
        assert not [one for one in tree.xpath("//script") if one.text]
        assert "<script>alert(1)</script>" in spelling(tree).text_content()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"q": "gripper forwwaad"}, ("gripper forwwaad", "", "gripper forward", 1)),
        ({"q": "gripper kynematics"}, ("gripper kinematics", "gripper kynematics", "", 1)),
        ({"q": "kynematics"}, ("kinematics", "kynematics", "", 1)),
        ({"q": "kynematics", "exact": "1"}, ("kynematics", "", "kinematics", 0)),
        ({"q": "kinematics"}, ("kinematics", "", "", 1)),
    ],
    ids=["did you mean", "partly known", "corrected", "exact", "all known"],
)
def test_api_returns_the_correction(
    api: APIClient, asked: dict[str, str], expected: tuple[object, ...]
) -> None:
    answer = api.get("/api/v1/search/", {"profile": PROFILE, **asked}).json()
    names = ("query", "corrected_from", "did_you_mean", "total")
    assert tuple(answer[name] for name in names) == expected
