"""Synonyms, pins and hides in the admin: saved whole, tried before, refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from common.accounts.models import User
from ingestion.models import Document
from search.models import Hide, Pin, SearchProfile, Synonym
from search.tuning import drafts, publications
from tests.support.admin_client import said, signed_in, staff
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

SYNONYMS = "/admin/search/synonym/"
PINS = "/admin/search/pin/"
HIDES = "/admin/search/hide/"


@pytest.fixture(scope="module")
def shelf(django_db_setup: None, django_db_blocker: Any) -> Iterator[Document]:
    with lasting(django_db_blocker):
        collection = make_collection()
        make_document(collection, "# Leave\n\nAnnual leave, annual leave, annual leave.")
        yield make_document(collection, "# Rules\n\nHolidays are asked for in writing.")


@pytest.fixture
def rules(shelf: Document, db: None) -> Document:
    return Document.objects.get(pk=shelf.pk)


class TestSynonyms:
    def test_a_phrase_with_a_comma_is_one_line(self, desk: Client) -> None:
        data = {"terms": "Oslo, Norway\r\nChristiania", "enabled": "on"}
        desk.post(f"{SYNONYMS}add/", data)
        assert Synonym.objects.get().terms == ["Oslo, Norway", "Christiania"]

    def test_synonym_list_states_whether_synonyms_have_weight(
        self, administrator: User, desk: Client
    ) -> None:
        assert "In the active profile this weight is 0" in desk.get(SYNONYMS).content.decode()
        active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        draft = drafts.draft_from(active, acting_user=administrator)
        draft.class_weights.filter(query_class="general").update(
            vector="0.5", keyword="0.3", title="0.1", synonym="0.1"
        )
        publications.publish(draft, acting_user=administrator)
        assert "this weight is 0" not in desk.get(SYNONYMS).content.decode()


class TestConflicts:
    def errors(self, user: User, address: str, **data: object) -> str:
        response = signed_in(user).post(f"{address}add/", {"enabled": "on", **data})
        return str(response.context["adminform"].form.errors) if response.context else ""

    @pytest.mark.parametrize(
        "query", ["leave collection:elsewhere", "leave -writing", 'leave "for a year"', "-leave"]
    )
    def test_pin_excluded_by_its_question_is_a_conflict(
        self, administrator: User, rules: Document, query: str
    ) -> None:
        pin = {"query": query, "document": rules.pk, "position": 1}
        refused = self.errors(administrator, PINS, **pin)
        assert "exclude “Rules”" in refused or "The question is not valid" in refused

    @pytest.mark.parametrize(
        ("terms", "one_way", "words"),
        [
            ("lorry\nvan", "", "do not chain"),
            ("lorry\nvehicle", "on", "in both directions"),
            ("the outage\nINC-2024-0042", "", "is an identifier"),
        ],
    )
    def test_surprising_synonyms_are_saved_with_a_warning(
        self, desk: Client, terms: str, one_way: str, words: str
    ) -> None:
        Synonym.objects.create(terms=["vehicle", "lorry"], one_way=True)
        data = {"terms": terms, "enabled": "on", **({"one_way": "on"} if one_way else {})}
        response = desk.post(f"{SYNONYMS}add/", data)
        assert words in said(response)
        assert Synonym.objects.count() == 2


class TestTrying:
    def test_unsaved_pin_can_be_tried(self, desk: Client, rules: Document) -> None:
        data = {"query": "annual leave", "document": rules.pk, "position": 1, "enabled": "on"}
        shown = desk.post(f"{PINS}try/", {**data, "row": "", "question": ""}).content.decode()
        assert "Pinned: Rules" in shown
        assert "general" in shown
        assert not Pin.objects.exists()
        elsewhere = {**data, "question": "holidays"}
        assert (
            "does not change the first results"
            in desk.post(f"{PINS}try/", elsewhere).content.decode()
        )

    def test_saved_hide_is_tried_with_and_without(self, desk: Client, rules: Document) -> None:
        hide = Hide.objects.create(query="holidays", document=rules)
        data = {"query": "holidays", "document": rules.pk, "enabled": "on", "row": hide.pk}
        shown = desk.post(f"{HIDES}try/", data).content.decode()
        assert "No longer among the first: Rules" in shown
        off = {**data, "enabled": ""}
        assert (
            "does not change the first results" in desk.post(f"{HIDES}try/", off).content.decode()
        )

    def test_tried_synonyms_show_their_conflicts(self, desk: Client, rules: Document) -> None:
        Synonym.objects.create(terms=["holidays", "recess"])
        data = {"terms": "vacation\nholidays", "enabled": "on", "question": "vacation"}
        shown = desk.post(f"{SYNONYMS}try/", data).content.decode()
        assert "Synonyms: holidays" in shown
        assert "do not chain" in shown
        data["terms"] = "vacation"
        shown = desk.post(f"{SYNONYMS}try/", data).content.decode()
        assert "Fill in the fields" in shown

    def test_trying_needs_the_right_to_write(self, rules: Document) -> None:
        reader = signed_in(staff("looker", "view_pin"))
        assert reader.post(f"{PINS}try/", {"query": "x"}).status_code == 403
        writer = signed_in(staff("writer", "add_pin"))
        assert writer.get(f"{PINS}try/").status_code == 403
        page = writer.get(f"{PINS}add/").content.decode()
        assert 'data-url="/admin/search/pin/try/"' in page


@pytest.mark.parametrize(("page", "model"), [(PINS, Pin), (HIDES, Hide)])
def test_a_hidden_document_is_neither_named_nor_chosen(
    page: str, model: Any, rules: Document
) -> None:
    """In a list, by its number in the address, or posted: nothing is told of it."""
    secret = make_document(make_collection("Board", visibility="groups"), "# Takeover\n\nThe plan.")
    client = signed_in(staff("curator", "add_pin", "view_pin", "add_hide", "view_hide"))
    assert "Takeover" not in client.get(f"{page}add/?document={secret.pk}").content.decode()
    assert "Rules" in client.get(f"{page}add/?document={rules.pk}").content.decode()
    data = {"query": "the plan", "document": secret.pk, "position": 1, "enabled": "on"}
    response = client.post(f"{page}add/", data)
    assert "Select a valid choice" in str(response.context["adminform"].form.errors)
    assert "Takeover" not in response.content.decode()
    assert not model.objects.exists()
    for document in (secret, rules):
        model.objects.create(query="plan", document=document)
    listed = client.get(page).content.decode()
    assert "Rules" in listed
    assert "Takeover" not in listed
