"""Synonyms and pins in the admin: saved whole, refused with a reason, seen by whoever may."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from ingestion.models import Document
from search.models import Pin, SearchProfile, Synonym
from search.pipeline import search
from search.tuning import activation
from tests.factories import make_collection, make_document
from tests.web.admin_client import signed_in, staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

SYNONYMS = "/admin/search/synonym/"
PINS = "/admin/search/pin/"


@pytest.fixture
def rules(db: None) -> Document:
    collection = make_collection()
    make_document(collection, "# Leave\n\nAnnual leave, annual leave, annual leave.")
    return make_document(collection, "# Rules\n\nHolidays are asked for in writing.")


class TestSynonyms:
    def test_a_phrase_with_a_comma_is_one_line(self, administrator: User) -> None:
        data = {"terms": "Oslo, Norway\r\nChristiania", "enabled": "on"}
        signed_in(administrator).post(f"{SYNONYMS}add/", data)
        assert Synonym.objects.get().terms == ["Oslo, Norway", "Christiania"]

    @pytest.mark.parametrize(
        ("terms", "words"),
        [
            pytest.param("FK", "two words", id="one alone"),
            pytest.param("FK\r\nfk", "another one", id="the same twice"),
            pytest.param("", "required", id="none"),
        ],
    )
    def test_what_stands_for_nothing_is_refused(
        self, administrator: User, terms: str, words: str
    ) -> None:
        response = signed_in(administrator).post(f"{SYNONYMS}add/", {"terms": terms})
        assert words in str(response.context["adminform"].form.errors)
        assert not Synonym.objects.exists()

    def test_the_list_says_whether_they_count(self, administrator: User) -> None:
        client = signed_in(administrator)
        assert "gives them no weight" in client.get(SYNONYMS).content.decode()
        active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        draft = activation.draft_from(active, acting_user=administrator)
        draft.class_weights.filter(query_class="general").update(
            vector="0.5", keyword="0.3", title="0.1", synonym="0.1"
        )
        activation.publish(draft, acting_user=administrator)
        assert "gives them a weight" in client.get(SYNONYMS).content.decode()


class TestPins:
    def test_a_pin_acts_on_the_next_search(self, administrator: User, rules: Document) -> None:
        assert search("annual leave", viewer=None).results[0].title == "Leave"
        data = {"query": "Annual leave", "document": rules.pk, "position": 1, "enabled": "on"}
        signed_in(administrator).post(f"{PINS}add/", data)
        assert search("annual leave", viewer=None).results[0].title == "Rules"

    def test_the_same_pin_twice_is_refused(self, administrator: User, rules: Document) -> None:
        Pin.objects.create(query="annual leave", document=rules)
        data = {"query": "Annual  LEAVE", "document": rules.pk, "position": 1}
        response = signed_in(administrator).post(f"{PINS}add/", data)
        assert "already" in str(response.context["adminform"].form.errors)
        assert Pin.objects.count() == 1

    def test_a_question_of_nothing_is_refused(self, administrator: User, rules: Document) -> None:
        data = {"query": "  ", "document": rules.pk, "position": 1}
        response = signed_in(administrator).post(f"{PINS}add/", data)
        assert "required" in str(response.context["adminform"].form.errors)

    def test_staff_see_no_pin_of_a_document_that_they_may_not_read(self, rules: Document) -> None:
        hidden = make_document(make_collection("Secrets", visibility="private"), "# The plan\n\nX.")
        Pin.objects.create(query="plan", document=hidden)
        Pin.objects.create(query="leave", document=rules)
        page = signed_in(staff("curator", "view_pin", "change_pin")).get(PINS).content.decode()
        assert "Rules" in page
        assert "The plan" not in page
