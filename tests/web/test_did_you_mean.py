"""Corrections on the search page and in the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import Client
from lxml import html
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "library")]

TEXT = "# Arms <b>and</b> legs\n\nForward kinematics gives the place of the gripper."
# The vector signal finds something for whatever is asked; this profile does without.
PROFILE = "keyword-only"


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """One document for all tests of this file, in a transaction around theirs."""
    with django_db_blocker.unblock(), transaction.atomic():
        make_document(make_collection("Handbook", language="en"), TEXT, file_name="arms.md")
        yield
        transaction.set_rollback(True)
    with django_db_blocker.unblock():
        connections.close_all()


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
    def test_did_you_mean(self, client: Client, htmx: bool) -> None:
        shown = spelling(page(client, "gripper kynematics", htmx=htmx))
        assert " ".join(shown.text_content().split()) == "Did you mean gripper kinematics?"
        again = html.fromstring(client.get(shown.xpath(".//a")[0].get("href")).content.decode())
        assert again.get_element_by_id("q").get("value") == "gripper kinematics"
        assert "profile=keyword-only" in shown.xpath(".//a")[0].get("href")
        assert spelling(again) is None

    def test_corrected_and_insisted(self, client: Client, htmx: bool) -> None:
        tree = page(client, "kynematics", htmx=htmx)
        shown = spelling(tree)
        assert shown.get("role") == "status"
        assert " ".join(shown.text_content().split()).startswith(
            "No results for “kynematics”. Showing results for kinematics."
        )
        assert "kinematics" in [mark.text for mark in tree.xpath("//mark")]
        insisted = html.fromstring(client.get(shown.xpath(".//a")[0].get("href")).content.decode())
        assert insisted.xpath("//*[contains(@class, 'nothing')]")
        assert spelling(insisted).text_content().split()[:3] == ["Did", "you", "mean"]
        assert "exact" not in spelling(insisted).xpath(".//a")[0].get("href")

    def test_a_known_word_needs_no_word(self, client: Client, htmx: bool) -> None:
        assert spelling(page(client, "forward kinematics", htmx=htmx)) is None

    def test_what_was_typed_is_escaped(self, client: Client, htmx: bool) -> None:
        tree = page(client, "<script>alert(1)</script> kynematics gripper", htmx=htmx)
        assert not [one for one in tree.xpath("//script") if one.text]
        assert "<script>alert(1)</script>" in spelling(tree).text_content()


def test_a_corrected_result_opens_with_the_corrected_words(client: Client) -> None:
    link = page(client, "kynematics").xpath("//a[@class='result-link']")[0].get("href")
    assert "q=kinematics" in link


class TestAPI:
    def ask(self, api: APIClient, query: str, **parameters: str) -> Any:
        found = api.get("/api/v1/search/", {"q": query, "profile": PROFILE, **parameters})
        assert found.status_code == 200
        return found.json()

    def test_did_you_mean(self, api: APIClient) -> None:
        answer = self.ask(api, "gripper kynematics")
        assert answer["did_you_mean"] == "gripper kinematics"
        assert (answer["corrected_from"], answer["query"]) == ("", "gripper kynematics")
        assert answer["total"] == 1

    def test_corrected(self, api: APIClient) -> None:
        answer = self.ask(api, "kynematics")
        assert (answer["query"], answer["corrected_from"]) == ("kinematics", "kynematics")
        assert (answer["did_you_mean"], answer["total"]) == ("", 1)

    def test_exact(self, api: APIClient) -> None:
        answer = self.ask(api, "kynematics", exact="1")
        assert (answer["query"], answer["corrected_from"]) == ("kynematics", "")
        assert (answer["did_you_mean"], answer["total"]) == ("kinematics", 0)

    def test_all_known(
        self, api: APIClient, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        self.ask(api, "kinematics")
        with django_assert_num_queries(3):
            answer = self.ask(api, "kinematics")
        assert (answer["did_you_mean"], answer["corrected_from"], answer["notes"]) == ("", "", [])
